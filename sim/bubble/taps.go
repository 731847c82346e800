package bubble

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/stage"
	"github.com/recount-io/recount/sim/wire"
)

// taps read along what the candidates of a run ask of the store, where nothing is
// known of their elector but what it does (sim.Plan.Stranger). What they read is
// recorded when the run is over: only then is it known whether the candidates tell
// themselves what they believe.
type taps struct {
	lock     *wire.Lock
	recorder *history.Recorder
	leaders  *stage.Leadership

	mu       sync.Mutex // never held while anything waits
	events   []history.Event
	beliefs  *wire.Beliefs
	inferred []history.Event
	believes bool            // a candidate told a belief
	used     bool            // a candidate connected
	strange  map[string]bool // what was noted that the model does not know
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
	if !r.plan.Stranger {
		return nil
	}
	t := &taps{
		lock:     wire.NewLock(wire.Options{Wall: time.Now, Prefix: prefix + election}),
		recorder: r.recorder, leaders: r.leaders, beliefs: wire.NewBeliefs(), strange: map[string]bool{},
	}
	r.recorder.Observe(t.observe)
	return t
}

// along is a process's connection that is read along.
func (t *taps) along(p *process, conn net.Conn) net.Conn {
	t.mu.Lock()
	t.used = true
	t.mu.Unlock()
	note := func(text string) { t.tell(history.Event{Kind: history.Note, Node: p.node.name, Text: text}) }
	return &strangerConn{Conn: wire.Along(conn, t.lock.Conn(p.node.name, t.tell, t.recorder.NextOp), note), process: p}
}

// tell takes in what was read.
func (t *taps) tell(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.At = t.recorder.Now()
	t.events = append(t.events, e)
	t.infer(e)
}

// observe takes in what was recorded.
func (t *taps) observe(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case history.Exit:
		t.infer(e)
	case history.Elected, history.Extended:
		t.believes = true
	}
}

// infer follows who must believe to lead. Faults that are meant for the leader have
// to know at once.
func (t *taps) infer(e history.Event) {
	if t.believes {
		return
	}
	if belief, follows := t.beliefs.See(e); follows {
		t.inferred = append(t.inferred, belief)
		t.leaders.See(belief)
	}
}

// record adds to the history what was read. Nothing is read any more.
func (t *taps) record() {
	if t == nil {
		return
	}
	t.mu.Lock()
	events, inferred, used := t.events, t.inferred, t.used
	if t.believes {
		inferred = nil
	}
	t.mu.Unlock() // the recorder tells observe of what is recorded
	if !used {
		t.recorder.Stamp(history.Event{Kind: history.Note, Text: sim.NothingRead})
		return
	}
	t.recorder.Stamp(t.lock.Understanding())
	for _, e := range events {
		t.recorder.Record(e)
	}
	if len(inferred) == 0 {
		return
	}
	t.recorder.Stamp(history.Event{Kind: history.Note, Text: sim.Inferred + t.lock.Key()})
	for _, e := range inferred {
		t.recorder.Record(e)
	}
}

// leaseKey is the key that the candidates use as the lease.
func (s *store) leaseKey() string {
	if t := s.run.taps; t != nil && t.lock.Key() != "" {
		return t.lock.Key()
	}
	return s.keys.lease
}

// strangerConn is a connection of a process of which nothing is known, so that it
// cannot be told to stand still: what it sends is sent, and read, when it goes on.
type strangerConn struct {
	net.Conn
	process *process
}

var _ syscall.Conn = (*strangerConn)(nil)

// Write implements net.Conn.
func (c *strangerConn) Write(b []byte) (int, error) {
	c.process.gate.Wait()
	if c.process.gone() {
		return 0, net.ErrClosed // and nobody reads what it would have sent
	}
	return c.Conn.Write(b)
}

// SyscallConn implements syscall.Conn.
func (c *strangerConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // wire.Along returns one
}
