package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// killMarked kills the processes that began with the variable in their environment,
// and tells how many there were. A number that another process has got meanwhile is
// not hit: the process is held on to before its environment is read.
func killMarked(variable string) (found int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !marked(pid, variable) {
			continue
		}
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended, or the kernel is too old
		}
		if marked(pid, variable) && unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0) == nil {
			found++
		}
		_ = unix.Close(process)
	}
	return found
}

// marked reports whether the process began with the variable. Those of other users cannot
// be read, and one that has ended has none.
func marked(pid int, variable string) bool {
	environment, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
