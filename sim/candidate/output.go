package candidate

import (
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// output prints the candidate's events, one JSON object a line, each with one
// write: a line is out before the request that it announces is sent.
type output struct {
	now    func() time.Duration // the run's clock
	lastOp atomic.Int64

	mu sync.Mutex
	w  io.Writer
}

var _ teller = (*output)(nil)

func (o *output) wait() {}

func (o *output) nextOp() int64 { return o.lastOp.Add(1) }

func (o *output) time() time.Duration { return o.now() }

// at prints an event that happened at t on the run's clock.
func (o *output) at(t time.Duration, e history.Event) {
	o.line(protocol.Line{Name: string(e.Kind), At: &t, Event: e})
}

// stamp prints an event that happens now.
func (o *output) stamp(e history.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	o.write(protocol.Line{Name: string(e.Kind), At: &now, Event: e})
}

func (o *output) line(l protocol.Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(l)
}

func (o *output) write(l protocol.Line) {
	text, err := json.Marshal(l)
	if err != nil {
		panic("candidate: a line of the protocol does not marshal: " + err.Error())
	}
	// A harness that no longer reads is gone; the end of standard input says
	// so too, and ends this process.
	_, _ = o.w.Write(append(text, '\n'))
}
