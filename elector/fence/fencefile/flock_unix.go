//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fencefile

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock if nobody else has it.
func flock(file *os.File) (locked bool, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	var failure error
	err = conn.Control(func(fd uintptr) {
		for {
			failure = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(failure, syscall.EINTR) {
				return
			}
		}
	})
	if errors.Is(failure, syscall.EWOULDBLOCK) {
		return false, nil
	}
	err = errors.Join(err, failure)
	return err == nil, err
}
