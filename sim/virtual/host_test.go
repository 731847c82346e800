package virtual

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// A process that is killed does not clean up, whatever it has deferred.
func TestKilledDoesNotCleanUp(t *testing.T) {
	tidy := func(h sim.Host) error {
		if _, err := h.Store().Acquire(store.Attempt{ID: "n1/1", Nonce: "a", Request: 1, TTL: time.Minute}, time.Second); err != nil {
			return err
		}
		h.Elected(1, time.Minute)
		stop := h.Work(1)
		defer func() {
			defer func() {
				defer func() {
					_, _ = h.Do(time.Second, "DEL", h.LeaseKey())
				}()
				_ = h.Recorded(h.Store()).Release(store.Lease{ID: "n1/1", Nonce: "a", Token: 1, Request: 2}, time.Second)
			}()
			defer h.Deposed(1, history.Stopped)
			stop()
		}()
		h.Sleep(time.Hour)
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: tidy})
	r.to(time.Second)
	before := len(r.events)
	r.must(r.Kill(t.Context(), "n1"))
	r.to(2 * time.Second)
	for _, e := range r.events[before:] {
		if e.Kind != history.Exit {
			t.Errorf("the killed process did this: %+v", e)
		}
	}
	if left := r.store.model.Do(r.store.now(), "PTTL", r.store.keys.lease).Int; left < 50_000 {
		t.Errorf("the lease lasts another %d ms", left)
	}
}

// What waits for a signal and gives up is forgotten: a candidate may sleep a
// million times before it is stopped.
func TestSleepersAreForgotten(t *testing.T) {
	sleeper := func(h sim.Host) error {
		for !h.Stopping() {
			h.Sleep(ms)
		}
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: sleeper})
	r.to(time.Second)
	if n := len(r.nodes[0].process.(*host).stopped.waiting); n > 1 {
		t.Errorf("%d wait for the end of one process", n)
	}
}

// Two terms' work of one careless elector: every write is invoked and decided.
func TestWritesOfTwoTerms(t *testing.T) {
	careless := func(h sim.Host) error {
		h.Work(1)
		h.Work(2)
		h.Sleep(time.Hour)
		return nil
	}
	plan := quick(1)
	plan.Writes = 20 * time.Microsecond // so often that they meet
	r := launch(t, plan, Subject{Blocking: careless})
	r.to(50 * ms)
	r.number()
	wellFormed(t, r.events)
	open := map[int64]string{}
	for _, e := range r.events {
		switch {
		case e.Kind == history.Invoke:
			open[e.Op] = e.Value
		case e.Call == history.Write && open[e.Op] != e.Value:
			t.Fatalf("write %d of %q was decided as %q", e.Op, open[e.Op], e.Value)
		case e.Call == history.Write:
			delete(open, e.Op)
		}
	}
	if len(open) > 2 {
		t.Errorf("%d writes were never decided", len(open))
	}
	if !slices.ContainsFunc(r.events, func(e history.Event) bool { return e.Token == 1 }) {
		t.Error("one of the two never wrote")
	}
}

// A late write without a token takes effect, even if others have written
// meanwhile; if nobody has, there was no such write.
func TestLateWriteWithoutToken(t *testing.T) {
	for _, overtaken := range []bool{true, false} {
		works := func(h sim.Host) error {
			h.Elected(0, sim.Forever)
			if h.Settings().Node == "n1" {
				h.Work(0)
			}
			h.Sleep(time.Second)
			if h.Settings().Node == "n2" && overtaken {
				h.Work(0)
			}
			h.Sleep(time.Hour)
			return nil
		}
		plan := quick(2)
		plan.Writes = 20 * ms
		r := launch(t, plan, Subject{Blocking: works})
		r.to(500 * ms)
		r.nodes[0].hold = &hold{}
		r.to(600 * ms)
		r.must(r.Stop(t.Context(), "n1"))
		r.to(2 * time.Second)
		evidence, err := r.ContinueWrite(t.Context(), "n1")
		if overtaken != (err == nil) || overtaken != strings.Contains(evidence, "accepted after one of n2") {
			t.Errorf("overtaken %v: %q, %v", overtaken, evidence, err)
		}
	}
}

// The wall clock is that of the server but for what faults do to it, and goes on
// while the machine is suspended.
func TestWall(t *testing.T) {
	var walls []time.Duration
	looks := func(h sim.Host) error {
		h.Monotonic()
		for range 4 {
			walls = append(walls, h.Wall()-storeEpoch)
			h.Sleep(time.Second)
		}
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: looks})
	r.to(500 * ms)
	r.must(r.JumpClock(t.Context(), "n1", time.Hour))
	r.to(1500 * ms)
	r.must(r.Suspend(t.Context(), "n1"))
	r.to(4500 * ms)
	r.must(r.Awaken(t.Context(), "n1"))
	r.to(20 * time.Second)
	want := []time.Duration{0, time.Hour + time.Second, time.Hour + 5*time.Second, time.Hour + 6*time.Second}
	for i, w := range walls {
		if i >= len(want) || (w-want[i]).Abs() > 10*ms {
			t.Errorf("the wall clock shows %v, want about %v", walls, want)
			break
		}
	}
	if len(walls) != len(want) {
		t.Errorf("it looked %d times", len(walls))
	}
}
