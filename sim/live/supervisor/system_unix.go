//go:build linux || darwin

package supervisor

import (
	"os/exec"
	"os/signal"
	"syscall"
)

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

func supported() error { return nil }

// ownSession keeps signals to the harness's group, and its terminal's, away.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ignoreSignals leaves the supervisor one way to end: the end of its harness.
// Without SIGPIPE ignored, a report to a dead harness would end it too early.
func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

// supervise makes cmd the leader of a group; the caller's other attributes
// stay.
func supervise(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	attr := cmd.SysProcAttr
	attr.Setpgid, attr.Pgid = !attr.Setsid, 0 // a session leader leads a group as well
	dieWithParent(attr)
}

func signalGroup(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }

func killGroup(pid int) error { return signalGroup(pid, syscall.SIGKILL) }

// groupLives reports whether the group has a process that is no zombie. Zombies
// of a dead harness are their new parent's to reap, and some never do it.
func groupLives(pid int) bool {
	if syscall.Kill(-pid, 0) == syscall.ESRCH {
		return false
	}
	states, err := groupStates(pid)
	return err != nil || states.alive() > 0
}
