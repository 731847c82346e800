package candidate

import (
	"context"
	"fmt"
	"net"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
)

// PanicError is what a Subject returns whose elector panicked.
type PanicError struct {
	Value string // what it panicked with, in a line
	Stack []byte
}

func (e *PanicError) Error() string { return e.Value }

// Dial opens a connection to the store, by this candidate's own way to it.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case h.dial != nil:
		return h.dial(ctx, network, addr)
	case len(h.Via) > 0:
		return via(h.Via)(ctx, network, addr)
	default:
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	}
}

// Wait waits while the process is to stand still, where it cannot be stopped.
// Nobody may hold a lock meanwhile.
func (h *Host) Wait() { h.out.wait() }

// Watch is the clock for an elector to read: Clock, which nobody can read whose
// process stands still.
func (h *Host) Watch() elector.Clock {
	if h.keep != nil {
		return h.keep(h.Clock)
	}
	return h.Clock
}

// Note records a note of the candidate's.
func (h *Host) Note(format string, args ...any) {
	h.out.stamp(history.Event{Kind: history.Note, Node: h.Node, Text: fmt.Sprintf(format, args...)})
}
