//go:build unix

package topology

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// notAsRoot makes the command, and the folder that it works in, another user's
// if we are root: PostgreSQL refuses to run as root.
func notAsRoot(cmd *exec.Cmd) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return errors.New("we are root, as whom it refuses to run, and there is neither a user postgres nor nobody")
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return errors.Join(err1, err2, os.Chown(cmd.Dir, int(uid), int(gid)))
}
