package elector_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// Suspend: the clock jumps ahead of all timers. IsLeader and the context's Err
// know at once; who only waits for Done knows within a twentieth of the lease.
func TestSuspendEndsTerm(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		term := b.campaign(e)
		b.clock.suspend(20 * time.Second)
		if e.IsLeader() {
			t.Error("IsLeader right after a suspension longer than the lease")
		}
		if err := term.Check(0); !errors.Is(err, elector.ErrTermOver) {
			t.Errorf("Check: %v", err)
		}
		woken := time.Now()
		<-term.Context().Done()
		if d := time.Since(woken); d > 750*time.Millisecond {
			t.Errorf("the context was cancelled %v after the suspension, want at most 750ms", d)
		}
		_ = term.Resign(b.Context()) // over already
	})
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		b.clock.suspend(20 * time.Second)
		if term.Context().Err() == nil {
			t.Error("the context's Err does not look at the clock")
		}
		if cause := context.Cause(term.Context()); !errors.Is(cause, elector.ErrTermOver) {
			t.Errorf("cause %v", cause)
		}
		_ = term.Resign(b.Context())
	})
}

// A term of Campaign is renewed in the background, whatever becomes of the
// campaign's context, until it is resigned; then the lease is free at once.
func TestCampaignTermIsRenewedUntilResigned(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		ctx, cancel := context.WithCancel(b.Context())
		term, err := e.Campaign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(10 * time.Minute)
		if !e.IsLeader() || term.Context().Err() != nil || term.Check(5*time.Second) != nil {
			t.Fatal("the term did not last")
		}
		if err := term.Check(time.Minute); !errors.Is(err, elector.ErrTermShort) {
			t.Errorf("Check of more than the lease: %v", err)
		}
		b.leads(term.Token())
		b.resign(term)
		b.leads(0)
		if e.IsLeader() || term.Check(0) == nil || term.Remaining() != 0 || e.State() != event.StateStopped {
			t.Error("the term is over, but does not know")
		}
		b.resign(term) // once more does nothing

		again := b.campaign(e)
		if again.Token() <= term.Token() {
			t.Errorf("token %d after %d", again.Token(), term.Token())
		}
		b.resign(again)
	})
}

// While a term drains, IsLeader is false and the context done, but Check
// passes, renewals go on, and nobody else is elected until the work has ended.
func TestDrainKeepsLeaseUntilWorkEnds(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		var passed bool
		e := b.elector("a", events.into, func(cfg *elector.Config) {
			cfg.DrainTimeout = time.Hour
			cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
				<-ctx.Done()
				time.Sleep(5 * time.Minute)
				passed = term.Check(time.Second) == nil
			}
		})
		stop := b.run(e)
		time.Sleep(time.Minute)
		other := b.elector("b")
		otherLed := make(chan time.Duration, 1)
		go func() {
			term := b.campaign(other)
			led := b.clock.Now()
			b.resign(term)
			otherLed <- led
		}()
		time.Sleep(time.Second)
		stopped := b.clock.Now()
		go func() {
			synctest.Wait()
			if e.IsLeader() || e.State() != event.StateDraining {
				t.Errorf("leads %t, %s, while it drains", e.IsLeader(), e.State())
			}
		}()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if !passed {
			t.Error("Check failed while the term drained")
		}
		if d := <-otherLed - stopped; d < 5*time.Minute || d > 5*time.Minute+100*time.Millisecond {
			t.Errorf("the next leader came %v after the stop, want right after the work's 5m", d)
		}
		if ev := events.of(event.Deposed); len(ev) != 1 || ev[0].Reason != event.ReasonStopped {
			t.Errorf("deposed: %+v", ev)
		}
	})
}

// Release never delays the cancellation: with a store that swallows everything,
// the context is done at the deadline exactly, and the hanging release holds
// up nothing, not even the end of Run.
func TestBlackHoledReleaseDelaysNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store.renew, b.store.release = b.deaf, b.deaf
		done := make(chan time.Duration, 1)
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
				<-ctx.Done()
				done <- term.Until() - b.clock.Now()
			}
		})
		stop := b.run(e)
		if early := <-done; early != 0 {
			t.Errorf("the context was done %v before the deadline", early)
		}
		if now := b.clock.Now(); now < usable || now > usable+time.Second {
			t.Errorf("the deadline was at %v", now)
		}
		begun := b.clock.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if d := b.clock.Now() - begun; d > 5*time.Second {
			t.Errorf("Run took %v to return with a dead store", d)
		}
	})
}

// Resign with a dead store cancels at once and says that nothing was released.
func TestResignWithDeadStore(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		term := b.campaign(e)
		b.store.release = b.deaf
		ctx, cancel := context.WithTimeout(b.Context(), time.Millisecond)
		defer cancel()
		if err := term.Resign(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Resign with an impatient context: %v", err)
		}
		if term.Context().Err() == nil || e.IsLeader() {
			t.Error("still leads after Resign")
		}
		if err := term.Resign(b.Context()); !errors.Is(err, elector.ErrNotReleased) {
			t.Errorf("Resign: %v", err)
		}
	})
}

// A deleted key is noticed by the next renewal, which creates nothing: the term
// is over as superseded, and another one begins with a larger token.
func TestDeletedKey(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		e := b.elector("a", events.into, func(cfg *elector.Config) { cfg.OnStarted = untilDone })
		stop := b.run(e)
		time.Sleep(12 * time.Second)
		b.store.Delete("billing")
		time.Sleep(10 * time.Second)
		elected, deposed := events.of(event.Elected), events.of(event.Deposed)
		if len(deposed) != 1 || deposed[0].Reason != event.ReasonSuperseded || deposed[0].At > 16*time.Second {
			t.Errorf("deposed: %+v", deposed)
		}
		if len(elected) != 2 || elected[1].Token <= elected[0].Token {
			t.Errorf("elected: %+v", elected)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A term whose token the resource refuses is over, and the candidate's next one
// has a larger token than the resource has seen, though the store knows of none.
func TestRefusedTokenEndsTheTerm(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		term := b.campaign(e)
		term.Refused(term.Token()) // seen, and not refused
		synctest.Wait()
		if !e.IsLeader() {
			t.Fatal("a token that is the largest seen ended the term")
		}
		term.Refused(41)
		<-term.Context().Done()
		synctest.Wait()
		if e.IsLeader() || term.Check(0) == nil {
			t.Error("it leads on")
		}
		b.resign(term)
		if next := b.campaign(e); next.Token() != 42 {
			t.Errorf("the next token is %d", next.Token())
		} else {
			b.resign(next)
		}
		term.Refused(57) // its last write was answered late
		if next := b.campaign(e); next.Token() != 58 {
			t.Errorf("the token after that is %d", next.Token())
		} else {
			b.resign(next)
		}
	})
}

// A fence that is named to a term of the last Campaign, while the next one waits for the
// lease, holds for that one's term.
func TestRefusedReachesTheCampaignUnderWay(t *testing.T) {
	inBubble(t, func(b *bench) {
		e, other := b.elector("a"), b.elector("b")
		first := b.campaign(e)
		b.resign(first)
		between := b.campaign(other)
		next := make(chan *elector.Term, 1)
		go func() { next <- b.campaign(e) }()
		synctest.Wait() // it waits for the lease
		first.Refused(57)
		b.resign(between)
		if term := <-next; term.Token() <= 57 {
			t.Errorf("the next token is %d, and a resource has seen 57", term.Token())
		} else {
			b.resign(term)
		}
	})
}
