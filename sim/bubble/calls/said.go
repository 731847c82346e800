package calls

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// What the calls that compete are held to.

// due is what tells how long a call may take from now on.
type due struct {
	stood int
	began time.Time
}

func (c *candidate) due() due { return due{c.life.gate.Stood(), time.Now()} }

// patient reports whether nothing of the process takes long or stood still.
func (c *candidate) patient(d due) bool {
	m := c.behavior
	return m.Works == AtOnce && m.Stops == AtOnce && m.Tells == AtOnce && m.Logs == AtOnce && c.life.gate.Stood() == d.stood
}

// wrapUp is how long a call may take to end once it was asked to: its lease is
// given back, or ends by itself, and so does what it asked the store for.
func (c *candidate) wrapUp() time.Duration { return 2*c.config.Lease + 2*time.Second }

func (c *candidate) ranAsSaid(ctx context.Context, err error) {
	var fatal *elector.FatalError
	var panicked *elector.PanicError
	switch {
	case c.ledger.panicked.Load() && !errors.As(err, &panicked) && !errors.As(err, &fatal):
		c.find(runReturns, "Run returned %v, and OnStarted has panicked", err)
	case err == nil:
		if ctx.Err() == nil && c.behavior.Call != Once {
			c.find(runReturns, "Run returned nil, and its context is not done")
		}
	case errors.As(err, &fatal):
		c.endsFor(fatal)
	case errors.As(err, &panicked):
		if c.behavior.Works != Panics {
			c.find(runReturns, "Run returned %v, and OnStarted does not panic", err)
		}
	default:
		c.find(runReturns, "Run returned %v", err)
	}
	c.expectAlive(err)
}

func (c *candidate) termsAsSaid(ctx context.Context, err error) {
	var fatal *elector.FatalError
	if err != nil && !errors.As(err, &fatal) || err == nil && ctx.Err() == nil {
		c.find(runReturns, "Terms ended with %v, and its context is not done", err)
	}
	c.expectAlive(err)
	if errors.As(err, &fatal) {
		c.endsFor(fatal)
	}
}

// endsFor looks at the error for which a candidate has ended.
func (c *candidate) endsFor(err error) {
	c.mu.Lock()
	led := c.ledger.worked > 0
	c.mu.Unlock()
	for _, word := range []string{"NOPERM", "NOAUTH", "WRONGPASS"} {
		if led && strings.Contains(err.Error(), word) {
			c.find(accessReturns, "the candidate has led, and ended for %v", err)
		}
	}
}

// over looks at an elector that does not run any more, and at how long it took to
// stop.
func (c *candidate) over(ctx context.Context, d due) {
	c.mu.Lock()
	working, returned, notices := c.ledger.working, c.ledger.returned, c.ledger.notices
	c.ledger.working = nil
	c.mu.Unlock()
	if working != nil && (c.callsBack() || !returned) {
		c.find(runReturns, "the call returned before the callbacks of term %d", working.Token())
	}
	if notices > 0 {
		c.find(runReturns, "the call returned before %d calls of OnEvent or OnLeader", notices)
	}
	c.stoppedAsSaid()
	c.life.mu.Lock()
	asked := c.life.asked
	c.life.mu.Unlock()
	if took := time.Since(asked); ctx.Err() != nil && !asked.IsZero() && took > c.wrapUp() && c.patient(d) {
		c.find(runReturns, "the call returned %v after its context was done", took)
	}
}

func (c *candidate) stoppedAsSaid() {
	if s := c.elector.State(); s != event.StateStopped || c.elector.IsLeader() {
		c.find(stoppedAfter, "the call has returned, and the elector is a %s, leading %v", s, c.elector.IsLeader())
	}
}

func (c *candidate) campaignAsSaid(ctx context.Context, t *elector.Term, err error, d due) {
	var fatal *elector.FatalError
	switch {
	case (t == nil) == (err == nil):
		c.find(campaignReturns, "Campaign returned %v and %v", t, err)
	case t != nil, errors.As(err, &fatal), c.waitsForCalls(err):
	case ctx.Err() == nil, !errors.Is(err, ctx.Err()):
		c.find(campaignReturns, "Campaign returned %v, and its context is %v", err, ctx.Err())
	default:
		c.blames(err)
	}
	c.campaigned(ctx, t, d)
}

