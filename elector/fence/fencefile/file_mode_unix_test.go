//go:build unix

package fencefile

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// New files have the mode that was asked for, whatever the process's umask; a
// file that is replaced keeps its own.
func TestFileModes(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	f := newFile(t)
	for _, want := range []fs.FileMode{0o644, 0o640} {
		if want != 0o644 {
			f = File{Path: newFile(t).Path, Mode: want}
		}
		if err := f.Replace(t.Context(), 1, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got, fence := mode(f.Path), mode(f.Path+".fence"); got != want || fence != want {
			t.Errorf("the file has mode %o, its fence %o, want %o", got, fence, want)
		}
		log := File{Path: newFile(t).Path, Mode: want}
		if err := log.Append(t.Context(), 1, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got, lock := mode(log.Path), mode(log.Path+".lock"); got != want || lock != want {
			t.Errorf("the log has mode %o, its lock %o, want %o", got, lock, want)
		}
	}
	if err := os.Chmod(f.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(t.Context(), 2, []byte("y")); err != nil || mode(f.Path) != 0o600 {
		t.Errorf("after it was replaced it has mode %o, %v", mode(f.Path), err)
	}
}
