package fencefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/recount-io/recount/elector/fence"
)

// File guards one file that several machines or processes share: either a log,
// which Append lengthens by whole lines, or a file that Replace replaces as a
// whole. The first write decides which. It is a value, safe for concurrent use;
// all that name the same path are one guard.
//
// Beside the file there are PATH.fence with the largest token, and PATH.lock,
// which every write locks (flock) from the look at the token to the end of the
// write; and, during a write, PATH.new and PATH.fence.new. None of them may be
// deleted or restored alone. A writer that is suspended in the middle keeps the
// lock, and the others wait: for ever, if it never wakes up nor ends.
//
// A crash of the process or the machine at any moment leaves the fence and
// every acknowledged write. It may leave the beginning of one line that was not
// acknowledged: readers are told of it, and the next Append removes it.
//
// If PATH.fence is lost, a log still has the largest token that wrote a line;
// a file that is replaced has none, and admits any token until it has seen one.
//
// It works where Go has flock: Linux, macOS and the BSDs. Elsewhere every
// method fails with errors.ErrUnsupported. On network file systems it is as
// good as their locks: see docs/guarantees.md.
type File struct {
	Path string
	Mode fs.FileMode // of the files it creates; default 0644

	disk disk // the machine's if it is nil; tests have others

	_ struct{}
}

// Check makes the token known to the file and writes nothing else. Its errors
// are those of Append.
func (f File) Check(ctx context.Context, token uint64) error {
	return f.Do(ctx, token, func() error { return nil })
}

// Do calls write if the token is admitted, and keeps the lock until it has
// returned; it returns write's error. Write must not use the guard, and what it
// writes is not protected from crashes: that is for it to do. So the fence of
// this path can guard a folder, or whatever else one machine's processes share.
func (f File) Do(ctx context.Context, token uint64, write func() error) error {
	return f.locked(ctx, token, anyKind, write)
}

// Replace makes content the whole content of the file, for readers from one
// moment to the next, and returns when it is on the disk. The file keeps its
// permissions; a link at the path is replaced, not followed. Its errors are
// those of Append.
func (f File) Replace(ctx context.Context, token uint64, content []byte) error {
	return f.locked(ctx, token, wholeKind, func() error {
		mode := f.mode()
		if info, err := f.on().stat(f.Path); err == nil {
			mode = info.Mode().Perm()
		}
		return f.replace(f.Path, content, mode)
	})
}

// Highest is the largest token that the file has admitted; 0 before the first
// one. It waits for the lock.
func (f File) Highest(ctx context.Context) (highest uint64, err error) {
	lock, err := f.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	s, err := f.state(lock)
	return s.token, err
}

// kind is what the file is.
type kind string

const (
	anyKind   kind = "any" // not decided yet
	logKind   kind = "log"
	wholeKind kind = "whole"
)

// state is what PATH.fence holds: "34 log".
type state struct {
	token uint64
	kind  kind
}

// locked calls write if the token is admitted. The new token is on the disk before
// write is called: a crash in between costs nothing, the other way round it would cost
// the fence.
func (f File) locked(ctx context.Context, token uint64, want kind, write func() error) error {
	if token == 0 {
		return fence.ErrNoToken
	}
	lock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	s, err := f.state(lock)
	if err != nil {
		return err
	}
	if token < s.token {
		return &fence.StaleError{Token: token, Highest: s.token}
	}
	next := state{token, s.kind}
	if s.kind == anyKind {
		next.kind = want
	} else if want != anyKind && s.kind != want {
		return fmt.Errorf("fencefile: %s is written as %q, so it cannot be written as %q: use Append or Replace on it, not both", f.Path, s.kind, want)
	}
	if next.kind == logKind && want == logKind && s.kind != logKind {
		if err := f.checkEmpty(); err != nil { // before the state says that it is ours
			return err
		}
	}
	if next == s {
		// Who wrote it may have ended before the folder was on the disk.
		if err := f.syncFolder(filepath.Dir(f.Path)); err != nil {
			return fmt.Errorf("fencefile: it is not certain that the fence of %s outlives a crash of the machine, so nothing was written: %w", f.Path, err)
		}
	} else {
		if err := f.replace(f.Path+".fence", fmt.Appendf(nil, "%d %s\n", next.token, next.kind), f.mode()); err != nil {
			return err
		}
	}
	return write()
}

