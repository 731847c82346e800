package elector_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// Run competes for ever, or ends after one term with Once.
func TestRunForEverAndOnce(t *testing.T) {
	for _, once := range []bool{false, true} {
		inBubble(t, func(b *bench) {
			terms := 0
			e := b.elector("a", func(cfg *elector.Config) {
				cfg.Once = once
				cfg.OnStarted = func(context.Context, *elector.Term) { terms++ } // and ends at once
			})
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
			if once && (terms != 1 || ctx.Err() != nil) || !once && terms < 10 {
				t.Errorf("once %t: %d terms", once, terms)
			}
			b.leads(0)
		})
	}
}

// Shutting down a follower never starts its work, nor does running one whose
// context is done.
func TestFollowerShutdownStartsNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		leader := b.campaign(b.elector("a"))
		started := func(context.Context, *elector.Term) { t.Error("a follower's work was started") }
		e := b.elector("b", func(cfg *elector.Config) {
			cfg.OnStarted = started
			cfg.OnStopped = func(*elector.Term, elector.Reason) { t.Error("stopped without started") }
		})
		stop := b.run(e)
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		b.resign(leader)
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
		for range e.Terms(ctx) {
			t.Error("a term although the context was done")
		}
	})
}

// An aborted campaign returns the context's error and never nil and nil,
// whenever it is aborted; and a lease that it was granted meanwhile is free
// again.
func TestAbortedCampaign(t *testing.T) {
	for _, after := range []time.Duration{0, 1, 100 * time.Microsecond, time.Millisecond, 10*time.Millisecond + 1, 4 * time.Second} {
		inBubble(t, func(b *bench) {
			b.store.acquire = func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
			e := b.elector("a")
			ctx, cancel := context.WithTimeoutCause(b.Context(), after, errLost)
			defer cancel()
			term, err := e.Campaign(ctx)
			switch {
			case (term == nil) == (err == nil):
				t.Errorf("aborted after %v: term %v and error %v", after, term, err)
			case err != nil && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("aborted after %v: %v", after, err)
			case term != nil:
				b.resign(term)
			}
			b.leads(0)
		})
	}
	inBubble(t, func(b *bench) { // a follower's
		leader := b.campaign(b.elector("a"))
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		if term, err := b.elector("b").Campaign(ctx); term != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("term %v, error %v", term, err)
		}
		b.resign(leader)
	})
}

// Fatal errors are returned at once by all three, not looped on.
func TestFatalErrorIsReturnedAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		fatal := &elector.FatalError{Err: errors.New("WRONGPASS"), Fix: "set the right password"}
		b.store.acquire = func(context.Context) error { return fatal }
		var text bytes.Buffer
		e := b.elector("a", func(cfg *elector.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&text, nil)) })
		if err := e.Run(b.Context()); !errors.Is(err, fatal) {
			t.Errorf("Run: %v", err)
		}
		if said := text.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "set the right password") {
			t.Errorf("the log says %q", said)
		}
		if term, err := e.Campaign(b.Context()); term != nil || !errors.Is(err, fatal) {
			t.Errorf("Campaign: %v, %v", term, err)
		}
		rounds := 0
		for term, err := range e.Terms(b.Context()) {
			rounds++
			if term != nil || !errors.Is(err, fatal) {
				t.Errorf("Terms: %v, %v", term, err)
			}
		}
		if n := b.store.acquires.Load(); rounds != 1 || n != 3 {
			t.Errorf("%d rounds, %d requests", rounds, n)
		}
	})
	inBubble(t, func(b *bench) { // while it leads
		var why elector.Reason
		fatal := &elector.FatalError{Err: errors.New("NOPERM"), Fix: "grant the rights"}
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = untilDone
			cfg.OnStopped = func(_ *elector.Term, r elector.Reason) { why = r }
		})
		b.store.renew = func(context.Context) error { return fatal }
		if err := e.Run(b.Context()); !errors.Is(err, fatal) || why != event.ReasonError {
			t.Errorf("Run: %v; stopped because of %q", err, why)
		}
	})
}

