package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health/instrument"
)

// defaultLease stands in for the lease until the first request has named it.
const defaultLease = 15 * time.Second

// probe watches one elector.
type probe struct {
	election string
	clock    elector.Clock
	lease    time.Duration // as configured; 0 is the elector's default
	elector  *elector.Elector
	pulse    instrument.Pulse

	mu       sync.Mutex
	leader   elector.Leader // by the latest answer of the store; Remaining is not kept up
	own      uint64         // the token of the lease that was granted, passed on or renewed last
	asked    time.Duration  // when what it answered was asked
	held     time.Duration  // by the last confirmation, the lease is ours until then at most
	fatal    error          // stopped by it
	hasState bool           // an event has named a state
	state    elector.State  // the last one that an event named
	hangs    bool           // in it, something of the last term that is over
	since    time.Duration  // of state
	suspect  suspicion
}

// suspicion is that the elector's goroutine is stuck.
type suspicion struct {
	raised bool
	at     time.Duration // of the first look that raised it
	held   time.Duration // the lease's end that was passed
}

func newProbe(cfg elector.Config) *probe {
	return &probe{election: cfg.Election, clock: instrument.Clock(cfg), lease: cfg.Lease}
}

// begin observes one operation of the store.
func (p *probe) begin(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
	if c.Election != p.election {
		// The store serves others as well.
		return ctx, func(instrument.Answer) {}
	}
	sent := p.clock.Now()
	p.pulse.Asked(c, sent)
	return ctx, func(a instrument.Answer) {
		p.pulse.Answered(a.Outcome, p.clock.Now())
		p.answered(c, a, sent)
	}
}

func (p *probe) answered(c instrument.Call, a instrument.Answer, sent time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asks := c.Operation == instrument.Acquire || c.Operation == instrument.Renew
	if asks && a.Outcome == instrument.Fatal {
		p.fatal = a.Err
	}
	if asks && a.Outcome == instrument.Done {
		p.held = max(p.held, sent+c.TTL)
	}
	p.see(c, a, sent)
}

// see takes in what an answer tells of who leads. Answers may overtake each
// other: the one that was asked for last counts.
func (p *probe) see(c instrument.Call, a instrument.Answer, sent time.Duration) {
	switch {
	case sent < p.asked:
		return
	case c.Operation == instrument.Release, a.Outcome == instrument.NotHeld:
		if !a.Outcome.Definite() || p.leader.Token != c.Token {
			return
		}
		p.leader = elector.Leader{}
	case a.Outcome == instrument.Done, a.Outcome == instrument.Held:
		p.leader = a.Leader
		if a.Outcome == instrument.Done && c.Operation != instrument.Leader {
			p.own = a.Leader.Token
		}
	default:
		return
	}
	p.asked = sent
}

// event observes one event of the elector.
func (p *probe) event(ev elector.Event) {
	p.pulse.Event(ev)
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(ev.Err, event.ErrCallbackHangs) {
		p.hangs = true
	}
	if ev.Kind == event.Elected {
		p.own = max(p.own, ev.Token) // what was passed on no answer has told
	}
	if ev.Kind != event.StateChanged {
		return
	}
	p.hasState, p.state, p.since, p.hangs = true, ev.State, ev.At, false
	switch {
	case ev.State != event.StateStopped:
		p.fatal = nil // it runs again
	case ev.Err != nil:
		p.fatal = ev.Err
	}
}

// patience is for how long a suspicion must last. A process that was suspended
// may be asked before the elector's goroutine has had its turn, and one that is
// starved must not be killed for it.
func (p *probe) patience() time.Duration {
	return cmp.Or(p.pulse.Lease(), p.lease, defaultLease)
}

// live says what is wrong if only a restart helps.
func (p *probe) live() error {
	state, leads, now := p.elector.State(), p.elector.IsLeader(), p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case state == event.StateStopped && p.fatal != nil:
		return fmt.Errorf("health: election %q: the elector was stopped by an error that no repetition will change: %w", p.election, p.fatal)
	case p.stuck(state, leads, now):
		return fmt.Errorf("health: election %q: the elector's goroutine is stuck: its lease ended %v ago and it has not stepped down; restart the process", p.election, (now - p.held).Round(time.Millisecond))
	default:
		return nil
	}
}

// stuck reports whether the elector's goroutine has not ended a term for long
// after its lease did. One that runs ends it at the deadline, which comes
// earlier, also while it drains.
func (p *probe) stuck(state elector.State, leads bool, now time.Duration) bool {
	overdue := (state == event.StateLeader || state == event.StateDraining) && !leads && now > p.held
	switch s := &p.suspect; {
	case !overdue:
		*s = suspicion{}
	case !s.raised || s.held != p.held:
		*s = suspicion{raised: true, at: now, held: p.held}
	default:
		return now-s.at >= p.patience()
	}
	return false
}

// look says how the elector is.
func (p *probe) look() Election {
	state, leads, now := p.elector.State(), p.elector.IsLeader(), p.clock.Now()
	e := Election{Election: p.election, InstanceID: p.elector.ID(), IsLeader: leads, State: state}
	if last, ok := p.pulse.Last(); ok {
		ago := max(0, now-last)
		e.LastAnswer, e.LastAnswerSeconds = time.Now().Add(-ago), ago.Seconds()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Leader, e.LeaderToken = p.leader.ID, p.leader.Token
	if leads {
		e.Token = p.own
	}
	if p.hasState && p.state == state {
		e.Since = time.Now().Add(p.since - now)
	}
	e.Status, e.Description = p.judge(state, leads, now)
	return e
}

// judge makes the status of what is known. A leader is healthy: its
// deadline ends the term before a silent store can become a matter of doubt.
func (p *probe) judge(state elector.State, leads bool, now time.Duration) (Status, string) {
	switch {
	case leads:
		return Healthy, "this candidate leads"
	case state == event.StateStopped && p.fatal != nil:
		return Unhealthy, "stopped by an error that no repetition will change: " + p.fatal.Error()
	case state == event.StateStopped:
		return Unhealthy, "this candidate does not compete: the elector has not been started, or has been stopped"
	case p.stuck(state, leads, now):
		return Unhealthy, "the elector's goroutine is stuck: restart the process"
	case p.hangs:
		return Unhealthy, "this candidate does not compete: the work of its last term, or OnStopped, hangs"
	case p.pulse.Unreachable(now):
		return Unhealthy, fmt.Sprintf("the store has not answered for %v: who leads cannot be told", p.pulse.Silent(now).Round(time.Millisecond))
	case state == event.StateDraining:
		return Degraded, "this candidate gives up its term: its work is ending"
	case p.leader.ID == "":
		return Degraded, "this candidate follows; no leader has been seen"
	default:
		return Degraded, fmt.Sprintf("this candidate follows; %s was last seen to lead", p.leader.ID)
	}
}
