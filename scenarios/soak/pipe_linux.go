package soak

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// roomy makes the pipe large, so that nobody waits for a reader that is busy for a
// moment.
func roomy(pipe io.Reader) {
	if f, is := pipe.(*os.File); is {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20) // it only gets smaller then
	}
}
