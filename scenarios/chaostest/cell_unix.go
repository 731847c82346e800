//go:build unix

package chaostest

import (
	"syscall"

	"github.com/recount-io/recount/sim/bubble/network"
)

var _ syscall.Conn = (*cellConn)(nil)

// SyscallConn implements syscall.Conn: by it some clients find out whether a connection
// that was idle is still there.
func (c *cellConn) SyscallConn() (syscall.RawConn, error) { return network.Descriptor(c.ended()) }
