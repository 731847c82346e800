package supervisor

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// macOS has no parent-death signal: the supervisor alone does it there.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit returns when the child has ended, and leaves it a zombie. waitid
// will not do: on macOS it returns for a stopped process as well.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return // exec.Cmd.Wait waits as well; only the order is less exact then
	}
	defer func() { _ = unix.Close(queue) }() // nothing was written to it
	change := unix.Kevent_t{Fflags: unix.NOTE_EXIT}
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	events := make([]unix.Kevent_t, 1)
	for {
		_, err := unix.Kevent(queue, []unix.Kevent_t{change}, events, nil)
		if !errors.Is(err, unix.EINTR) {
			return // ESRCH: it has ended already
		}
	}
}

func groupStates(group int) (threadStates, error) {
	var states threadStates
	out, err := exec.Command("/bin/ps", "-axo", "pgid=,state=").Output()
	if err != nil {
		return states, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != strconv.Itoa(group) {
			continue
		}
		switch fields[1][0] {
		case 'T':
			states.stopped++
		case 'Z':
			states.dead++
		default:
			states.running++
		}
	}
	return states, nil
}