// Only one of Run, Campaign and Terms may be active.
func TestOneAtATime(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		stop := b.run(e)
		synctest.Wait()
		if err := e.Run(b.Context()); !errors.Is(err, elector.ErrActive) {
			t.Errorf("Run: %v", err)
		}
		if _, err := e.Campaign(b.Context()); !errors.Is(err, elector.ErrActive) {
			t.Errorf("Campaign: %v", err)
		}
		for _, err := range e.Terms(b.Context()) {
			if !errors.Is(err, elector.ErrActive) {
				t.Errorf("Terms: %v", err)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Work that returns as soon as it is called, again and again, is warned of once: each return
// ends a term. Work that ends because it was asked to is not.
func TestHastyWorkIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		work func(context.Context, *elector.Term)
		want int
	}{
		{func(context.Context, *elector.Term) {}, 1},
		{untilDone, 0},
		{func(context.Context, *elector.Term) { time.Sleep(2 * time.Second) }, 0},
		{func(ctx context.Context, term *elector.Term) { _ = term.Resign(ctx) }, 0},
	} {
		inBubble(t, func(b *bench) {
			var text bytes.Buffer
			stop := b.run(b.elector("a", func(cfg *elector.Config) {
				cfg.OnStarted = c.work
				cfg.Logger = slog.New(slog.NewTextHandler(&text, nil))
			}))
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				b.Fatal(err)
			}
			if got := strings.Count(text.String(), "returned at once"); got != c.want {
				b.Errorf("warned %d times, want %d:\n%s", got, c.want, &text)
			}
		})
	}
}

// A campaign that its deadline ends says what went wrong last, as long as nothing went right
// since: a store that refuses in favour of another leader has answered.
func TestCampaignInVainSaysWhy(t *testing.T) {
	inBubble(t, func(b *bench) {
		campaign := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(b.Context(), within)
			defer cancel()
			_, err := b.elector("a").Campaign(ctx)
			return err
		}
		b.store.acquire = func(context.Context) error { return errLost }
		if err := campaign(time.Second); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLost) {
			t.Errorf("a store that fails: %v", err)
		}
		b.store.acquire = nil
		held := b.campaign(b.elector("b"))
		n := 0
		b.store.acquire = func(context.Context) error {
			if n++; n == 2 { // it is known by then who leads
				return errLost
			}
			return nil
		}
		if err := campaign(20 * time.Second); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errLost) {
			t.Errorf("somebody else leads: %v", err)
		}
		b.resign(held)
	})
}

