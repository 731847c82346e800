package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the process when this one is killed before
// it can clean up.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

func suspend(ctx context.Context, p *os.Process) error {
	return errors.Join(p.Signal(syscall.SIGSTOP), awaitState(ctx, p.Pid, true))
}

func proceed(ctx context.Context, p *os.Process) error {
	return errors.Join(p.Signal(syscall.SIGCONT), awaitState(ctx, p.Pid, false))
}

// awaitState waits until the kernel says of the process's main thread, which
// executes all commands, that it stands still, or that it does not.
func awaitState(ctx context.Context, pid int, stopped bool) error {
	return until(ctx, fmt.Sprintf("process %d does not change", pid), func() (bool, error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false, err
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		return bytes.HasPrefix(after, []byte("T")) == stopped, nil
	})
}
