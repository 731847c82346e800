package fencefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// points are after what a child can be told to end, each in the middle of a write.
var points = []string{"lock", "truncate", "half", "write", "sync", "rename", ""}

// dying is the machine's disk for a process that kills itself when it has passed a point
// so many times.
type dying struct {
	machine
	point  string
	passes *int
}

func (d dying) passed(point string) {
	if point != d.point {
		return
	}
	if *d.passes--; *d.passes < 0 {
		process, _ := os.FindProcess(os.Getpid()) // ours
		_ = process.Kill()
		select {} // the signal comes
	}
}

func (d dying) open(path string, flag int, mode fs.FileMode) (handle, error) {
	h, err := d.machine.open(path, flag, mode)
	if err != nil {
		return nil, err
	}
	return dyingHandle{h, d}, nil
}

func (d dying) rename(from, to string) error {
	defer d.passed("rename")
	return d.machine.rename(from, to)
}

type dyingHandle struct {
	handle
	disk dying
}

func (h dyingHandle) WriteAt(b []byte, at int64) (int, error) {
	defer h.disk.passed("write")
	half := len(b) / 2
	if _, err := h.handle.WriteAt(b[:half], at); err != nil {
		return 0, err
	}
	h.disk.passed("half")
	return h.handle.WriteAt(b[half:], at+int64(half))
}

func (h dyingHandle) Truncate(size int64) error {
	defer h.disk.passed("truncate")
	return h.handle.Truncate(size)
}

func (h dyingHandle) Sync() error {
	defer h.disk.passed("sync")
	return h.handle.Sync()
}

func (h dyingHandle) lock() (bool, error) {
	defer h.disk.passed("lock")
	return h.handle.lock()
}

// child is another process that writes to a file as fast as it can, says what
// was acknowledged, and ends in the middle: PATH, "append" or "replace", TOKEN,
// POINT and the number of times that the point is passed before it kills
// itself. Without a point it goes on until it is killed.
func child(args []string) {
	token, _ := strconv.ParseUint(args[2], 10, 64) // ours
	passes, _ := strconv.Atoi(args[4])
	f := File{Path: args[0], disk: dying{point: args[3], passes: &passes}}
	for n := 0; ; n++ {
		var err error
		if text := strconv.Itoa(n); args[1] == "append" {
			err = f.Append(context.Background(), token, []byte(text))
		} else {
			err = f.Replace(context.Background(), token, whole(token, n))
		}
		var stale *fence.StaleError
		switch {
		case errors.As(err, &stale):
			os.Exit(0)
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n) // unbuffered: said before the next write
	}
}

// whole is a content that shows whether it is whole, larger than a page.
func whole(token uint64, n int) []byte {
	body := fmt.Appendf(nil, "%d %d %s", token, n, strings.Repeat("x", 20000+n))
	return fmt.Appendf(body, " %08x", crc32.ChecksumIEEE(body))
}

// parseWhole is the token and the number of a content; it fails if any byte is
// missing.
func parseWhole(content []byte) (token uint64, n int, err error) {
	end := max(0, len(content)-9)
	if fmt.Sprintf(" %08x", crc32.ChecksumIEEE(content[:end])) != string(content[end:]) {
		return 0, 0, fmt.Errorf("%d bytes, not whole: %.40q", len(content), content)
	}
	_, err = fmt.Sscan(string(content[:end]), &token, &n)
	return token, n, err
}

// writer is a child.
type writer struct {
	token uint64
	acks  int // how many writes it said were acknowledged
	code  int // 0: refused; -1: killed
	words string
}

