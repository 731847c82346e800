package soak

import (
	"bytes"
	"encoding/gob"
	"io"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// message is what a candidate's process tells the harness. Whatever happened before
// At was told before.
type message struct {
	At      time.Duration
	Event   *history.Event // one of an election
	Stalled time.Duration  // the machine held the process up for so long until At
	Usage   *history.Usage
	Leads   int // with Usage
}

// reply is what the protected resource decided about a write.
type reply struct {
	Op       int64
	Accepted bool
	Fence    uint64
}

// teller sends messages. What is told of a request is out before the request is.
type teller struct {
	epoch time.Duration
	least time.Duration // what holds it up for so long is a stall

	mu      sync.Mutex
	w       io.Writer
	waiting bytes.Buffer
	encoder *gob.Encoder
	lastOp  int64
}

func newTeller(w io.Writer, c config) *teller {
	t := &teller{epoch: c.Epoch, least: c.Lease / protocol.StallShare, w: w, lastOp: c.FirstOp}
	t.encoder = gob.NewEncoder(&t.waiting)
	return t
}

// now is the time on the run's clock.
func (t *teller) now() time.Duration { return protocol.Monotonic() - t.epoch }

// stamp tells an event that happens now, and flushes if it is a request.
func (t *teller) stamp(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.At = t.now()
	t.put(message{At: e.At, Event: &e})
	if e.Kind == history.Invoke {
		t.flush()
	}
}

// invoke is stamp for a request, which gets a number.
func (t *teller) invoke(e history.Event) history.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastOp++
	e.Kind, e.Op, e.At = history.Invoke, t.lastOp, t.now()
	t.put(message{At: e.At, Event: &e})
	t.flush()
	return e
}

// tell tells m, which happens now or whose event has a time of its own.
func (t *teller) tell(m message, out bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.At = t.now()
	t.put(m)
	if out {
		t.flush()
	}
}

func (t *teller) put(m message) {
	if err := t.encoder.Encode(m); err != nil {
		panic("soak: a message cannot be encoded: " + err.Error())
	}
}

// flush writes what waits. That the harness does not read is a stall of the machine.
func (t *teller) flush() {
	began := t.now()
	_, _ = t.w.Write(t.waiting.Bytes()) // a harness that is gone ends this process
	t.waiting.Reset()
	if took := t.now() - began; took >= t.least {
		t.put(message{At: t.now(), Stalled: took})
	}
}
