package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes start a process in a group of its own. The kernel kills it when
// elect dies; its children are the guard's to kill.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adopt makes the job's orphans children of this process, which then sees when
// they are gone. Without it they would stay in a container as zombies: there
// elect is the first process, and nobody else buries them.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
