package virtual

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
)

// A paused process does nothing, whatever is done to it: not when it is asked to
// resign, and not when its clock comes to run at another rate. Both reach it
// when it goes on.
func TestPausedDoNothing(t *testing.T) {
	r := launch(t, quick(2), Subject{})
	r.to(1500 * ms)
	r.must(r.Stop(t.Context(), "n1"))
	before := len(r.events)
	r.must(r.SetClockRate(t.Context(), "n1", 2))
	(*order)(r.nodes[0]).act(r.nodes[0].life)
	r.to(6 * time.Second)
	for _, e := range r.events[before:] {
		if e.Node == "n1" && e.Kind != history.Extended {
			t.Errorf("the paused process did this: %+v", e)
		}
	}
	if until := r.events[before].Until; until == nil || *until > 3*time.Second {
		t.Errorf("its belief ends at %v, though its clock runs twice as fast", until)
	}
	r.must("", r.Continue(t.Context(), "n1"))
	r.to(7 * time.Second)
	if r.did("n1", history.Deposed, "") != 1 || r.did("n1", history.Exit, "") != 1 {
		t.Errorf("it did not resign when it went on: %+v", r.events[before:])
	}
}

// A belief that has ended by its own clock is not reported again when the clock
// comes to run at another rate, while the process still stands still.
func TestNoBeliefBeyondItsEnd(t *testing.T) {
	for name, subject := range map[string]Subject{"machine": {}, "blocking": {Blocking: bareElector}} {
		r := launch(t, quick(1), subject)
		r.to(1500 * ms)
		r.must(r.Stop(t.Context(), "n1"))
		r.to(9 * time.Second)
		before := len(r.events)
		r.must(r.SetClockRate(t.Context(), "n1", 0.5))
		if added := r.events[before:]; len(added) != 0 {
			t.Errorf("%s: %+v", name, added)
		}
	}
}

// quitter is a machine that ends of its own accord.
type quitter struct{ machine.Machine }

func (q *quitter) Step(now time.Duration, in machine.Input) machine.Output {
	if now > time.Second && in.Kind == machine.Wake {
		in.Kind = machine.Stop
	}
	return q.Machine.Step(now, in)
}

// A candidate that ends without having been asked to ends by itself.
func TestExitByItself(t *testing.T) {
	quit := Subject{Decide: func(c machine.Config) Decider { return &quitter{*machine.New(c)} }}
	for _, test := range []struct {
		subject Subject
		want    history.Why
	}{{Subject{}, history.Dismissed}, {quit, history.ByItself}} {
		r := launch(t, quick(1), test.subject)
		r.to(900 * ms)
		if test.want == history.Dismissed {
			r.nodes[0].process.stop()
		}
		r.to(5 * time.Second)
		i := slices.IndexFunc(r.events, func(e history.Event) bool { return e.Kind == history.Exit })
		if i < 0 || r.events[i].Why != test.want {
			t.Errorf("want %s: %+v", test.want, r.events)
		}
	}
}

// idler is a machine that never does anything.
type idler struct{ seen []machine.Input }

func (m *idler) Step(_ time.Duration, in machine.Input) machine.Output {
	m.seen = append(m.seen, in)
	return machine.Output{Wake: machine.Never}
}

// The work of a term begins when that of the last one has ended, also of an
// elector that does not wait for it.
func TestWorkOfTwoTermsNeverOverlaps(t *testing.T) {
	m := &idler{}
	r := launch(t, quick(1), Subject{Decide: func(machine.Config) Decider { return m }})
	e := r.nodes[0].process.(*shell)
	e.apply(&machine.Transition{Kind: machine.Elected, Token: 1, Until: 5 * time.Second})
	r.to(time.Microsecond) // a write is on its way
	e.apply(&machine.Transition{Kind: machine.Deposed, Token: 1, Why: machine.Expired})
	e.apply(&machine.Transition{Kind: machine.Elected, Token: 2, Until: 5 * time.Second})
	r.to(10 * ms)
	var did []string
	for _, e := range r.events {
		if e.Call == history.Write {
			did = append(did, string(e.Kind)+" "+e.Value)
		}
	}
	if want := []string{"invoke n1/1/1", "ok n1/1/1", "invoke n1/2/1", "ok n1/2/1"}; !slices.Equal(did, want) {
		t.Errorf("writes %q, want %q", did, want)
	}
	e.apply(&machine.Transition{Kind: machine.RoleChanged, Role: machine.Draining})
	want := []machine.Input{{Kind: machine.Start}, {Kind: machine.WorkEnded, Token: 1}, {Kind: machine.WorkEnded, Token: 2}}
	if !slices.Equal(m.seen, want) {
		t.Errorf("the machine got %+v, want %+v", m.seen, want)
	}
}