// A campaign may be repeated as soon as its term is over, by whatever the caller learns
// of that: also before the elector itself has noticed, and while it still gives the
// lease back.
func TestCampaignAfterLostTerm(t *testing.T) {
	again := map[string]func(b *bench, e *elector.Elector) error{
		"Campaign":   func(b *bench, e *elector.Elector) error { return resigned(e.Campaign(b.Context())) },
		"TryAcquire": func(b *bench, e *elector.Elector) error { return resigned(e.TryAcquire(b.Context())) },
		"Run": func(b *bench, e *elector.Elector) error {
			ctx, cancel := context.WithTimeout(b.Context(), time.Second)
			defer cancel()
			return e.Run(ctx)
		},
		"Terms": func(b *bench, e *elector.Elector) error {
			for _, err := range e.Terms(b.Context()) {
				return err
			}
			return nil
		},
	}
	for call, again := range again {
		for why, lose := range map[string]func(b *bench, term *elector.Term){
			"suspended": func(b *bench, term *elector.Term) { b.clock.suspend(20 * time.Second) },
			"looked at": func(b *bench, term *elector.Term) { b.clock.suspend(usable); _ = term.Context().Err() },
			"refused":   func(_ *bench, term *elector.Term) { term.Refused(41) },
			"resigned": func(b *bench, term *elector.Term) {
				ctx, cancel := context.WithCancel(b.Context())
				cancel()
				_ = term.Resign(ctx)
			},
			"deleted": func(b *bench, term *elector.Term) {
				b.store.release = func(context.Context) error { time.Sleep(2 * time.Second); return nil }
				b.store.Delete("billing")
				<-term.Context().Done()
			},
		} {
			inBubble(t, func(b *bench) {
				e := b.elector("a")
				lose(b, b.campaign(e))
				if err := again(b, e); err != nil {
					t.Errorf("%s after a term that was %s: %v", call, why, err)
				}
				time.Sleep(time.Minute) // what is given back slowly
			})
		}
	}
	inBubble(t, func(b *bench) { // who waits for the end is told that its context is done, as always
		e := b.elector("a")
		b.campaign(e)
		b.store.release = b.deaf
		b.clock.suspend(usable)
		ctx, cancel := context.WithTimeout(b.Context(), time.Millisecond)
		defer cancel()
		if term, err := e.Campaign(ctx); term != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Campaign: %v, %v", term, err)
		}
		for _, err := range e.Terms(ctx) {
			t.Errorf("Terms: %v", err)
		}
		ctx, cancel = context.WithTimeout(b.Context(), time.Millisecond)
		defer cancel()
		if err := e.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(time.Minute) // the lease is given up for lost
	})
}

// resigned ends a term that was got without an error.
func resigned(term *elector.Term, err error) error {
	if err != nil {
		return err
	}
	return term.Resign(context.Background())
}

// Terms: a body that ends resigns; the next term follows, with a larger token;
// break resigns and ends; so does a panic in the body, which reaches the caller.
func TestTerms(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		e := b.elector("a", events.into)
		var tokens []uint64
		for term, err := range e.Terms(b.Context()) {
			if err != nil || !e.IsLeader() || term.Check(time.Second) != nil {
				t.Fatalf("term %v, error %v, leads %t", term, err, e.IsLeader())
			}
			tokens = append(tokens, term.Token())
			time.Sleep(time.Minute)
			if len(tokens) == 3 {
				break
			}
		}
		b.leads(0)
		if len(tokens) != 3 || tokens[0] >= tokens[1] || tokens[1] >= tokens[2] {
			t.Errorf("tokens %v", tokens)
		}
		for _, ev := range events.of(event.Deposed) {
			if ev.Reason != event.ReasonResigned {
				t.Errorf("deposed: %s", ev.Reason)
			}
		}
		func() {
			defer func() {
				if v := recover(); v != "body" {
					t.Errorf("recovered %v", v)
				}
			}()
			for range e.Terms(b.Context()) {
				panic("body")
			}
		}()
		b.leads(0)
	})
	inBubble(t, func(b *bench) { // the context ends the loop
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		rounds := 0
		for term, err := range b.elector("a").Terms(ctx) {
			rounds++
			if err != nil {
				t.Fatal(err)
			}
			<-term.Context().Done()
		}
		if rounds != 1 {
			t.Errorf("%d rounds", rounds)
		}
		b.leads(0)
	})
}

