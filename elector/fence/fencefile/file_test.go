package fencefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newFile is a guard on a file that does not exist, in a folder of its own.
func newFile(t *testing.T) File {
	t.Helper()
	return File{Path: filepath.Join(t.TempDir(), "file")}
}

// put writes a file past the guard.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// A fence that is not what the guard writes, or cannot be read, admits nobody
// and stays as it is.
func TestFileForeignFence(t *testing.T) {
	for _, fence := range []string{"", "x", "5", "5 log", "05 log\n", "5 logs\n", "5  log\n", "5 log\n\n", "-5 log\n", "18446744073709551616 log\n"} {
		f := newFile(t)
		put(t, f.Path+".fence", fence)
		for how, err := range map[string]error{
			"Append":  f.Append(t.Context(), 9, []byte("x")),
			"Replace": f.Replace(t.Context(), 9, []byte("x")),
			"Check":   f.Check(t.Context(), 9),
		} {
			if err == nil || !strings.Contains(err.Error(), "holds no token") || !strings.Contains(err.Error(), f.Path+".fence") {
				t.Errorf("%s with fence %q: %v", how, fence, err)
			}
		}
		if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) || content(t, f.Path+".fence") != fence {
			t.Errorf("with fence %q something was written: %v", fence, err)
		}
	}
	f := newFile(t)
	if err := os.Mkdir(f.Path+".fence", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(t.Context(), 9, []byte("x")); err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Errorf("a fence that cannot be read: %v", err)
	}
}