// blames expects that the error of a Campaign that has waited in vain names no request that
// failed before the store said who leads.
func (c *candidate) blames(err error) {
	c.mu.Lock()
	sent, failed, refused := c.ledger.sent, c.ledger.failed, c.ledger.refused
	c.mu.Unlock()
	names := strings.Contains(err.Error(), "what went wrong last: redisstore: acquire")
	settled := failed > 0 && refused > max(failed, sent) && c.run.recorder.Now()-refused > 2*c.config.RequestTimeout
	near := c.run.RoundTrip < c.config.RequestTimeout/8 // else an answer may come while it is given up
	if settled && near {
		c.run.bite("in vain")
	}
	if names && settled && near && !c.run.Has(Pause) {
		c.find(campaignReturns, "Campaign returned %q, the last request failed at %v, and one after it was refused at %v", err, failed, refused)
	}
}

// waitsForCalls reports whether the error says that the term before is not over yet, whose
// callbacks or log take their time.
func (c *candidate) waitsForCalls(err error) bool {
	return errors.Is(err, elector.ErrActive) && (!c.tellsAtOnce())
}

func (c *candidate) tryAsSaid(ctx context.Context, t *elector.Term, err error, d due) {
	var held *elector.HeldError
	var fatal *elector.FatalError
	switch {
	case (t == nil) == (err == nil):
		c.find(campaignReturns, "TryAcquire returned %v and %v", t, err)
	case t != nil, errors.As(err, &fatal), c.waitsForCalls(err):
	case errors.As(err, &held):
		if held.Holder == "" && held.Withheld == "" {
			c.find(campaignReturns, "TryAcquire was refused by nobody: %v", err)
		}
	case ctx.Err() == nil, !errors.Is(err, ctx.Err()):
		c.find(campaignReturns, "TryAcquire returned %v, and its context is %v", err, ctx.Err())
	}
	c.campaigned(ctx, t, d)
}

// campaigned looks at how long such a call took, and at an elector that has no term.
func (c *candidate) campaigned(ctx context.Context, t *elector.Term, d due) {
	if t != nil {
		return
	}
	c.stoppedAsSaid()
	if at, ok := ctx.Deadline(); ok && time.Since(at) > c.wrapUp() && c.patient(d) {
		c.find(campaignReturns, "the call returned %v after its context was done", time.Since(at))
	}
}

// resignedAsSaid looks at a term of Campaign that was resigned.
func (c *candidate) resignedAsSaid(ctx context.Context, t *elector.Term, err error) {
	if t.Context().Err() == nil || c.elector.IsLeader() {
		c.find(resignAtOnce, "term %d was resigned, its context is %v, and it leads: %v", t.Token(), t.Context().Err(), c.elector.IsLeader())
	}
	var fatal *elector.FatalError
	switch {
	case err == nil:
		if c.keeps(t) {
			c.find(released, "term %d was resigned, and the store keeps its lease", t.Token())
		}
	case errors.As(err, &fatal), errors.Is(err, elector.ErrNotReleased), ctx.Err() != nil && errors.Is(err, ctx.Err()):
	default:
		c.find(released, "Resign returned %v", err)
	}
}

// tookTurns reports whether another server, or this one with its data of later, answered
// within a lease: what that said of a lease is not true of what came back.
func (r *run) tookTurns() bool {
	now := r.recorder.Now()
	return slices.ContainsFunc(r.Acts, func(a Act) bool {
		return (a.Kind == Failback || a.Kind == Rewind) && a.At < now && now < a.At+a.For+r.longest()
	})
}

// prolonged reports whether an operator may have made the lease last longer than anybody
// asked for: it is over by its holder's clock, and there all the same.
func (c *candidate) prolonged() bool {
	now := c.run.recorder.Now()
	return slices.ContainsFunc(c.run.Acts, func(a Act) bool {
		return (a.Kind == Persist || a.Kind == Expire) && a.Election == c.index && a.At < now
	})
}

// keeps reports whether the store keeps the lease of a term, which was given back just now,
// and nothing that happened to the server or the lease explains it.
func (c *candidate) keeps(t *elector.Term) bool {
	return c.holds(t.Token()) && !c.run.tookTurns() && !c.prolonged()
}

// holds reports whether the store keeps the candidate's lease of that token.
func (c *candidate) holds(token uint64) (held bool) {
	c.run.data(c.life.process, func(do func(...string) redismodel.Reply) {
		if do("TYPE", c.key("lease")).Text == "string" {
			held = c.isOf(do("GET", c.key("lease")).Text, token)
		}
	})
	return held
}
