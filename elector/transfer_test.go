package elector_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// works lets an elector lead until its term ends, and says when it leads.
func works(led chan<- string) func(*elector.Config) {
	return func(cfg *elector.Config) {
		id := cfg.ID
		cfg.OnStarted = func(ctx context.Context, _ *elector.Term) {
			led <- id
			<-ctx.Done()
		}
	}
}

// A leader hands over to the candidate that is named, by its whole ID or the
// part that was configured, and to nobody else, though others wait too.
func TestTransfer(t *testing.T) {
	inBubble(t, func(b *bench) {
		led := make(chan string, 100)
		var stops []func() error
		electors := map[string]*elector.Elector{}
		for _, id := range []string{"a", "b", "c", "d"} {
			electors[id] = b.elector(id, works(led))
			stops = append(stops, b.run(electors[id]))
			time.Sleep(time.Second)
		}
		if first := <-led; first != "a" {
			t.Fatalf("%s leads", first)
		}
		time.Sleep(20 * time.Second) // all are heard of, and know when the lease ends
		for _, to := range []string{"c", electors["b"].ID(), "a", "d"} {
			leader := whoLeads(electors)
			began := b.clock.Now()
			if err := leader.Transfer(b.Context(), to); err != nil {
				t.Fatal(err)
			}
			next := <-led
			if next != to && electors[next].ID() != to {
				t.Fatalf("%s leads after a transfer to %s", next, to)
			}
			if gap := b.clock.Now() - began; gap > 0 { // no time passes in the store of a bubble
				t.Errorf("%v without a leader", gap)
			}
			time.Sleep(40 * time.Second)
		}
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// far is a store at some distance: everything takes so long on its way there, and
// so long on its way back.
type far struct {
	elector.Store
	way time.Duration
}

func (f far) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	time.Sleep(f.way)
	defer time.Sleep(f.way)
	return f.Store.Acquire(ctx, a)
}

func (f far) Release(ctx context.Context, l store.Lease) error {
	time.Sleep(f.way)
	defer time.Sleep(f.way)
	return f.Store.Release(ctx, l)
}

func (f far) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	f.Store.Watch(ctx, election, func(h store.Hint) { time.AfterFunc(f.way, func() { hint(h) }) }, ended)
}

// Between the two terms of a transfer lie two round trips: the release goes to
// the store and word of it to the successor, then its request and the answer.
func TestTransferTakesTwoRoundTrips(t *testing.T) {
	inBubble(t, func(b *bench) {
		const way = 30 * time.Millisecond
		store := far{b.store, way}
		term := b.campaign(b.on(store, "a"))
		led := make(chan string, 100)
		next := b.on(store, "b", works(led))
		stop := b.run(next)
		defer b.run(b.on(store, "c", works(led)))() //nolint:errcheck // it has no fatal error
		time.Sleep(20 * time.Second)
		began := b.clock.Now()
		if err := term.Transfer(b.Context(), next.ID()); err != nil {
			t.Fatal(err)
		}
		if got := <-led; got != "b" {
			t.Errorf("%s leads", got)
		}
		if gap := b.clock.Now() - began; gap != 4*way {
			t.Errorf("%v without a leader, which is not two round trips of %v", gap, 2*way)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func whoLeads(electors map[string]*elector.Elector) *elector.Elector {
	for _, e := range electors {
		if e.IsLeader() {
			return e
		}
	}
	return nil
}

// A successor that is gone does not keep the others waiting for longer than the
// reservation. Then the first that asks leads, perhaps the one that handed over.
func TestTransferToTheDead(t *testing.T) {
	inBubble(t, func(b *bench) {
		led := make(chan string, 100)
		a := b.elector("a", works(led))
		stopA := b.run(a)
		<-led
		stopDead := b.run(b.elector("dead", works(led)))
		stopC := b.run(b.elector("c", works(led)))
		time.Sleep(time.Second)
		if err := stopDead(); err != nil {
			t.Fatal(err)
		}
		began := b.clock.Now()
		err := a.Transfer(b.Context(), "dead")
		next := <-led
		if !errors.Is(err, elector.ErrNotTaken) || !strings.Contains(err.Error(), `"`+next+`/`) {
			t.Errorf("%s took the lease, and Transfer returned %v", next, err)
		}
		if took := b.clock.Now() - began; took < 14*time.Second || took > 17*time.Second {
			t.Errorf("it took %v until somebody else led", took)
		}
		if err := errors.Join(stopA(), stopC()); err != nil {
			t.Error(err)
		}
	})
}

// mute is a store that announces nothing.
type mute struct{ elector.Store }

func (m mute) Watch(ctx context.Context, _ string, _ func(store.Hint), ended func(error)) {
	context.AfterFunc(ctx, func() { ended(ctx.Err()) })
}

func (m mute) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	return m.Store.(store.CandidateLister).Candidates(ctx, election)
}

func (m mute) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	return m.Store.(store.TermLister).History(ctx, election, n)
}

// A successor that hears no announcements gets the lease all the same, whenever in its
// pause between two requests the leader hands over; and so does one beside whom others wait.
func TestTransferToTheDeaf(t *testing.T) {
	for after := 20 * time.Second; after < 36*time.Second; after += 700 * time.Millisecond {
		inBubble(t, func(b *bench) {
			led := make(chan string, 100)
			a := b.elector("a", works(led))
			stopA := b.run(a)
			<-led
			stopDeaf := b.run(b.on(mute{b.store}, "deaf", works(led)))
			stopC := b.run(b.elector("c", works(led)))
			time.Sleep(after)
			if err := a.Transfer(b.Context(), "deaf"); err != nil {
				t.Errorf("after %v: %v", after, err)
			}
			if next := <-led; next != "deaf" {
				t.Errorf("after %v: %s leads", after, next)
			}
			if err := errors.Join(stopA(), stopDeaf(), stopC()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A successor that has led, and whose term is over before anybody looks, has taken the lease.
func TestTransferToOneWhoResignsAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := b.elector("a")
		b.campaign(a)
		stop := b.run(b.elector("short", func(cfg *elector.Config) { cfg.OnStarted, cfg.Once = func(context.Context, *elector.Term) {}, true }))
		stopC := b.run(b.elector("c"))
		time.Sleep(20 * time.Second)
		if err := a.Transfer(b.Context(), "short"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(stop(), stopC()); err != nil {
			t.Error(err)
		}
	})
}

// forgetful is a store whose history cannot be read until a moment. It never says that the
// candidate "short" leads, as to somebody who always asks too late.
type forgetful struct {
	mute
	until time.Time
}

func (f *forgetful) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	if time.Now().Before(f.until) {
		return nil, errors.New("not now")
	}
	return f.mute.History(ctx, election, n)
}

func (f *forgetful) Leader(ctx context.Context, election string) (elector.Leader, error) {
	l, err := f.mute.Leader(ctx, election)
	if strings.HasPrefix(l.ID, "short/") {
		return elector.Leader{}, err
	}
	return l, err
}

// Transfer to a successor that led briefly says so as soon as the store can tell. If the store
// never can, Transfer says that, and not that the successor has not led.
func TestTransferAsksForTheHistoryAgain(t *testing.T) {
	for _, silent := range []time.Duration{time.Second, time.Hour} {
		inBubble(t, func(b *bench) {
			store := &forgetful{mute: mute{b.store}}
			a := b.on(store, "a")
			b.campaign(a)
			stop := b.run(b.elector("short", func(cfg *elector.Config) { cfg.OnStarted, cfg.Once = func(context.Context, *elector.Term) {}, true }))
			stopC := b.run(b.elector("c"))
			time.Sleep(20 * time.Second)
			store.until = time.Now().Add(silent)
			err := a.Transfer(b.Context(), "short")
			if silent < time.Minute && err != nil || silent > time.Minute && (err == nil || errors.Is(err, elector.ErrNotTaken)) {
				t.Errorf("the history cannot be read for %v: %v", silent, err)
			}
			if err := errors.Join(stop(), stopC()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A successor that led, and is gone without another leader after it, has taken the lease.
func TestTransferToOneWhoVanishes(t *testing.T) {
	inBubble(t, func(b *bench) {
		store := &hushed{mute: mute{b.store}}
		a := b.on(store, "a", func(cfg *elector.Config) { cfg.Once = true })
		b.campaign(a)
		stop := b.run(b.elector("short", func(cfg *elector.Config) { cfg.OnStarted, cfg.Once = func(context.Context, *elector.Term) {}, true }))
		time.Sleep(20 * time.Second)
		store.until = time.Now().Add(19 * time.Second)
		if err := a.Transfer(b.Context(), "short"); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// hushed is a store that does not say who leads until a moment.
type hushed struct {
	mute
	until time.Time
}

func (h *hushed) Leader(ctx context.Context, election string) (elector.Leader, error) {
	if time.Now().Before(h.until) {
		return elector.Leader{}, errors.New("not now")
	}
	return h.Store.Leader(ctx, election)
}

// Transfer says that nobody took the lease only if that is so when it returns.
func TestTransferLooksOnceMore(t *testing.T) {
	for after := 15 * time.Second; after < 30*time.Second; after += 300 * time.Millisecond {
		inBubble(t, func(b *bench) {
			store := &hushed{mute: mute{b.store}}
			a := b.on(store, "a")
			b.campaign(a)
			stop := b.run(b.elector("b"))
			time.Sleep(20 * time.Second)
			store.until = time.Now().Add(after)
			if err := a.Transfer(b.Context(), "b"); err != nil && !time.Now().Before(store.until) {
				t.Errorf("b has led for %v, and the store says so: %v", after, err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The work cannot wait for its own end: Transfer refuses it, and so do the calls that
// compete, also when the term is about to end. Term.Transfer and Resign return at once.
func TestCallsInsideTheWork(t *testing.T) {
	for name, competes := range map[string]func(*elector.Elector, func(*elector.Term)) error{
		"callback": func(e *elector.Elector, _ func(*elector.Term)) error { return e.Run(context.Background()) },
		"loop": func(e *elector.Elector, work func(*elector.Term)) error {
			for term, err := range e.Terms(context.Background()) {
				if err != nil {
					return err
				}
				work(term)
			}
			return nil
		},
	} {
		inBubble(t, func(b *bench) {
			var a *elector.Elector
			stopB := func() error { return nil }
			work := func(term *elector.Term) {
				stopB = b.run(b.elector("b"))
				time.Sleep(20 * time.Second) // both are heard of
				began := b.clock.Now()
				if err := a.Transfer(context.Background(), "b"); !errors.Is(err, elector.ErrInsideWork) || term.Check(0) != nil {
					t.Errorf("%s: Transfer returned %v, and the term is %v", name, err, term.Check(0))
				}
				if err := term.Transfer(context.Background(), ""); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				<-term.Context().Done()
				if err := a.Run(context.Background()); !errors.Is(err, elector.ErrActive) {
					t.Errorf("%s: Run returned %v", name, err)
				}
				if took := b.clock.Now() - began; took > time.Second {
					t.Errorf("%s: the calls took %v", name, took)
				}
			}
			a = b.elector("a", func(cfg *elector.Config) {
				cfg.OnStarted, cfg.Once = func(_ context.Context, t *elector.Term) { work(t) }, true
			})
			if err := competes(a, work); err != nil {
				t.Error(err)
			}
			if err := stopB(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Work that waits for a goroutine that called Transfer holds it up until DrainTimeout. The
// caller is told so.
func TestTransferOfWorkThatDoesNotEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		led := make(chan string, 100)
		var a *elector.Elector
		returned := make(chan error, 1)
		a = b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = func(context.Context, *elector.Term) {
				time.Sleep(20 * time.Second)
				go func() { returned <- a.Transfer(context.Background(), "b") }()
				returned <- <-returned
			}
		})
		stopA := b.run(a)
		time.Sleep(time.Second)
		stopB := b.run(b.elector("b", works(led)))
		if <-led != "b" {
			t.Error("somebody else leads")
		}
		if err := <-returned; !errors.Is(err, event.ErrDrainCapped) {
			t.Errorf("Transfer returned %v", err)
		}
		if err := errors.Join(stopA(), stopB()); err != nil {
			t.Error(err)
		}
	})
}

// Of several candidates of one name, the one that was heard of last is handed the
// lease: a process that was restarted again and again leaves all its IDs behind. Who
// was not heard of for longer than a live candidate is silent is none.
func TestTransferToTheRestarted(t *testing.T) {
	inBubble(t, func(b *bench) {
		led := make(chan string, 100)
		a := b.elector("a", works(led))
		stopA := b.run(a)
		<-led
		var last *elector.Elector
		stopLast := func() error { return nil }
		for range 8 {
			if err := stopLast(); err != nil {
				t.Error(err)
			}
			last = b.elector("b", works(led))
			stopLast = b.run(last)
			time.Sleep(time.Second)
		}
		if err := a.Transfer(b.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if next := <-led; next != "b" || !last.IsLeader() {
			t.Errorf("%s leads; the one that lives: %t", next, last.IsLeader())
		}
		if err := stopLast(); err != nil {
			t.Error(err)
		}
		<-led // a again
		time.Sleep(18 * time.Second)
		for _, to := range []string{"b", last.ID()} {
			if err := a.Transfer(b.Context(), to); !errors.Is(err, elector.ErrNoCandidate) || !a.IsLeader() {
				t.Errorf("a hand-over to %q, who is gone: %v", to, err)
			}
		}
		if err := stopA(); err != nil {
			t.Error(err)
		}
	})
}

// Who does not lead cannot hand over, nor can one hand over to nobody.
func TestTransferErrors(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := b.elector("a")
		if err := a.Transfer(b.Context(), "b"); !errors.Is(err, elector.ErrNotLeading) {
			t.Errorf("a follower: %v", err)
		}
		term := b.campaign(a)
		for _, to := range []string{"b", "a", a.ID(), ""} {
			if err := a.Transfer(b.Context(), to); !errors.Is(err, elector.ErrNoCandidate) {
				t.Errorf("to %q: %v", to, err)
			}
		}
		if term.Check(0) != nil {
			t.Error("a transfer that failed ended the term")
		}
		b.resign(term)
	})
}

// A leader hands over to a candidate of a higher priority that comes later, and
// not to one of the same; the better one keeps the lease.
func TestFailback(t *testing.T) {
	inBubble(t, func(b *bench) {
		led := make(chan string, 100)
		with := func(priority int) func(*elector.Config) {
			return func(cfg *elector.Config) { cfg.Priority, cfg.Failback = priority, 30*time.Second }
		}
		stopLow := b.run(b.elector("low", works(led), with(1)))
		if <-led != "low" {
			t.Fatal("somebody else leads")
		}
		stopSame := b.run(b.elector("same", works(led), with(1)))
		time.Sleep(10 * time.Minute)
		if len(led) > 0 {
			t.Fatalf("%s leads too", <-led)
		}
		stopHigh := b.run(b.elector("high", works(led), with(7)))
		began := b.clock.Now()
		if next := <-led; next != "high" {
			t.Fatalf("%s leads", next)
		}
		if took := b.clock.Now() - began; took > 40*time.Second {
			t.Errorf("it took %v", took)
		}
		time.Sleep(10 * time.Minute)
		if len(led) > 0 {
			t.Fatalf("%s leads too", <-led)
		}
		if err := stopHigh(); err != nil { // and when it is gone, another one does
			t.Error(err)
		}
		if next := <-led; next == "high" {
			t.Errorf("%s leads", next)
		}
		if err := errors.Join(stopLow(), stopSame()); err != nil {
			t.Error(err)
		}
	})
}

// TryAcquire asks once: it gets the lease, or is told who has it.
func TestTryAcquire(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, other := b.elector("a"), b.elector("b")
		term, err := a.TryAcquire(b.Context())
		if err != nil || !a.IsLeader() {
			t.Fatal(err)
		}
		began := b.clock.Now()
		_, err = other.TryAcquire(b.Context())
		held := new(elector.HeldError)
		ok := errors.As(err, &held)
		if !ok || held.Token != term.Token() {
			t.Fatalf("refused with %v", err)
		}
		if waited := b.clock.Now() - began; waited > time.Second {
			t.Errorf("it waited for %v", waited)
		}
		time.Sleep(time.Minute) // the term is renewed meanwhile
		b.resign(term)
		if term, err = other.TryAcquire(b.Context()); err != nil {
			t.Fatal(err)
		}
		b.resign(term)
		if n := b.store.watches.Load(); n != 0 {
			t.Errorf("who asks once listened %d times for the lease's end", n)
		}
	})
}

// lateRefusal keeps the first refusal back for a while.
type lateRefusal struct {
	*rigStore
	first atomic.Bool
}

func (s *lateRefusal) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	g, err := s.rigStore.Acquire(ctx, a)
	if s.first.CompareAndSwap(false, true) {
		time.Sleep(4 * time.Second) // the time-out is 2.5 s at a lease of 15 s, and as much again is waited for
	}
	return g, err
}

// Who asks once, and asks again for want of an answer, keeps the lease that the second
// request got when the refusal of the first one comes.
func TestTryAcquireIsRefusedLate(t *testing.T) {
	inBubble(t, func(b *bench) {
		held := b.campaign(b.elector("a"))
		time.AfterFunc(time.Second, func() { _ = held.Resign(b.Context()) }) // nobody else wants it
		term, err := b.on(&lateRefusal{rigStore: b.store}, "b").TryAcquire(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if now := b.clock.Now(); now >= 4*time.Second {
			t.Fatalf("elected at %v only", now)
		}
		time.Sleep(5 * time.Second)
		if err := term.Check(0); err != nil {
			t.Error(err)
		}
		b.resign(term)
	})
}

// OnlyLeader executes on the leader only, and tells when the term is over.
func TestOnlyLeader(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := b.elector("a")
		calls := 0
		work := a.OnlyLeader(func(ctx context.Context, term *elector.Term) error {
			calls++
			b.resign(term)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err := work(b.Context()); !errors.Is(err, elector.ErrNotLeading) || calls != 0 {
			t.Fatalf("a follower: %v, %d calls", err, calls)
		}
		b.campaign(a)
		if err := work(b.Context()); !errors.Is(err, elector.ErrTermOver) || calls != 1 {
			t.Errorf("a leader: %v, %d calls", err, calls)
		}
	})
}

// Every preset is a Config that New takes, and Balanced is the one without
// durations.
func TestPresets(t *testing.T) {
	inBubble(t, func(b *bench) {
		for name, preset := range map[string]elector.Config{"fast": elector.Fast(), "balanced": elector.Balanced(), "quiet": elector.Quiet()} {
			b.elector(name, func(cfg *elector.Config) {
				cfg.Lease, cfg.Renew, cfg.Retry = preset.Lease, preset.Renew, preset.Retry
				cfg.RequestTimeout, cfg.DrainTimeout, cfg.Drift = preset.RequestTimeout, preset.DrainTimeout, preset.Drift
			})
		}
		if p := elector.Balanced(); p.Lease != 15*time.Second || p.Renew != 5*time.Second || p.RequestTimeout != 2500*time.Millisecond {
			t.Errorf("balanced: %+v", p)
		}
	})
}