// The first write decides what the file is; a token that was only made known
// decides nothing.
func TestFileIsOfOneKind(t *testing.T) {
	f := newFile(t)
	for _, token := range []uint64{1, 2} {
		if err := f.Check(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Replace(t.Context(), 2, []byte("whole")); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(t.Context(), 2, []byte("line")); err == nil || !strings.Contains(err.Error(), "not both") {
		t.Errorf("Append to a file that is replaced: %v", err)
	}
	if got := content(t, f.Path); got != "whole" {
		t.Errorf("it became %q", got)
	}
	log := newFile(t)
	appendAll(t, log, 1, "line")
	if err := log.Replace(t.Context(), 2, []byte("whole")); err == nil || !strings.Contains(err.Error(), "not both") {
		t.Errorf("Replace of a log: %v", err)
	}
	if highest, err := log.Highest(t.Context()); err != nil || highest != 1 {
		t.Errorf("the refused Replace left token %d, %v", highest, err)
	}
}

// The token is in the fence before anything is written: the other way round, a
// crash in between would leave a new leader's writes to the former one.
func TestFileFenceIsRaisedFirst(t *testing.T) {
	f := newFile(t)
	for _, token := range []uint64{5, 6} {
		err := f.Do(t.Context(), token, func() error {
			if got, want := content(t, f.Path+".fence"), fmt.Sprintf("%d any\n", token); got != want {
				t.Errorf("during the write the fence is %q, want %q", got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// While one writes, the others wait until their contexts are done, and write
// nothing.
func TestFileLock(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 1, "a")
	err := f.Do(t.Context(), 2, func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Append(ctx, 3, []byte("x")); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("during a write: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	failure := errors.New("disk full")
	if err := f.Do(t.Context(), 2, func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("the write's error became %v", err)
	}
	wantStale(t, f.Do(t.Context(), 1, func() error { t.Error("written with a stale token"); return nil }), 1, 2)
}

// disturbed is the machine's disk, where something happens between the opening of a
// lock's file and its locking, once.
type disturbed struct {
	machine
	happens *func(path string) error
}

func (d disturbed) open(path string, flag int, mode fs.FileMode) (handle, error) {
	h, err := d.machine.open(path, flag, mode)
	if happens := *d.happens; err == nil && happens != nil {
		*d.happens, err = nil, happens(path)
	}
	return h, err
}

// A lock that was deleted, or replaced, before it was had is none: the next one
// would take the file that is at its path.
func TestFileLockIsAtItsPath(t *testing.T) {
	for name, happens := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		f := newFile(t)
		f.disk = disturbed{happens: &happens}
		if lock, err := f.tryLock(f.Path + ".lock"); lock != nil || err != nil {
			t.Errorf("a lock that was %s was had, %v", name, err)
		}
		if err := f.Append(t.Context(), 1, []byte("x")); err != nil || happens != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// What a crash has left of a longer content does not stay behind a shorter one.
func TestReplaceOverALeftover(t *testing.T) {
	f := newFile(t)
	put(t, f.Path+".new", strings.Repeat("x", 100))
	put(t, f.Path+".fence.new", strings.Repeat("x", 100))
	if err := f.Replace(t.Context(), 5, []byte("short")); err != nil || content(t, f.Path) != "short" {
		t.Errorf("%q, %v", content(t, f.Path), err)
	}
	if content(t, f.Path+".fence") != "5 whole\n" {
		t.Errorf("the fence is %q", content(t, f.Path+".fence"))
	}
}

// blink is the machine's disk, where the folder is not there for one step: somebody has
// moved it away, and back.
type blink struct {
	machine
	steps *int // until then
}

func (b blink) gone() bool {
	*b.steps--
	return *b.steps == -1
}

func (b blink) open(path string, flag int, mode fs.FileMode) (handle, error) {
	if b.gone() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return b.machine.open(path, flag, mode)
}

func (b blink) stat(path string) (fs.FileInfo, error) {
	if b.gone() {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return b.machine.stat(path)
}

func (b blink) rename(from, to string) error {
	if b.gone() {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	return b.machine.rename(from, to)
}

// A folder that is gone for a moment, whichever, costs neither the fence nor a line: no
// smaller token is admitted, and what was acknowledged is still there.
func TestFileOfAFolderThatIsGoneForAMoment(t *testing.T) {
	line := func(f File, token uint64) error { return f.Append(t.Context(), token, []byte("a")) }
	lines := func(f File) bool {
		lines, err := read(f)
		return err == nil && len(lines) >= 2 && lines[0] == "9 a" && lines[1] == "9 a"
	}
	for _, one := range []struct {
		name  string
		loses bool // PATH.fence, so that only the last line knows
		write func(f File, token uint64) error
		kept  func(f File) bool
	}{
		{"Append", false, line, lines},
		{"Append without a fence", true, line, lines},
		{"Replace", false, func(f File, token uint64) error { return f.Replace(t.Context(), token, []byte("a")) }, func(f File) bool {
			return content(t, f.Path) == "a"
		}},
		{"Do", false, func(f File, token uint64) error { return f.Do(t.Context(), token, func() error { return nil }) }, func(File) bool { return true }},
	} {
		for _, token := range []uint64{8, 9, 10} {
			for n, more := 0, true; more; n++ {
				f, steps := newFile(t), n
				if err := errors.Join(one.write(f, 9), one.write(f, 9)); err != nil {
					t.Fatal(err)
				}
				if one.loses {
					if err := os.Remove(f.Path + ".fence"); err != nil {
						t.Fatal(err)
					}
				}
				blinks := f
				blinks.disk = blink{steps: &steps}
				if err := one.write(blinks, token); token < 9 && err == nil {
					t.Errorf("%s: token %d was admitted when the folder was gone at step %d", one.name, token, n)
				}
				if highest, err := f.Highest(t.Context()); err != nil || highest < 9 || !one.kept(f) {
					t.Errorf("%s with token %d, the folder gone at step %d: the highest token is %d, %v; what was acknowledged is there: %v", one.name, token, n, highest, err, one.kept(f))
				}
				more = steps < 0 // else it has not come to that step
				steps = n
				if highest, err := blinks.Highest(t.Context()); err == nil && highest < 9 {
					t.Errorf("%s: the highest token is told to be %d when the folder is gone at step %d", one.name, highest, n)
				}
			}
		}
	}
}

// The fence of a folder's own path guards the folder.
func TestFolderIsGuarded(t *testing.T) {
	f := File{Path: filepath.Join(t.TempDir(), "spool")}
	if err := os.Mkdir(f.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name string) func() error {
		return func() error { return os.WriteFile(filepath.Join(f.Path, name), nil, 0o600) }
	}
	if err := f.Do(t.Context(), 7, put("one")); err != nil {
		t.Fatal(err)
	}
	wantStale(t, f.Do(t.Context(), 6, put("two")), 6, 7)
	if err := f.Check(t.Context(), 8); err != nil {
		t.Error(err)
	}
	if err := f.Append(t.Context(), 9, []byte("line")); err == nil {
		t.Error("a line was written to a folder")
	}
	if err := f.Do(t.Context(), 8, put("three")); err != nil {
		t.Errorf("after a call that had to fail: %v", err)
	}
}
