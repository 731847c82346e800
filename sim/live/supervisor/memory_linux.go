package supervisor

import (
	"golang.org/x/sys/unix"
)

// memoryRoot is where files are kept in memory.
const memoryRoot = "/dev/shm"

// memoryRoom is how many bytes fit in there; 0 if we may not write.
func memoryRoom() uint64 {
	var s unix.Statfs_t
	if unix.Access(memoryRoot, unix.W_OK) != nil || unix.Statfs(memoryRoot, &s) != nil || s.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
