package calls

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// What is owed where connections are lost, or refused for a while.

// loseOne makes a process lose one of its connections. No term ends of that: one
// request fails or hangs, and the next one is sent in time on another connection.
func (r *run) loseOne(ctx context.Context, i int, a Act, p *process, led []*candidate) bool {
	lose := p.link.StrandOne
	if a.Kind == HangupOne {
		lose = p.link.BreakOne
	}
	terms := map[*candidate]*elector.Term{}
	for _, c := range led {
		one := a
		one.Election = c.index
		// With few connections everything may wait for the one that hangs.
		if p.behavior().Pool == 0 && r.quietAround(i, one, p.world(), r.Lease/2, r.Lease+r.Lease/2) {
			terms[c] = c.current()
		}
	}
	if !lose(a.Choice) {
		return false
	}
	for c, t := range terms {
		go r.expectTerm(ctx, c, t, a.Kind)
	}
	return true
}

// expectTerm expects a term to go on for a lease.
func (r *run) expectTerm(ctx context.Context, c *candidate, t *elector.Term, why Kind) {
	sleep(ctx, r.longest())
	if r.ending() || c.failedBack(t) || c.life != c.life.process.current() {
		return
	}
	if t.Check(0) != nil {
		obligation := oneFails
		if why == Hangup {
			obligation = outlivesReset
		}
		c.find(obligation, "term %d is over a lease after connections were lost: %s", t.Token(), why)
		return
	}
	r.bite("survives:" + why.String())
}

// expectService expects the store's answer soon after the way to it is open again, to
// those who ask for the lease and were refused a connection until then: a request that
// failed is repeated after a retry's pause, and by the fourth time on a new client. One
// with few connections gives the error of the last one to others until then.
func (r *run) expectService(ctx context.Context, i int, a Act, p *process) {
	l, since := p.current(), r.recorder.Now()
	tries := 2 // one call dials twice at the most
	if pool := p.behavior().Pool; pool > 0 && pool < 4 {
		tries = 3
	}
	retry := max(r.longestRetry(), r.longest()/15)
	bound := time.Duration(tries)*retry*5/4 + retry/2 + 7*r.RoundTrip // pauses are up to a quarter longer
	a.At = since
	if p.behavior().Foreign {
		bound += time.Second // go-redis gives an error of the past to everybody for so long
	}
	if l == nil || l.age() < r.Lease || !r.quietAround(i, a, p.world(), 0, bound) {
		return
	}
	stood := l.gate.Stood()
	for _, c := range l.candidates {
		if c.elector.State() != event.StateCandidate {
			continue
		}
		go func() {
			sleep(ctx, bound)
			c.mu.Lock()
			answered := c.ledger.answered
			c.mu.Unlock()
			if answered < since && l.gate.Stood() == stood && l == p.current() && !r.ending() {
				c.find(slowService, "connections are accepted again since %v, and nothing was answered for %v: %s", since, bound, a.Kind)
			}
			r.bite("served:" + a.Kind.String())
		}()
	}
}

// executed looks at which script a server was told to run, and how often.
func (r *run) executed(args []string, reply redismodel.Reply) {
	if len(args) < 4 {
		return
	}
	keys, err := strconv.Atoi(args[2])
	if err != nil || keys == 1 || len(args) <= 4+keys || strings.HasSuffix(args[3], ":candidates") || reply.Kind == redismodel.Error && strings.HasPrefix(reply.Text, "NOSCRIPT") {
		return // a question, or an administrator, which may be repeated; or it is sent again as text
	}
	if keys == 2 && strings.HasSuffix(args[4], ":candidates") {
		return // a bid is taken back as often as a foreign message names its attempt
	}
	r.mu.Lock()
	key := strings.Join(args[2:], " ")
	twice := r.executions[key]
	r.executions[key] = true
	r.mu.Unlock()
	if twice {
		r.Find(askedOnce, "a request came a second time: %q", args[3:])
	}
}
