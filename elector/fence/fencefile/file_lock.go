package fencefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// lock locks PATH.lock, or waits for it. It asks again and again, because
// nobody can be woken up by the kernel and by ctx at once; somebody who holds
// the lock writes for milliseconds. Closing it unlocks it.
func (f File) lock(ctx context.Context) (lock handle, err error) {
	path := f.Path + ".lock"
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		file, err := f.tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("fencefile: %s cannot be locked: %w", path, err)
		}
		if file != nil {
			return file, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("fencefile: nothing was written, %s is still locked by somebody else: %w", path, ctx.Err())
		}
	}
}

// tryLock opens the file anew each time: a lock belongs to what was opened, so
// it keeps apart also the goroutines of one process. It returns nil if somebody
// else has the lock.
func (f File) tryLock(path string) (handle, error) {
	file, err := f.openOrMake(path)
	if err != nil {
		return nil, err
	}
	locked, err := file.lock()
	if locked && err == nil {
		// Somebody may have deleted it since, and the next one locks another.
		locked, err = f.isAt(file, path)
	}
	if !locked || err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (f File) isAt(file handle, path string) (bool, error) {
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := f.on().stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && f.on().same(ours, there), err
}
