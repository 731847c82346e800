package supervisor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit returns when the child has ended, and leaves it a zombie.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // any other error: it is no child of ours any more
		}
	}
}

// groupStates looks at every thread: a process counts as stopped when its
// first thread is, although others may still be running on another processor.
func groupStates(group int) (threadStates, error) {
	var states threadStates
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return states, err
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		process := filepath.Join("/proc", entry.Name())
		if pgrp, _, ok := readStat(filepath.Join(process, "stat")); !ok || pgrp != group {
			continue
		}
		threads, err := os.ReadDir(filepath.Join(process, "task"))
		if err != nil {
			continue // it has ended
		}
		for _, thread := range threads {
			if _, state, ok := readStat(filepath.Join(process, "task", thread.Name(), "stat")); ok {
				states.add(state)
			}
		}
	}
	return states, nil
}

func (s *threadStates) add(state byte) {
	switch state {
	case 'T', 't':
		s.stopped++
	case 'Z', 'X', 'x':
		s.dead++
	default:
		s.running++
	}
}

// readStat takes state and process group out of a stat file of proc(5). The
// program's name stands before them in parentheses, and may contain any byte.
func readStat(path string) (group int, state byte, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false // it has ended
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 3 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	return group, fields[0][0], err == nil
}
