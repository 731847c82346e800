package fencefile

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill a child when a test binary is killed
// before it can clean up.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
