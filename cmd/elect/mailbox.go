package main

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mailbox are the orders that come through a pipe. Unlike a goroutine that
// reads ahead, it can tell that nothing has come.
type mailbox struct {
	fd      int
	partial string // a line that has come in part
}

func (m *mailbox) wait(d time.Duration) {
	whole := (d + time.Millisecond - 1) / time.Millisecond
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLIN}}, int(whole)) // a signal ends it early
}

func (m *mailbox) read() ([]string, bool) {
	if err := unix.SetNonblock(m.fd, true); err != nil {
		return nil, false // there is no pipe
	}
	buffer := make([]byte, 4096)
	for {
		n, err := unix.Read(m.fd, buffer)
		switch {
		case n > 0:
			m.partial += string(buffer[:n])
			continue
		case errors.Is(err, unix.EINTR):
			continue
		}
		lines := strings.Split(m.partial, "\n")
		m.partial = lines[len(lines)-1]
		return lines[:len(lines)-1], errors.Is(err, unix.EAGAIN)
	}
}
