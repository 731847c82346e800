package calls

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
)

// Terms that are over: what the store remembers of them, and what calls on them do.

// remembers is how many past terms are asked for.
const remembers = 10

// remembered looks at past terms: they are those that there were, and went on for as
// long as they did.
func (c *candidate) remembered(past []store.PastTerm, asked time.Duration) {
	r := c.run
	known := map[uint64]store.PastTerm{}
	for i, term := range past {
		known[term.Token] = term
		if i > 0 && term.Token >= past[i-1].Token && !r.losesCount() {
			c.find(pastTerms, "term %d comes before %d", past[i-1].Token, term.Token)
		}
	}
	r.mu.Lock()
	grants := slices.Clone(r.grants[c.name])
	r.mu.Unlock()
	if !r.undisturbed() {
		return
	}
	r.bite("remembers")
	for i, g := range grants {
		term, ok := known[g.token]
		switch full := len(past) == remembers; {
		case ok:
			c.compare(term, g, asked, i+1 == len(grants))
		case g.at < asked && (!full || g.token > past[len(past)-1].Token):
			c.find(pastTerms, "term %d of %s began at %v, and is not remembered at %v", g.token, g.to, g.at, asked)
		}
	}
}

// compare compares a term that is remembered with what happened.
func (c *candidate) compare(term store.PastTerm, g grant, asked time.Duration, last bool) {
	at := func(t time.Time) time.Duration { return t.Sub(c.run.began) }
	slack := c.config.RequestTimeout + c.run.RoundTrip // no answer came later than that
	within := func(t time.Time, d time.Duration) bool {
		return d-slack <= at(t) && at(t) <= d+time.Millisecond
	}
	switch gone := !term.Ended.IsZero(); {
	case sim.NodeOf(term.ID) != g.to:
		c.find(pastTerms, "term %d was that of %s, and %s is remembered", g.token, g.to, term.ID)
	case !within(term.Began, g.at):
		c.find(pastTerms, "term %d began at %v, and %v is remembered", g.token, g.at, at(term.Began))
	case !gone && g.released > 0 && g.released < asked:
		c.find(pastTerms, "the lease of term %d was given back at %v, and at %v no end is remembered", g.token, g.released, asked)
	case gone && g.released > 0 && !within(term.Ended, g.released):
		c.find(pastTerms, "the lease of term %d was given back at %v, and %v is remembered", g.token, g.released, at(term.Ended))
	case gone && last && g.over == 0 && c.leads() && c.current().Token() == g.token:
		c.find(pastTerms, "term %d goes on, and its end is remembered at %v", g.token, at(term.Ended))
	}
}

// lookBack draws, from a generator of its own, calls on terms that are over, some while
// after something ended one.
func (c *Case) lookBack(r *rand.Rand) {
	if c.Elections > few {
		return
	}
	for _, of := range slices.Clone(c.Acts) {
		ends := table[of.Kind].reach != nobody && of.Kind != Job
		if !ends || r.IntN(4) > 0 {
			continue
		}
		c.Acts = append(c.Acts, Act{
			At: of.end() + time.Duration(r.Int64N(int64(3*c.Lease))), Kind: CallPast, Process: r.IntN(len(c.Processes)),
			Leader: r.IntN(2) == 0, Election: of.Election, Choice: r.IntN(64),
		})
	}
}

// callPast makes a call on a term of the candidate that is over. That changes nothing:
// neither what the store tells, nor a term that goes on.
func (r *run) callPast(ctx context.Context, i int, a Act, p *process) bool {
	c := p.candidate(a.Election)
	if c == nil {
		return false
	}
	c.life.gate.Wait()
	t := c.pastTerm(a.Choice)
	if t == nil {
		return false
	}
	a.At = r.recorder.Now()
	led, leads, stood := c.current(), c.leads(), c.life.gate.Stood()
	limited, cancel := context.WithTimeout(ctx, c.config.Lease/4)
	defer cancel()
	what, err := r.use(limited, t, c, a.Choice)
	r.bite("past:" + what)
	switch expired := limited.Err() != nil && errors.Is(err, limited.Err()); {
	case what == "publish" && !errors.Is(err, elector.ErrTermOver) && !expired:
		c.find(pastTerms, "Publish in term %d, which is over, returned %v", t.Token(), err)
	case (what == "resign" || what == "transfer") && err != nil && !errors.Is(err, elector.ErrNotReleased) && !expired && !storeError(err):
		c.find(pastTerms, "%s of term %d, which is over, returned %v", what, t.Token(), err)
	}
	sleep(ctx, r.RoundTrip+time.Millisecond)
	if over := led.Check(0) != nil || led.Context().Err() != nil; leads && over && !c.failedBack(led) && c.life.gate.Stood() == stood &&
		r.quietAround(i, a, c.life.process.world(), r.Lease/2, r.recorder.Now()-a.At) {
		c.find(pastTerms, "%s of term %d, which is over, has ended term %d", what, t.Token(), led.Token())
	}
	sleep(ctx, r.Lease/2) // with a renewal all is shown
	asking, stop := context.WithTimeout(ctx, c.config.Lease)
	defer stop()
	_, _ = c.elector.Leader(asking) // what it tells is looked at
	return true
}

// use makes one of the calls on a term.
func (r *run) use(ctx context.Context, t *elector.Term, c *candidate, choice int) (what string, err error) {
	switch choice % 4 {
	case 0:
		text, _ := r.board.another(term{c.name, c.elector.ID(), t.Token()})
		return "publish", t.Publish(ctx, text)
	case 1:
		c.refused(t, t.Token()+1)
		return "refused", nil
	case 2:
		return "resign", t.Resign(ctx)
	default:
		return "transfer", t.Transfer(ctx, "nobody")
	}
}

// refused tells the term of a fence, which no later term of the candidate may have.
func (c *candidate) refused(t *elector.Term, fence uint64) {
	c.mu.Lock()
	c.ledger.fence, c.ledger.fenced = max(c.ledger.fence, fence), c.called
	c.mu.Unlock()
	t.Refused(fence)
}

// pastTerm is one of the candidate's terms that are over, nil if there is none. It says
// that it is over.
func (c *candidate) pastTerm(which int) *elector.Term {
	c.mu.Lock()
	past := slices.Clone(c.past)
	c.mu.Unlock()
	if len(past) == 0 {
		return nil
	}
	t := past[which%len(past)]
	if t.Check(0) == nil || t.Remaining() > 0 || t.Context().Err() == nil {
		c.find(pastTerms, "a later term goes on, and term %d is checked with %v, has %v left, and its context is %v", t.Token(), t.Check(0), t.Remaining(), t.Context().Err())
	}
	return t
}
