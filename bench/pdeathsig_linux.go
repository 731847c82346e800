package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the server when the bench is killed before it
// can clean up.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
