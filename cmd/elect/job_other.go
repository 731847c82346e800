//go:build !linux

package main

import (
	"errors"
	"os"
	"syscall"
)

// attributes start a process in a group of its own. The guard kills it when
// elect dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adopt does nothing: here the system's first process buries orphans.
func adopt() error { return nil }

// into does nothing: here there are no control groups.
func into(*syscall.SysProcAttr, *os.File) {}

// ended knows nobody: here no orphan is adopted.
func ended() int { return 0 }

// everybody cannot be seen: here a job is its process group.
func everybody() ([]relative, error) { return nil, errors.ErrUnsupported }

// lookAt sees nobody.
func lookAt(int) (relative, bool) { return relative{}, false }

// traced reports nothing: here nobody keeps the end of a process from its parent.
func traced(int) bool { return false }

// handles cannot look: it is true.
func handles(int, syscall.Signal) bool { return true }

// send does nothing: nobody was seen.
func (relative) send(syscall.Signal) {}