// runWriter lets a child write until it ends: at its point, or, if it has
// none or does not come there, at any moment after some acknowledged writes.
func runWriter(t *testing.T, path, how string, token uint64, point string, passes int) writer {
	cmd := exec.Command(os.Args[0], path, how, strconv.FormatUint(token, 10), point, strconv.Itoa(passes))
	cmd.Env = append(os.Environ(), "RECOUNT_FENCE_CHILD=1")
	dieWithUs(cmd)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return writer{}
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return writer{}
	}
	w := writer{token: token}
	said := bufio.NewScanner(out)
	for said.Scan() {
		w.acks++
		// Some points are passed only once a term: who is past them ends here.
		if point == "" && w.acks == passes || point != "" && w.acks == passes+9 {
			time.AfterFunc(rand.N(5*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
	}
	_, _ = io.Copy(io.Discard, out) // to its end
	_ = cmd.Wait()                  // its code is looked at
	w.code, w.words = cmd.ProcessState.ExitCode(), words.String()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); w.code != 0 && (!ok || !status.Signaled()) {
		t.Errorf("the writer with token %d ended with %v: %s", token, cmd.ProcessState, w.words)
	}
	return w
}

// crashes runs leaders, some of them at once, each of which ends at another
// point of a write, until all points were passed a few times.
func crashes(t *testing.T, how string, check func(path string, all []writer)) {
	path := filepath.Join(t.TempDir(), "file")
	var (
		mu    sync.Mutex
		all   []writer
		group sync.WaitGroup
		token = uint64(8) // 9 and 10 come next to one another
	)
	for round := range 6 {
		for _, point := range points {
			token += 2
			for _, former := range []uint64{0, 1} { // a former leader writes on beside the new one
				group.Go(func() {
					w := runWriter(t, path, how, token-former, point, 1+rand.IntN(3+round))
					mu.Lock()
					defer mu.Unlock()
					all = append(all, w)
				})
			}
			group.Wait()
			check(path, all)
			if t.Failed() {
				return
			}
		}
	}
	killed, acks := 0, 0
	for _, w := range all {
		acks += w.acks
		if w.code != 0 {
			killed++
		}
	}
	t.Logf("%d writers, %d of them killed, %d writes acknowledged", len(all), killed, acks)
	if killed < len(points) || acks == 0 {
		t.Errorf("only %d of %d writers were killed, after %d acknowledged writes: this shows nothing", killed, len(all), acks)
	}
}

// Writers that are killed in the middle of Append, at every point and at any
// moment, leave a log in which no token follows a larger one, and which has
// every line that was acknowledged exactly once, in order; at most its last
// line is torn.
func TestAppendSurvivesCrashes(t *testing.T) {
	torn := 0
	crashes(t, "append", func(path string, all []writer) {
		lines := map[uint64]int{}
		for line, err := range (File{Path: path}).Lines() { // which checks the order of tokens
			if errors.Is(err, ErrTorn) {
				torn++
				break
			}
			if err != nil {
				t.Error(err)
				break
			}
			n, err := strconv.Atoi(string(line.Data))
			if err != nil || n != lines[line.Token] {
				t.Errorf("token %d has line %q after %d others", line.Token, line.Data, lines[line.Token])
			}
			lines[line.Token]++
		}
		for _, w := range all {
			if lines[w.token] < w.acks {
				t.Errorf("token %d has %d lines, and %d were acknowledged", w.token, lines[w.token], w.acks)
			}
		}
	})
	if torn == 0 {
		t.Error("no line was torn: the crashes came at harmless moments only")
	}
}

// Writers that are killed in the middle of Replace leave a whole content, of a
// token and number not before what was acknowledged last.
func TestReplaceSurvivesCrashes(t *testing.T) {
	crashes(t, "replace", func(path string, all []writer) {
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			for _, w := range all {
				if w.acks > 0 {
					t.Errorf("the file is gone, after %d acknowledged writes of token %d", w.acks, w.token)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		token, n, err := parseWhole(content)
		if err != nil {
			t.Error(err)
		}
		for _, w := range all {
			if w.acks > 0 && (token < w.token || token == w.token && n < w.acks-1) {
				t.Errorf("the file is of token %d and number %d, after %d acknowledged writes of token %d", token, n, w.acks, w.token)
			}
		}
	})
}
