package bubble

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/wire"
)

// taps read along what the candidates of a run ask of the store, where nothing is
// known of their elector but what it does (sim.Plan.Foreign).
type taps struct {
	*wire.Reading
	lock *wire.Lock

	mu      sync.Mutex
	strange map[string]bool // what was noted that the model does not know
}

// unknown notes what the model did not know of a command that got this error, once.
func (r *run) unknown(command, err string) {
	text := sim.Unknown(command, err)
	if r.taps == nil || text == "" {
		return
	}
	r.taps.mu.Lock()
	again := r.taps.strange[text]
	r.taps.strange[text] = true
	r.taps.mu.Unlock()
	if !again {
		r.recorder.Stamp(history.Event{Kind: history.Note, Text: text})
	}
}

// newTaps returns the run's taps, nil if its candidates tell what they do.
func (r *run) newTaps() *taps {
	if !r.plan.Foreign {
		return nil
	}
	lock := wire.NewLock(wire.Options{Wall: time.Now, Prefix: prefix + election, Lease: r.plan.Timings.Lease, Drift: r.plan.Drift})
	follow := func(belief history.Event) { r.leaders.See(belief) }
	return &taps{Reading: wire.NewReading(lock, r.recorder, follow), lock: lock, strange: map[string]bool{}}
}

// along is a process's connection that is read along.
func (t *taps) along(p *process, conn net.Conn) net.Conn {
	note := func(text string) { t.Note(p.node.name, text) }
	return &foreignConn{Conn: wire.Along(conn, t.Conn(p.node.name), note), process: p}
}

// record adds to the history what was read. Nothing is read any more.
func (t *taps) record() {
	if t != nil {
		t.Record(sim.NothingRead)
	}
}

// leaseKey is the key that the candidates use as the lease.
func (s *store) leaseKey() string {
	if t := s.run.taps; t != nil && t.lock.Key() != "" {
		return t.lock.Key()
	}
	return s.keys.lease
}

// foreignConn is a connection of a process of which nothing is known, so that it
// cannot be told to stand still: what it sends is sent, and read, when it goes on.
type foreignConn struct {
	net.Conn
	process *process
}

var _ syscall.Conn = (*foreignConn)(nil)

// Write implements net.Conn.
func (c *foreignConn) Write(b []byte) (int, error) {
	c.process.gate.Wait()
	if c.process.gone() {
		return 0, net.ErrClosed // and nobody reads what it would have sent
	}
	return c.Conn.Write(b)
}

// SyscallConn implements syscall.Conn.
func (c *foreignConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // wire.Along returns one
}
