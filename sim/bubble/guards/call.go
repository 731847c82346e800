package guards

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// what is what a call asks of a guard.
type what int

const (
	check  what = iota // that it knows the token
	write              // the value, which is read afterwards
	field              // the same, elsewhere in the resource: HSet
	clear              // something of the resource is deleted: Del
	expire             // it gets a time to live: Expire
)

func (w what) String() string { return [...]string{"check", "write", "HSet", "Del", "Expire"}[w] }

// fate is what becomes of a write that the guard lets happen.
type fate int

const (
	succeeds fate = iota
	heeds         // it ends when its context is done, in its middle
	fails         // with an error, and no effect
	breaks        // with an error, after its effect
	panics        // likewise
	returns       // it succeeds, and gives the resource back twice
	fates
)

// odd is what is wrong with a request.
type odd int

const (
	regular   odd = iota
	tokenless     // it has no token
	twice         // it has two
	spelled       // it is no number as tokens are
	foreign       // it has that of another term already
	own           // it has that of its term already, which is as good
	odds
)

// call is one call of a guard. What is decided about it does not change; what has
// come of it stands in the record.
type call struct {
	number   int // in the record
	what     what
	resource int
	writer   int
	token    uint64 // 0: none, which every guard refuses
	value    string // its own
	takes    time.Duration
	fate     fate
	odd      odd
	term     *lead
	alone    bool // its context is not its term's
	began    time.Time
	patience time.Duration

	outcome outcome
	err     error
	took    time.Duration
	waited  time.Duration // until the guard let it pass, where it waits in this process
	cut     bool          // its context was cancelled before its time was over
	sent    atomic.Bool   // a request
}

// outcome is what who calls knows afterwards.
type outcome int

const (
	unknown  outcome = iota // it may have had an effect, or may have it yet
	accepted                // it had its effect
	refused                 // it had none: the token is stale
	undone                  // it had none
	waits                   // it had none, and its token is known: it was given up while it waited
	failed                  // the guard has let it pass, and it failed itself
)

func (o outcome) String() string {
	return [...]string{"unknown", "accepted", "refused", "undone", "given up", "failed"}[o]
}

// knows reports whether the guard knows the token afterwards.
func (o outcome) knows() bool { return o == accepted || o == waits || o == failed }

func (c *call) String() string {
	return fmt.Sprintf("%s %q with token %d to %s", c.what, c.value, c.token, resourceName(c.resource))
}

// Errors of the writes themselves, and of the processes that make them.
var (
	errWrite  = errors.New("NO the write fails by itself")
	errKilled = errors.New("guards: the process was killed")
	errOver   = errors.New("guards: the term is over")
	errShort  = errors.New("guards: too little of the term is left")
)

// heldError is what Hold returned: nothing was written.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// statusError is an answer that is no refusal of a stale token.
type statusError struct {
	status int
	text   string
}

func (e statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

// lead is a term as its leader has it.
type lead struct {
	token  uint64
	until  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
}

var _ fence.Term = (*lead)(nil)

func newLead(token uint64, length time.Duration) *lead {
	l := &lead{token: token, until: time.Now().Add(length)}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	time.AfterFunc(length, func() { l.cancel(errOver) })
	return l
}

// Token implements fence.Term.
func (l *lead) Token() uint64 { return l.token }

// Check implements fence.Term.
func (l *lead) Check(least time.Duration) error {
	switch left := time.Until(l.until); {
	case left <= 0:
		return errOver
	case left < least:
		return errShort
	default:
		return nil
	}
}

// drawer draws the calls of a term.
type drawer struct {
	*run
	Term
	rand  *rand.Rand
	lead  *lead
	n     int
	hangs bool // one of them has
}

// next draws a call.
func (d *drawer) next() *call {
	c := &call{
		what: write, resource: d.Resource, writer: d.Writer, token: d.Token, term: d.lead, alone: !d.Bound, patience: d.Patience,
		value: d.value(),
	}
	r := d.rand
	if d.Takes > 0 {
		c.takes = time.Duration(r.Int64N(int64(d.Takes)) + 1)
	}
	if d.Hangs > 0 && !d.hangs && r.IntN(4) == 0 {
		c.takes, d.hangs = d.Hangs, true
	}
	switch {
	case r.IntN(4) == 0:
		c.fate = fate(1 + r.IntN(int(fates)-1))
	case r.IntN(8) == 0:
		c.what = check
	case d.Guard == InRedis && r.IntN(3) == 0:
		c.what = field + what(r.IntN(3))
	case r.IntN(24) == 0 && d.Guard.web():
		c.odd = odd(1 + r.IntN(int(odds)-1))
	case r.IntN(40) == 0:
		c.token = 0
	}
	return c
}

// again is the same call once more.
func (d *drawer) again(c *call) *call {
	return &call{
		what: c.what, resource: c.resource, writer: c.writer, token: c.token, term: c.term, alone: c.alone, patience: c.patience,
		takes: c.takes, value: d.value(),
	}
}

// value is another one than any before.
func (d *drawer) value() string {
	d.n++
	return fmt.Sprintf("%s/%s/%d/%d", resourceName(d.Resource), writerName(d.Writer), d.Token, d.n)
}
