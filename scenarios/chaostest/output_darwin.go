package chaostest

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeOutput returns standard output as a file of this package's own, and has what
// anybody else prints from now on go to standard error.
func takeOutput() (*os.File, error) {
	private, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(private), "output"), nil
}
