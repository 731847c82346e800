package calls

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/history"
)

// candidate is a process's candidate in an election: an elector, who calls it, and
// what its calls and callbacks have shown.
type candidate struct {
	life     *life
	run      *run
	index    int    // of the election
	name     string // of the election, in the history
	behavior Behavior
	elector  *elector.Elector
	monitor  *health.Monitor // of the elector; nil: nothing watches it
	config   elector.Config  // with the defaults that matter here

	mu     sync.Mutex
	term   *elector.Term   // the last one
	since  time.Duration   // when that began
	past   []*elector.Term // those before
	called int             // how often it was told to compete
	inside chan func()     // what the work is to call
	ledger ledger

	renewals renewals
	hearing  hearing
}

func newCandidate(l *life, e int) *candidate {
	p := l.process
	c := &candidate{life: l, run: p.run, index: e, name: p.named(p.run.election(e)), behavior: p.behavior(), inside: make(chan func())}
	lease := l.lease
	m := c.behavior
	c.config = elector.Config{
		Election: p.run.election(e), ID: p.name, Lease: lease,
		Drift: m.Drift, Priority: m.Priority, Once: m.Call == Once,
		Clock: l.clock, Logger: slog.New(warnings{c}), OnEvent: c.onEvent, OnLeader: c.onLeader,
	}
	if !p.run.Unagreed {
		c.config.LongestLease = p.run.longest()
	}
	m.Timing.configure(&c.config)
	l.release.configure(&c.config)
	if m.Begins {
		c.config.Value = fmt.Sprintf("%s begins %s at %v", p.name, c.name, l.began.Sub(p.run.began))
	}
	if m.Failback {
		c.config.Failback = 2 * lease
	}
	if m.Logs != AtOnce || c.byLog() {
		c.config.Logger = slog.New(journal{c})
	}
	if m.Call == Run || m.Call == Once {
		c.config.OnStarted, c.config.OnStopped = c.onStarted, c.onStopped
	}
	var err error
	if c.elector, err = c.newElector(recorded{Store: l.store, life: l}); err != nil {
		panic("calls: " + err.Error()) // the settings are derived from a valid lease
	}
	c.run.board.began(c.name, c.elector.ID(), c.config.Value)
	return c
}

// current is the last term, and whether there was one.
func (c *candidate) current() *elector.Term {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term
}

// leads reports whether the candidate is in a term that it does not give up.
func (c *candidate) leads() bool {
	t := c.current()
	return t != nil && t.Context().Err() == nil && t.Check(0) == nil
}

// onEvent takes in what the candidate believes.
func (c *candidate) onEvent(ev elector.Event) {
	defer c.notified()()
	c.heard(ev)
	if !c.byLog() {
		c.tell(ev)
	}
	if ev.Kind == event.Elected || ev.Kind == event.Trouble {
		c.take("tells", c.behavior.Tells)
	}
}

func (c *candidate) onLeader(l elector.Leader) {
	defer c.notified()()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.leader = l
}

// tell records what the candidate believes.
func (c *candidate) tell(ev elector.Event) {
	l := c.life
	l.gate.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	entry := history.Event{At: l.clock.Real(ev.At), Node: l.process.name, Election: c.name, Token: ev.Token}
	switch ev.Kind {
	case event.Elected, event.Extended:
		entry.Kind, entry.Until = history.Elected, history.At(l.clock.Real(ev.Until))
		if ev.Kind == event.Extended {
			entry.Kind = history.Extended
		}
	case event.Deposed:
		entry.Kind, entry.Why = history.Deposed, history.Why(ev.Reason)
	default:
		return
	}
	c.run.recorder.Record(entry)
}

// onStarted and onStopped are the callbacks of Run.
func (c *candidate) onStarted(ctx context.Context, t *elector.Term) {
	c.life.gate.Wait()
	defer c.expectOver(t)
	defer c.working(t)()
	c.work(ctx, t)
}

func (c *candidate) onStopped(t *elector.Term, _ elector.Reason) {
	c.life.gate.Wait()
	defer c.stopping(t)()
	c.take("stops", c.behavior.Stops)
}

// lateness is how many leases something that is late takes.
const lateness = 3

// take takes as long as the ending wants; an ending that hangs does until the end of
// the run.
func (c *candidate) take(what string, m Ending) {
	if m == AtOnce {
		return
	}
	c.run.bite(what + ":" + m.String())
	d := time.Duration(0)
	switch m {
	case Slowly:
		d = c.config.Lease / 2
	case Late:
		d = lateness * c.config.Lease
	case Panics:
		if what == "works" {
			c.panics(true)
		}
		panic("calls: a callback panics")
	case Never:
		<-c.run.over
	}
	select {
	case <-time.After(d):
	case <-c.run.over:
	}
}
