package fencefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// The disk in memory answers as the machine's own to whatever File asks of one, in any
// order.
func TestPlatterAsReal(t *testing.T) {
	for seed := range uint64(60) {
		folder := t.TempDir()
		model := asked{disk: newPlatter(seed).process(), folder: folder}
		real := asked{disk: machine{}, folder: folder}
		for n := range 60 {
			one, two := rand.New(rand.NewPCG(seed, uint64(n))), rand.New(rand.NewPCG(seed, uint64(n)))
			if got, want := model.ask(one), real.ask(two); got != want {
				t.Fatalf("seed %d, step %d: the model answers %s, the machine %s", seed, n, got, want)
			}
		}
		for _, h := range real.open {
			_ = h.Close() // some are closed already
		}
	}
}

// asked is a disk, and what was opened on it.
type asked struct {
	disk   disk
	folder string
	open   []handle
}

// ask asks the disk something that is drawn, and returns its answer as text.
func (a *asked) ask(r *rand.Rand) string {
	names := []string{"a", "b", "c"}
	name, other := filepath.Join(a.folder, names[r.IntN(3)]), filepath.Join(a.folder, names[r.IntN(3)])
	if len(a.open) == 0 || r.IntN(3) == 0 {
		switch r.IntN(4) {
		case 0:
			info, err := a.disk.stat(name)
			return said("stat", err, sizeOf(info))
		case 1:
			return said("rename", a.disk.rename(name, other))
		default:
			flag := []int{os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_TRUNC}[r.IntN(3)]
			h, err := a.disk.open(name, flag, 0o644)
			if err == nil {
				a.open = append(a.open, h)
			}
			return said("open", err)
		}
	}
	i := r.IntN(len(a.open))
	h, at, b := a.open[i], r.Int64N(8), make([]byte, r.IntN(6))
	switch r.IntN(9) {
	case 0:
		n, err := h.ReadAt(b, at)
		return said("read at", err, n, string(b[:n]))
	case 1:
		all, err := io.ReadAll(h)
		return said("read", err, string(all))
	case 2, 3:
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		n, err := h.WriteAt(b, at)
		return said("write at", err, n)
	case 4:
		return said("truncate", h.Truncate(at))
	case 5:
		info, err := h.Stat()
		there, err2 := a.disk.stat(name)
		if err2 == nil {
			return said("stat", err, sizeOf(info), a.disk.same(info, there))
		}
		return said("stat", err2, sizeOf(info))
	case 6:
		locked, err := h.lock()
		return said("lock", err, locked)
	case 7:
		return said("sync", h.Sync())
	default:
		a.open = append(a.open[:i:i], a.open[i+1:]...)
		return said("close", h.Close())
	}
}

func sizeOf(info fs.FileInfo) int64 {
	if info == nil {
		return -1
	}
	return info.Size()
}

// said is an answer, with the kind of its error.
func said(what string, err error, answer ...any) string {
	kind := "another error"
	for _, k := range []error{nil, fs.ErrNotExist, io.EOF} {
		if errors.Is(err, k) {
			kind = fmt.Sprint(k)
		}
	}
	return fmt.Sprintf("%s: %v, %s", what, answer, kind)
}