// state reads PATH.fence, and the last line of a log, which knows better if
// PATH.fence was lost.
func (f File) state(lock handle) (state, error) {
	s := state{kind: anyKind}
	content, is, err := f.fence(lock)
	if err != nil {
		return state{}, fmt.Errorf("fencefile: the fence of %s could not be read: %w", f.Path, err)
	}
	if is {
		if s, err = parseState(string(content)); err != nil {
			return state{}, fmt.Errorf("fencefile: %s.fence %w", f.Path, err)
		}
	}
	if s.kind == wholeKind {
		return s, nil
	}
	if info, err := f.on().stat(f.Path); err == nil && info.IsDir() {
		return s, nil // a folder, which Do guards, is no log
	}
	last, err := f.tail(lock)
	if err != nil && (s.kind == logKind || !errors.Is(err, ErrDamaged)) {
		return state{}, err
	}
	if err == nil && last.line.Token > 0 { // a log, whether or not PATH.fence says so
		s = state{max(s.token, last.line.Token), logKind}
	}
	return s, nil
}

// fence reads PATH.fence, if it is there.
func (f File) fence(lock handle) (content []byte, is bool, err error) {
	file, err := f.existing(lock, f.Path+".fence")
	if file == nil || err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err = io.ReadAll(file)
	return content, err == nil, err
}

// existing opens a file to read it, if it is there; else it returns nil. That it is not
// counts only while the lock is at its path, and when it is still missing
// afterwards: in a folder that somebody has moved away for a moment nothing is, and any
// token would be admitted.
func (f File) existing(lock handle, path string) (handle, error) {
	for range 2 {
		file, err := f.on().open(path, os.O_RDONLY, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		there, err := f.isAt(lock, f.Path+".lock")
		if err == nil && !there {
			err = errors.New("its folder is gone, or was changed")
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // it is not there
}

func parseState(content string) (state, error) {
	digits, rest, _ := strings.Cut(content, " ")
	k, _ := strings.CutSuffix(rest, "\n")
	token, err := strconv.ParseUint(digits, 10, 64)
	s := state{token, kind(k)}
	if err != nil || content != fmt.Sprintf("%d %s\n", s.token, s.kind) || s.kind != anyKind && s.kind != logKind && s.kind != wholeKind {
		return state{}, fmt.Errorf("holds no token, but %.50q: somebody else writes to it; put it right by hand, as \"TOKEN log\" or \"TOKEN whole\"", content)
	}
	return s, nil
}

// replace writes a file in such a way that it is the old or the new one
// whenever the process, or the machine, ends.
func (f File) replace(path string, content []byte, mode fs.FileMode) error {
	if err := f.writeNew(path+".new", content, mode); err != nil {
		return fmt.Errorf("fencefile: %s could not be written, the old content is still there: %w", path, err)
	}
	if err := f.on().rename(path+".new", path); err != nil {
		return fmt.Errorf("fencefile: %s could not be replaced: %w", path, err)
	}
	if err := f.syncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("fencefile: %s was replaced, but it is not certain that it outlives a crash of the machine: %w", path, err)
	}
	return nil
}

// writeNew writes what a crash may have left half written before: only who has
// the lock does.
func (f File) writeNew(path string, content []byte, mode fs.FileMode) error {
	file, err := f.on().open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return errors.Join(err, chmod(file, mode), file.Sync(), file.Close())
}

// openOrMake opens a file to read and write it. One that is not there is made, with the
// mode, whatever the process's umask is: others may have to open it.
func (f File) openOrMake(path string) (handle, error) {
	file, err := f.on().open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, f.mode())
	if errors.Is(err, fs.ErrExist) {
		return f.on().open(path, os.O_RDWR|os.O_CREATE, f.mode())
	}
	if err != nil {
		return nil, err
	}
	if err := chmod(file, f.mode()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// chmod undoes what the process's umask, or the left-over file, did.
func chmod(file handle, mode fs.FileMode) error {
	if info, err := file.Stat(); err != nil || info.Mode().Perm() == mode {
		return err
	}
	return file.Chmod(mode)
}

// syncFolder makes new names in a folder outlive a crash of the machine.
func (f File) syncFolder(path string) error {
	folder, err := f.on().open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (f File) mode() fs.FileMode {
	if f.Mode == 0 {
		return 0o644
	}
	return f.Mode
}