// However often a machine changes its mind about when it wants to be woken, it
// has one wake-up ahead of it.
func TestWakesDoNotPileUp(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(time.Second)
	e := r.nodes[0].process.(*shell)
	for i := range 1000 {
		e.node.clock.setRate(r.now, 1+float64(i%2))
		e.reclocked()
		r.to(r.now + ms)
	}
	r.to(r.now + 5*time.Second)
	if n := len(r.heap); n > 10 {
		t.Errorf("%d events are planned for one candidate", n)
	}
}

// A write that is held on its way outlives its process, and is no write of the
// next one.
func TestHeldWriteOutlivesItsProcess(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(1500 * ms)
	r.nodes[0].hold = &hold{}
	r.to(2500 * ms)
	held := r.nodes[0].hold.write
	if held == nil {
		t.Fatal("no write is held")
	}
	op := held.op.Op
	r.must(r.Kill(t.Context(), "n1"))
	r.must("", r.Launch(t.Context(), "n1"))
	r.to(8 * time.Second)
	_, _ = r.ContinueWrite(t.Context(), "n1")
	r.to(9 * time.Second)
	r.number()
	wellFormed(t, r.events)
	over := map[int64]int{}
	for _, e := range r.events {
		if e.Call == history.Write && e.Kind != history.Invoke {
			over[e.Op]++
		}
	}
	for op, n := range over {
		if n != 1 {
			t.Errorf("write %d was decided %d times", op, n)
		}
	}
	if over[op] != 1 || r.did("n1", history.Fail, history.Write) != 1 {
		t.Errorf("the held write %d was not refused: %+v", op, r.events)
	}
}

// A candidate whose resignation outlasts the patience with it is started again
// all the same, when it has ended: else it would be gone for ever.
func TestLaunchAwaitsTheEnd(t *testing.T) {
	plan := quick(1)
	plan.Quiet = 10 * time.Second
	plan.Schedule = faults.Schedule{
		{For: 10 * time.Second, Fault: faults.Pause{}, Target: faults.Node("n1")},
		{At: time.Millisecond, For: 3 * time.Second, Fault: faults.Resign{}, Target: faults.Node("n1")},
	}
	h, err := (&World{}).Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	starts := 0
	for _, e := range h.Events {
		if e.Kind == history.Start {
			starts++
		}
	}
	if starts != 2 {
		t.Errorf("it was started %d times, and has to be there again in the end", starts)
	}
}

// A renewal that has no answer is given up after the plan's request time-out, or after the
// elector's default, and repeated after a retry.
func TestRequestsAreGivenUpAfterTheTimeout(t *testing.T) {
	for _, test := range []struct{ timeout, want time.Duration }{{100 * ms, 100 * ms}, {0, 500 * ms}, {800 * ms, 800 * ms}} {
		plan := quick(1)
		plan.Timings.RequestTimeout = test.timeout
		r := launch(t, plan, Subject{})
		r.to(1500 * ms)
		before := len(r.events)
		r.must(r.StopStore(t.Context(), whole))
		r.to(4 * time.Second)
		var sent []time.Duration
		for _, e := range r.events[before:] {
			if e.Kind == history.Invoke && e.Call == history.Renew {
				sent = append(sent, e.At)
			}
		}
		retry := plan.Timings.Retry
		if len(sent) < 2 || sent[1]-sent[0] < test.want+retry/2 || sent[1]-sent[0] > test.want+retry*3/2 {
			t.Errorf("time-out %v: renewals are sent at %v, want the second one about %v after the first", test.timeout, sent, test.want+retry)
		}
	}
}
