package electortest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/electortest"
	"github.com/recount-io/recount/elector/event"
)

// Outside of bubbles, too, nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In real time a candidate leads and stops likewise, and the callbacks of the Config are
// called.
func TestInRealTime(t *testing.T) {
	cfg, store := billing, electortest.NewStore()
	why := make(chan elector.Reason, 1)
	cfg.OnStopped = func(_ *elector.Term, reason elector.Reason) { why <- reason }
	c := electortest.Lead(t, store, cfg)
	if l := store.AwaitLeader(t, "billing", 0); l.ID != c.ID() || !c.IsLeader() {
		t.Errorf("%q leads, and the candidate %q says %v", l.ID, c.ID(), c.IsLeader())
	}
	if err := c.Stop(); err != nil || c.State() != event.StateStopped {
		t.Errorf("stopped: error %v, state %q", err, c.State())
	}
	if got := <-why; got != event.ReasonStopped {
		t.Errorf("the term's end was %q, want %q", got, event.ReasonStopped)
	}
}

// A test that waits for a term of an elector that has ended is told why it did.
func TestTermOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		r := &recorder{TB: t}
		c := electortest.Lead(r, store, billing)
		term := c.Term()
		store.Fail(&elector.FatalError{Err: errors.New("wrong password"), Fix: "give the right one"})
		<-term.Context().Done()
		r.ends(func() { c.Term() })
		r.has(t, "competes no more: elector: wrong password; give the right one")
		if err := c.Stop(); err == nil {
			t.Error("Stop does not return the fatal error")
		}
	})
}

// A test that waits for a term that somebody else has is ended.
func TestTermOfSomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		electortest.Lead(t, store, billing)
		r := &recorder{TB: t}
		r.ends(func() { electortest.Lead(r, store, billing) })
		r.has(t, "has not led for 2m0s")
	})
}

// Work that does not end with its context fails the test.
func TestStopOfWorkThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, free := billing, make(chan struct{})
		cfg.OnStarted = func(context.Context, *elector.Term) { <-free }
		r := &recorder{TB: t}
		if err := electortest.Lead(r, electortest.NewStore(), cfg).Stop(); err != nil {
			t.Error(err)
		}
		r.has(t, "the work must end when its context is done")
		close(free)
	})
}

// Work that panics fails the test at its end, and a Config that New refuses does at once.
func TestFailuresOfTheService(t *testing.T) {
	panics, refused := &recorder{TB: t}, &recorder{TB: t}
	t.Run("work", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			panics.TB = t
			cfg := billing
			cfg.OnStarted = func(context.Context, *elector.Term) { panic("no such table") }
			electortest.Start(panics, electortest.NewStore(), cfg)
			time.Sleep(time.Second)
		})
	})
	panics.has(t, "OnStarted panicked: no such table")
	refused.ends(func() { electortest.Lead(refused, electortest.NewStore(), elector.Config{}) })
	refused.has(t, "Config.Election: the name is empty")
}

// While its machine is suspended a leader renews nothing, and another one takes over. The
// former leader's context is not done then. A caller that asks has to wait, and learns that
// the term is over.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, clock, cfg := electortest.NewStore(), electortest.NewClock(), billing
		cfg.Clock = clock
		a := electortest.Lead(t, store, cfg)
		b := electortest.Start(t, store, billing)
		term, began := a.Term(), time.Now()
		synctest.Wait()
		clock.Suspend(time.Minute)
		b.Term()
		if passed := time.Since(began); passed < 15*time.Second || passed > 30*time.Second {
			t.Errorf("the other candidate leads after %v, want a lease or little more", passed)
		}
		select {
		case <-term.Context().Done():
			t.Error("the context of a term is done while its machine is suspended")
		default:
		}
		if a.IsLeader() || term.Check(0) == nil || time.Since(began) != time.Minute {
			t.Errorf("after %v it leads: %v, and its check says %v; want an answer after a minute, that the term is over", time.Since(began), a.IsLeader(), term.Check(0))
		}
		<-term.Context().Done()
	})
}

// A timer is late by all suspensions between its start and its end, and is stopped in
// them as otherwise.
func TestTimersOfTheClock(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name  string
		after time.Duration   // of the timer
		naps  []time.Duration // moments, each with how long a suspension follows
		want  time.Duration
	}{
		{"none", 10 * s, nil, 10 * s},
		{"one", 10 * s, []time.Duration{3 * s, 5 * s}, 15 * s},
		{"a long one", 10 * s, []time.Duration{3 * s, 60 * s}, 70 * s},
		{"one after the end", 10 * s, []time.Duration{11 * s, 5 * s}, 10 * s},
		{"two", 10 * s, []time.Duration{3 * s, 5 * s, 9 * s, 7 * s}, 22 * s},
		{"one is made longer", 10 * s, []time.Duration{3 * s, 5 * s, 4 * s, 2 * s}, 17 * s},
		{"one after which it would have fired", 10 * s, []time.Duration{3 * s, 5 * s, 14 * s, 5 * s}, 20 * s},
		{"it is due", -s, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, fired := electortest.NewClock(), make(chan time.Duration, 1)
				began := clock.Now()
				clock.AfterFunc(test.after, func() { fired <- clock.Now() - began })
				stopped := clock.AfterFunc(100*s, func() { t.Error("a stopped timer fired") })
				for i := 0; i < len(test.naps); i += 2 {
					time.AfterFunc(test.naps[i], func() { clock.Suspend(test.naps[i+1]) })
				}
				if got := <-fired; got != test.want {
					t.Errorf("the timer fired after %v, want %v", got, test.want)
				}
				if !stopped.Stop() || stopped.Stop() {
					t.Error("Stop reports true for a pending timer only")
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// A timer that is set during a suspension waits for its end.
func TestTimerSetWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, fired := electortest.NewClock(), make(chan time.Duration, 1)
		began := clock.Now()
		clock.Suspend(time.Minute)
		time.Sleep(20 * time.Second)
		clock.AfterFunc(time.Second, func() { fired <- clock.Now() - began })
		if got := <-fired; got != 61*time.Second {
			t.Errorf("the timer fired after %v, want 1m1s", got)
		}
	})
}
