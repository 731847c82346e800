package main

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributes start a process in a group of its own. The kernel kills it when
// elect dies; its children are the guard's to kill.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// into makes a process start in the control group of that folder.
func into(a *syscall.SysProcAttr, folder *os.File) {
	a.UseCgroupFD, a.CgroupFD = true, int(folder.Fd())
}

// adopt makes the job's orphans children of this process, which then sees when
// they are gone. Without it they would stay in a container as zombies: there
// elect is the first process, and nobody else buries them.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ended is a child that has ended and was not waited for; 0 if there is none. It
// is left as it is.
func ended() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0 // there are no children
		}
	}
	// Behind three numbers follows what depends on the signal, aligned as a
	// pointer is, and for SIGCHLD it begins with the process.
	const align = unsafe.Alignof(uintptr(0))
	const offset = (3*unsafe.Sizeof(info.Signo) + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset)))
}
