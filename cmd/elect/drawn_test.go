//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/topology"
)

// Commands, their guards, their jobs and their network meet days that are
// drawn: whatever is stopped, killed or cut off in whatever order, no two jobs
// are alive at one time, tokens do not fall, a guard that was held up ends no
// healthy job, and when all is well again a job runs and all end as they should.
//
// RECOUNT_CASES=1+NUMBER repeats a case.
func TestDrawnCommands(t *testing.T) {
	t.Parallel()
	first, n, err := drawn.Cases(4, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := topology.Single(t)
	for number := first; number < first+n; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			w := &commands{T: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(number, 11)), server: r.Addr, name: fmt.Sprint("case", number)}
			w.day()
		})
	}
}

// long is the lease of drawn days: many processes share the machine, and who is late
// has a twentieth of it.
const long = 2 * lease

// commands are one case: candidates, each with its own way to the server.
type commands struct {
	*testing.T
	dir     string
	rand    *rand.Rand
	server  string
	name    string
	members []*member
	did     []string // for the reader of a failure
}

// member is one candidate.
type member struct {
	id   string
	args []string
	log  logged
	way  *relay
	*process
}

// logged says what becomes of a log.
type logged int

const (
	read logged = iota
	unread
	readerGone
)

func (l logged) String() string { return [...]string{"read", "unread", "without a reader"}[l] }

// odds says yes in one of n cases.
func (w *commands) odds(n int) bool { return w.rand.IntN(n) == 0 }

// within is a duration up to d.
func (w *commands) within(d time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(d)))
}

func (w *commands) day() {
	defer func() {
		if w.Failed() {
			w.Logf("case %s: %s\nnotes: %+v", w.name, strings.Join(w.did, "; "), notes(w.T, w.dir))
		}
	}()
	for name, odds := range map[string]int{"stubborn": 4, "slow": 4} {
		if w.odds(odds) {
			touch(w.T, w.dir, name)
			w.did = append(w.did, "jobs are "+name)
		}
	}
	for i := range 2 + w.rand.IntN(2) {
		m := &member{id: string(rune('a' + i)), way: relayTo(w.T, w.server), log: []logged{read, read, unread, readerGone}[w.rand.IntN(4)]}
		m.args = candidate(m.way.address, m.id, "--name", w.name, "--lease", long.String(), "--restart", "always", "--drain-timeout", (lease + w.within(long)).String())
		if w.odds(2) {
			m.args = append(m.args, "--log", "debug")
		}
		w.members = append(w.members, m)
		w.start(m)
	}
	await(w.T, w.dir, "began", 1)
	for range 2 + w.rand.IntN(3) {
		w.step()
		time.Sleep(w.within(long / 2))
	}
	w.end()
}

// start starts a candidate, or starts it again.
func (w *commands) start(m *member) {
	w.did = append(w.did, fmt.Sprintf("%s starts (its log is %v)", m.id, m.log))
	var log *os.File
	switch m.log {
	case unread:
		log = fullPipe(w.T)
	case readerGone:
		log = brokenPipe(w.T)
	}
	m.process = launchTo(w.T, log, w.dir, append(m.args, theJob()...)...)
	eventually(w.T, "elect obeys signals: it has started its guard", func() bool { return guardOf(w.T, m.Process.Pid) != 0 })
}

// brokenPipe is the end to write to of a pipe whose other end is closed.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// fullPipe is the end to write to of a pipe that is full and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write(make([]byte, 512))
	}
	return w
}

// step is one fault and its end.
func (w *commands) step() {
	m := w.members[w.rand.IntN(len(w.members))]
	if leader := w.leader(); leader != nil && !w.odds(3) {
		m = leader
	}
	d := w.within(2 * long)
	kind := w.rand.IntN(6)
	w.did = append(w.did, fmt.Sprintf("%s: %s (%v)", m.id, [...]string{"stopped", "killed", "asked to end", "cut off", "its guard is stopped", "its job is killed"}[kind], d))
	switch kind {
	case 0:
		m.send(w.T, syscall.SIGSTOP)
		time.Sleep(d)
		m.send(w.T, syscall.SIGCONT)
	case 1:
		m.send(w.T, syscall.SIGKILL)
		<-m.done
		time.Sleep(d / 4)
		w.start(m)
	case 2:
		m.send(w.T, syscall.SIGTERM)
		w.allowEnd()
		if status := m.end(w.T); status != statusDone {
			w.Errorf("%s ends with %d when it is asked to", m.id, status)
		}
		w.start(m)
	case 3:
		m.way.off()
		time.Sleep(d)
		m.way.on()
	case 4:
		w.stopGuard(m, d)
	case 5:
		if job := w.job(); job != 0 {
			_ = syscall.Kill(job, syscall.SIGKILL) // it may have ended by itself
		}
	}
}

// stopGuard holds up a guard. Nothing else is wrong, so its job must live on.
func (w *commands) stopGuard(m *member, d time.Duration) {
	guard := guardOf(w.T, m.Process.Pid)
	if guard == 0 {
		return // elect replaces one that has died
	}
	job := 0
	if w.leader() == m {
		job = w.job()
	}
	_ = syscall.Kill(guard, syscall.SIGSTOP) // one that is gone is replaced by elect
	time.Sleep(d)
	_ = syscall.Kill(guard, syscall.SIGCONT)
	time.Sleep(lease / 10) // for it to judge
	if job != 0 && w.leader() == m && gone(job) {
		w.Errorf("the job of %s ended when its guard went on", m.id)
	}
}

// allowEnd lets slow jobs end that were asked to.
func (w *commands) allowEnd() {
	time.Sleep(w.within(lease / 4))
	touch(w.T, w.dir, "enough")
}

// end heals everything, waits for a job, and ends all.
func (w *commands) end() {
	eventually(w.T, "a job runs when all is well again", func() bool { return w.job() != 0 })
	touch(w.T, w.dir, "enough")
	for _, m := range w.members {
		m.send(w.T, syscall.SIGTERM)
	}
	for _, m := range w.members {
		if status := m.process.end(w.T); status != statusDone {
			w.Errorf("%s ends with %d", m.id, status)
		}
	}
	last := uint64(0)
	for _, h := range notes(w.T, w.dir) {
		switch {
		case h.what == "OVERLAP":
			w.Errorf("two jobs at one time")
		case h.what == "began" && h.token < last:
			w.Errorf("token %d began after %d", h.token, last)
		case h.what == "began":
			last = h.token
		}
		if !gone(h.pid) {
			w.Errorf("process %d is left when all have ended", h.pid)
		}
	}
}

// job is the process of the job that runs now, 0 if there is none.
func (w *commands) job() int {
	for _, h := range notes(w.T, w.dir) {
		if h.what == "began" && !gone(h.pid) {
			return h.pid
		}
	}
	return 0
}

// leader is the candidate whose job runs now; nil if it cannot be told.
func (w *commands) leader() *member {
	for pid := w.job(); pid > 1; pid = parentOf(pid) {
		for _, m := range w.members {
			if m.Process.Pid == pid {
				return m
			}
		}
	}
	return nil
}

// parentOf is the parent of a process, 0 if it is gone.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat")) // of what is gone, nothing
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// guardOf is the guard of an elect, 0 if it has none yet.
func guardOf(t *testing.T, elect int) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || parentOf(pid) != elect {
			continue
		}
		environ, _ := os.ReadFile(path) // of what is gone, nothing
		if strings.HasPrefix(string(environ), asGuard+"=") || strings.Contains(string(environ), "\x00"+asGuard+"=") {
			return pid
		}
	}
	return 0
}
