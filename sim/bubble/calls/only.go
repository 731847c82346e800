package calls

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/sim/space"
)

// Functions that only the leader executes, and what they write to a service that is
// fenced.

// onlyLeaders draws calls of such functions, from a generator of its own: at any time,
// and just before and after somebody leaves.
func (c *Case) onlyLeaders(r *rand.Rand) {
	if c.Elections > few {
		return
	}
	one := func(at time.Duration, election int) {
		c.Acts = append(c.Acts, Act{
			At: at, Kind: Only, Process: r.IntN(len(c.Processes)), Leader: r.IntN(4) > 0, Election: election,
			By: space.Between(r, c.Lease/1000, c.Lease), For: space.Between(r, c.Lease/1000, 2*c.Lease),
		})
	}
	for _, a := range slices.Clone(c.Acts) {
		if t := table[a.Kind]; (a.Kind <= Resign || t.way) && r.IntN(3) == 0 {
			one(max(0, a.At-c.Lease/4)+time.Duration(r.Int64N(int64(c.Lease/2))), a.Election)
		}
	}
	if r.IntN(3) == 0 {
		one(c.Lease+time.Duration(r.Int64N(int64(c.Span))), r.IntN(c.Elections))
	}
}

// errWork is what the function returns.
var errWork = errors.New("calls: the work has failed")

// only calls a function that only the leader executes.
func only(ctx context.Context, a Act, c *candidate) bool {
	if c == nil {
		return false
	}
	c.life.gate.Wait()
	call, cancel := context.WithTimeout(ctx, a.For)
	defer cancel()
	stood, began, term, ran := c.life.gate.Stood(), time.Now(), c.current(), false
	led := c.elector.IsLeader()
	err := c.elector.OnlyLeader(func(ctx context.Context, t *elector.Term) error {
		ran = true
		if !led && !c.elector.IsLeader() && c.life.gate.Stood() == stood {
			c.find(onlyLeads, "it is executed in term %d, and nobody leads", t.Token())
		}
		c.onlyWork(ctx, call, t, a.By)
		return errWork
	})(call)
	switch still := led && c.elector.IsLeader() && c.current() == term && time.Now().Equal(began); {
	case ran && !errors.Is(err, errWork):
		c.find(onlyLeads, "the function's error became %v", err)
	case !ran && !errors.Is(err, elector.ErrNotLeading):
		c.find(onlyLeads, "it was not executed, and the error is %v", err)
	case !ran && still && c.life.gate.Stood() == stood:
		c.find(onlyLeads, "term %d goes on, and the function was not executed: %v", term.Token(), err)
	}
	return ran
}

// onlyWork is the function: it writes, lasts for so long, or until its context is done,
// and tries to write once more.
func (c *candidate) onlyWork(ctx, call context.Context, t *elector.Term, lasts time.Duration) {
	stood := c.life.gate.Stood()
	c.writeFenced(ctx, t)
	select {
	case <-ctx.Done():
	case <-call.Done():
	case <-t.Context().Done():
	case <-time.After(lasts):
	}
	time.Sleep(time.Microsecond)
	over := call.Err() != nil || t.Context().Err() != nil
	time.Sleep(time.Microsecond)
	if ended := ctx.Err() != nil; ended != over && c.life.gate.Stood() == stood {
		c.find(onlyEnds, "its context is done: %v; that of the call %v, that of term %d %v", ctx.Err(), call.Err(), t.Token(), t.Context().Err())
	}
	c.writeFenced(context.WithoutCancel(ctx), t)
}

// writeFenced writes to the service in a term.
func (c *candidate) writeFenced(ctx context.Context, t *elector.Term) {
	c.life.gate.Wait()
	before := t.Check(0)
	sent, err := c.run.service.Write(ctx, t, c.name, c.run.RoundTrip)
	after, stale := t.Check(0), new(fence.StaleError)
	switch {
	case sent && before != nil:
		c.find(fencedWrites, "a request of term %d was sent when that was over: %v", t.Token(), before)
	case !sent && after == nil:
		c.find(fencedWrites, "a request of term %d was not sent, and that goes on: %v", t.Token(), err)
	case sent && errors.Is(err, elector.ErrTermOver):
		c.find(fencedWrites, "a request of term %d was sent, and the error says that it was not: %v", t.Token(), err)
	case errors.As(err, &stale) && (stale.Token != t.Token() || stale.Highest <= t.Token()):
		c.find(fencedWrites, "a request of term %d was refused: %v", t.Token(), err)
	case sent && err != nil && !errors.As(err, &stale) && ctx.Err() == nil:
		c.find(fencedWrites, "a request of term %d failed: %v", t.Token(), err)
	}
	if err := c.run.service.Odd(); err != nil {
		c.find(fencedWrites, "%v", err)
	}
}
