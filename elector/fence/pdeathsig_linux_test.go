package fence

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// dieWithUs makes the kernel kill the server when a test binary is killed
// before it can clean up.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// notAsRoot makes the command, and its folders, another user's if we are root:
// PostgreSQL refuses to be root's.
func notAsRoot(cmd *exec.Cmd, folders ...string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("we are root, and PostgreSQL needs another user: %w", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32) // the system's own
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	for _, folder := range folders {
		if err := os.Chown(folder, int(uid), int(gid)); err != nil {
			return err
		}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}
