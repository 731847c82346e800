package pgstore

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the server when a test binary is killed
// before it can clean up; its processes end with their first one. as is who it
// runs as, if not as we do.
func dieWithUs(cmd *exec.Cmd, as *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
}
