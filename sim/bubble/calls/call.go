package calls

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// What calls are held to that do not compete, or hand over.

// call makes a call.
func (r *run) call(ctx context.Context, i int, a Act, p *process) bool {
	switch a.Kind {
	case CallTwice:
		return callTwice(ctx, p.candidate(a.Election))
	case Ask:
		return ask(ctx, i, a, p.candidate(a.Election))
	case Watch:
		return watch(ctx, a, p.candidate(a.Election))
	}
	c := r.leader(p.world(), a.Election)
	if c == nil {
		return false
	}
	switch a.Kind {
	case Resign:
		r.resign(ctx, i, a, c)
	case TransferAway:
		transferAway(ctx, c, a.Choice)
	case Transfer:
		return r.handOver(ctx, i, a, c, p)
	}
	return true
}

// resign makes the leader resign.
func (r *run) resign(ctx context.Context, i int, a Act, c *candidate) {
	t, stood, began := c.current(), c.life.gate.Stood(), time.Now()
	at := r.recorder.Now()
	limited, cancel := context.WithTimeout(ctx, 3*c.config.Lease)
	defer cancel()
	c.life.gate.Wait()
	err := t.Resign(limited)
	took := time.Since(began)
	if c.life.gate.Stood() != stood {
		return
	}
	if t.Context().Err() == nil || took < c.run.RoundTrip/4 && c.elector.IsLeader() {
		c.find(resignAtOnce, "term %d was resigned, its context is %v, and it leads: %v", t.Token(), t.Context().Err(), c.elector.IsLeader())
	}
	if c.callsWork() && (err != nil || took > time.Millisecond) {
		c.find(resignAtOnce, "Resign of term %d took %v and returned %v", t.Token(), took, err)
	}
	r.expectSuccessor(ctx, i, a, c.life.process, []*candidate{c}, at)
}

// callsWork reports whether the elector knows when the candidate's work ends.
func (c *candidate) callsWork() bool { return c.behavior.Call <= Terms }

// transferAway hands over to a name that nobody else has: that must end nothing.
func transferAway(ctx context.Context, c *candidate, choice int) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Lease)
	defer cancel()
	to := [...]string{"nobody", c.elector.ID(), "host", "/"}[choice%4]
	err := c.elector.Transfer(ctx, to)
	if err == nil {
		c.find(transferErrors, "the lease was handed over to %q, a name that nobody else has", to)
	}
	c.transferAsSaid(ctx, err)
}

func (c *candidate) transferAsSaid(ctx context.Context, err error) {
	var fatal *elector.FatalError
	known := err == nil || errors.As(err, &fatal) || documented(err, elector.ErrNotLeading, elector.ErrNoCandidate, elector.ErrNotReleased, elector.ErrNotTaken, event.ErrDrainCapped, elector.ErrInsideWork)
	if !known && ctx.Err() == nil && !storeError(err) {
		c.find(transferErrors, "Transfer returned %v", err)
	}
}

// storeError reports whether an error is the store's.
func storeError(err error) bool {
	var wrapped interface{ Unwrap() error }
	return errors.As(err, &wrapped)
}

// callTwice tells a candidate that competes to compete. It is refused, unless what it does
// is about to end: that is waited for.
func callTwice(ctx context.Context, c *candidate) bool {
	if c == nil {
		return false
	}
	c.life.gate.Wait()
	if !c.competes() {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	calls, due := c.calls(), c.due()
	if err := c.elector.Run(limited); !errors.Is(err, elector.ErrActive) && c.patient(due) {
		go c.expectEnd(ctx, calls, due, err)
	}
	return true
}

// expectEnd expects a call to end beside which another one was not refused.
func (c *candidate) expectEnd(ctx context.Context, calls int, due due, err error) {
	sleep(ctx, c.wrapUp())
	if c.calls() == calls && c.patient(due) && !c.run.ending() {
		c.find(twiceRefused, "a second call of Run returned %v, and the first one goes on", err)
	}
}

// calls is how often the candidate was told to compete.
func (c *candidate) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.called
}

func (c *candidate) competes() bool {
	state := c.elector.State()
	return state == event.StateLeader || state == event.StateFollower
}

// The choices of a question that asks for all candidates, and for past terms.
const (
	whoCompetes = 1
	whatWas     = 3
)

// ask asks what can be asked.
func ask(ctx context.Context, i int, a Act, c *candidate) bool {
	if c == nil {
		return false
	}
	c.life.gate.Wait() // who stands still asks nothing
	c.expectHealth()
	stood, began, asked := c.life.gate.Stood(), time.Now(), c.run.recorder.Now()
	if a.Choice%4 == 0 {
		return askLeader(ctx, i, a, c)
	}
	limit := a.By
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	switch a.Choice % 4 {
	case whoCompetes:
		var all []store.Candidate
		if all, err = c.elector.Candidates(ctx); err == nil && c.run.undisturbed() {
			c.listed(all)
		}
	case 2:
		_, err = c.elector.Preflight(ctx)
	default:
		var past []store.PastTerm
		past, err = c.elector.History(ctx, remembers)
		if err == nil {
			c.remembered(past, asked)
		}
	}
	if took := time.Since(began); took > limit+10*time.Millisecond && c.life.gate.Stood() == stood {
		c.find(questionsEnd, "a question took %v, its context %v", took, limit)
	}
	return err == nil
}

// askLeader asks who leads: some times in vain, giving each question up before it can
// be answered, and then once more.
func askLeader(ctx context.Context, i int, a Act, c *candidate) bool {
	r, stood, limit := c.run, c.life.gate.Stood(), 2*c.config.RequestTimeout+time.Millisecond
	a.At = r.recorder.Now()
	for range a.Choice / 4 {
		vain, cancel := context.WithCancel(ctx)
		time.AfterFunc(r.RoundTrip/2, cancel)
		_, _ = c.elector.Leader(vain)
		cancel()
		sleep(ctx, r.RoundTrip)
	}
	sleep(ctx, limit)
	began := time.Now()
	quiet := !r.ending() && r.quietAround(i, a, c.life.process.world(), r.Lease/2, r.recorder.Now()-a.At+limit)
	leader, err := c.elector.Leader(ctx)
	if c.life.gate.Stood() != stood || c.life.gone() {
		return false
	}
	if took := time.Since(began); took > limit {
		c.find(questionsEnd, "Leader took %v", took)
	}
	if err != nil && quiet {
		c.find(answersWho, "Leader returned %v, after %d questions that were given up", err, a.Choice/4)
	}
	return err == nil && leader.ID != ""
}

// watch observes an election.
func watch(ctx context.Context, a Act, c *candidate) bool {
	if c == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, a.For)
	defer cancel()
	o := elector.ObserveOptions{Poll: c.config.Lease, Retry: c.config.Retry, RequestTimeout: c.config.RequestTimeout, Clock: c.life.clock}
	began, stood := time.Now(), c.life.gate.Stood()
	seen, anew := 0, true
	var last elector.Leader
	for leader, err := range elector.Observe(ctx, recorded{c.life.store, c.life, true}, c.config.Election, o) {
		if err != nil {
			anew = true
			continue
		}
		if !anew && leader.ID == last.ID && leader.Token == last.Token && leader.Value == last.Value {
			c.find(observes, "%s with token %d was yielded twice", leader.ID, leader.Token)
		}
		seen++
		last, anew = leader, false
	}
	if took := time.Since(began); took > a.For+2*c.config.RequestTimeout && c.life.gate.Stood() == stood {
		c.find(observes, "Observe ended %v after its context was done", took-a.For)
	}
	return seen > 0
}
