package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errOtherProc = errors.New("/proc is that of another process namespace")

// everybody are all processes. It returns an error if /proc does not show the namespace
// that this process is in: then its numbers mean other processes.
func everybody() ([]relative, error) {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return nil, err
	}
	if self != strconv.Itoa(os.Getpid()) {
		return nil, errOtherProc
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []relative
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := lookAt(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// lookAt is what /proc shows of a process; false if there is none.
func lookAt(pid int) (relative, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return relative{}, false
	}
	p := relative{pid: pid}
	_, rest, _ := strings.Cut(string(stat), "(")
	end := strings.LastIndexByte(rest, ')') // the name may hold brackets
	if end < 0 {
		return relative{}, false
	}
	p.name = rest[:end]
	fields := strings.Fields(rest[end+1:]) // the first is number 3 of proc_pid_stat(5)
	if len(fields) < 20 {
		return relative{}, false
	}
	var numbers [20]int64
	for i := 1; i < len(numbers); i++ {
		numbers[i], _ = strconv.ParseInt(fields[i], 10, 64) // the kernel writes numbers
	}
	state, threads, born := fields[0], numbers[17], numbers[19]
	p.parent, p.group = int(numbers[1]), int(numbers[2])
	p.born = time.Duration(born) * bornUnit
	// A process whose first thread has ended looks like a zombie while others live on.
	p.dead = (state == "Z" || state == "X") && threads <= 1
	return p, true
}

// traced reports whether a process has ended and another one, which traces it, keeps
// that from its parent.
func traced(pid int) bool {
	p, ok := lookAt(pid)
	if !ok || !p.dead {
		return false
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // of what is gone, nothing
	_, rest, _ := strings.Cut(string(status), "\nTracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer != "" && tracer != "0"
}

// handles reports whether a process has a handler for the signal, or ignores it. It is
// true of a process that cannot be looked at.
func handles(pid int, s syscall.Signal) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // of what is gone, nothing
	for _, set := range []string{"\nSigCgt:\t", "\nSigIgn:\t"} {
		_, rest, found := strings.Cut(string(status), set)
		word, _, _ := strings.Cut(rest, "\n")
		mask, err := strconv.ParseUint(word, 16, 64)
		if !found || err != nil || mask&(1<<(s-1)) != 0 {
			return true
		}
	}
	return false
}

// send sends a signal to this process, and to no other one that has got its number.
func (p relative) send(s syscall.Signal) {
	handle, err := os.FindProcess(p.pid) // stays with the process from Linux 5.4 on
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }() // of no use any more
	if now, ok := lookAt(p.pid); ok && now.born == p.born {
		_ = handle.Signal(s) // a process that has ended, or that elect may not signal
	}
}