// Callbacks may be slow, panic and re-enter; OnStarted and OnStopped are called
// exactly once for each term, in that order, and never overlap with the next.
func TestCallbacks(t *testing.T) {
	inBubble(t, func(b *bench) {
		var started, stopped, running atomic.Int64
		var e *elector.Elector
		e = b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
				if started.Add(1); running.Add(1) != 1 {
					t.Error("two terms' work at a time")
				}
				if ctx.Err() != nil {
					t.Error("started although the term was over")
				}
				if l, err := e.Leader(context.WithoutCancel(ctx)); err != nil || l.ID != e.ID() || !e.IsLeader() {
					t.Errorf("from inside: %+v leads, error %v", l, err)
				}
				time.Sleep(20 * time.Second) // slow
				if err := term.Resign(ctx); err != nil || ctx.Err() == nil || e.IsLeader() {
					t.Errorf("resigned from inside: %v; leads %t", err, e.IsLeader())
				}
			}
			cfg.OnStopped = func(term *elector.Term, why elector.Reason) {
				if stopped.Add(1); started.Load() != stopped.Load() || why != event.ReasonResigned && b.clock.Now() < 5*time.Minute {
					t.Errorf("started %d, stopped %d by %s", started.Load(), stopped.Load(), why)
				}
				if err := term.Resign(context.Background()); err != nil {
					t.Errorf("resigned from OnStopped: %v", err)
				}
				time.Sleep(5 * time.Second)
				running.Add(-1)
				panic("OnStopped")
			}
			cfg.OnLeader = func(elector.Leader) { time.Sleep(time.Minute); panic("OnLeader") }
			cfg.OnEvent = func(ev elector.Event) {
				_, _ = e.Leader(context.Background())
				e.IsLeader()
				panic("OnEvent")
			}
		})
		stop := b.run(e)
		time.Sleep(5 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if started.Load() != stopped.Load() || started.Load() < 8 {
			t.Errorf("started %d times, stopped %d times", started.Load(), stopped.Load())
		}
	})
}

// Work that panics ends the term, frees the lease, and is Run's error. Work
// that ends by runtime.Goexit has ended like any other.
func TestWorkPanics(t *testing.T) {
	inBubble(t, func(b *bench) {
		var why elector.Reason
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = func(context.Context, *elector.Term) { panic("oh") }
			cfg.OnStopped = func(_ *elector.Term, r elector.Reason) { why = r }
		})
		err := e.Run(b.Context())
		p := new(elector.PanicError)
		ok := errors.As(err, &p)
		if !ok || p.Value != "oh" || !strings.Contains(err.Error(), "run_test.go") || why != event.ReasonError {
			t.Errorf("Run: %v; stopped because of %q", err, why)
		}
		b.leads(0)
	})
	inBubble(t, func(b *bench) {
		stopped := 0
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.Once = true
			cfg.OnStarted = func(context.Context, *elector.Term) { runtime.Goexit() }
			cfg.OnStopped = func(*elector.Term, elector.Reason) { stopped++ }
		})
		if err := e.Run(b.Context()); err != nil || stopped != 1 {
			t.Errorf("Run: %v; stopped %d times", err, stopped)
		}
	})
}

// With real clocks: no goroutine outlives Run, Terms or a campaign's term
// (goleak looks after all tests), and IsLeader may be asked from anywhere.
func TestNoGoroutineOutlives(t *testing.T) {
	store := newMemStore()
	newElector := func(id string, work func(context.Context, *elector.Term)) *elector.Elector {
		e, err := elector.New(store, elector.Config{Election: "billing", ID: id, Lease: 200 * time.Millisecond, OnStarted: work})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ctx, cancel := context.WithCancel(t.Context())
	led := make(chan struct{}, 100)
	ended := make(chan error, 2)
	for _, id := range []string{"a", "b"} {
		var e *elector.Elector
		e = newElector(id, func(ctx context.Context, term *elector.Term) {
			for range 1000 {
				e.IsLeader()
			}
			led <- struct{}{}
		})
		go func() { ended <- e.Run(ctx) }()
	}
	for range 4 {
		<-led
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	e := newElector("c", nil)
	term, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Error(err)
	}
	for range e.Terms(t.Context()) {
		break
	}
}

// An elector that runs is a follower from the beginning, not only from its first
// try on: what watches it would take it for one that has ended.
func TestRunningIsNotStopped(t *testing.T) {
	inBubble(t, func(b *bench) {
		leader := b.campaign(b.elector("a"))
		e := b.elector("b")
		stop := b.run(e)
		synctest.Wait()
		if s := e.State(); s != event.StateFollower {
			t.Errorf("a follower that waits for its first try is %s", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		b.resign(leader)
	})
}
