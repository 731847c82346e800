package elector_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
)

func newMemStore() *memstore.Store { return memstore.New(memstore.Options{}) }

// Reply lost after the command took effect: the lease is held and nobody knows;
// the attempt repeated gets the same token, in a retry pause instead of a lease.
func TestReplyLostAfterEffect(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store.lose.Store(true)
		time.AfterFunc(3*time.Second, func() { b.store.lose.Store(false) })
		term := b.campaign(b.elector("a"))
		if now := b.clock.Now(); term.Token() != 1 || now > 5*time.Second {
			t.Errorf("elected with token %d after %v", term.Token(), now)
		}
		b.resign(term)
	})
}

// From one campaign of an elector to the next nothing is used again: request
// numbers and nonces are new, and the floor is the last token.
func TestCampaignsShareNothingButTheFloor(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		for range 3 {
			b.resign(b.campaign(e))
		}
		all := b.store.attempts
		if len(all) != 3 {
			t.Fatalf("%d attempts", len(all))
		}
		for i := 1; i < len(all); i++ {
			before, now := all[i-1], all[i]
			if now.Request <= before.Request || now.Nonce == before.Nonce || now.Floor != uint64(i) {
				t.Errorf("%+v after %+v", now, before)
			}
		}
	})
}

// How long leases may last, which a refusal has told, an elector knows in its next
// campaign too.
func TestCampaignsShareTheLongestLease(t *testing.T) {
	inBubble(t, func(b *bench) {
		first := b.campaign(b.elector("a"))
		b.store.held = func(held *elector.HeldError) { held.Longest = time.Minute }
		e := b.elector("b")
		for range 2 {
			if term, err := e.TryAcquire(b.Context()); term != nil || err == nil {
				t.Fatalf("two lead: %v, %v", term, err)
			}
		}
		b.resign(first)
		b.resign(b.campaign(e))
		var got []time.Duration
		for _, a := range b.store.attempts {
			got = append(got, a.Longest)
		}
		if want := []time.Duration{15 * time.Second, 15 * time.Second, time.Minute, time.Minute}; !slices.Equal(got, want) {
			t.Errorf("leases of up to %v were counted on, want %v", got, want)
		}
	})
}

// How far away the store is, the last refusal has shown: whom a release does not name
// gives the one that it names a head start of as much.
func TestNamedHasAHeadStart(t *testing.T) {
	const away = 40 * time.Millisecond
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		b.store.acquire = func(context.Context) error { time.Sleep(away); return nil }
		stop := b.run(b.elector("b"))
		time.Sleep(3 * time.Second)
		b.store.mu.Lock()
		hint := b.store.hint
		b.store.mu.Unlock()
		before, began := b.store.acquires.Load(), b.clock.Now()
		hint(store.Hint{Kind: store.HintReleased, Token: term.Token(), To: "c"})
		for b.store.acquires.Load() == before && b.clock.Now()-began < 5*time.Second {
			time.Sleep(time.Millisecond / 2)
		}
		if d := b.clock.Now() - began; d < away+time.Millisecond || d > away+3*time.Millisecond {
			t.Errorf("asked %v after the release that named another one, want a round trip and about a millisecond", d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		b.resign(term)
	})
}

// News of a grant counts if it names the very request that was refused last, which
// nobody can foresee; and until a renewal is refused at the latest.
func TestForgedNewsOfAGrant(t *testing.T) {
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		s, gate := &rigStore{Store: b.store.Store}, make(chan struct{})
		s.held = func(held *elector.HeldError) { held.Stands = true }
		s.renew = func(context.Context) error {
			<-gate
			return nil
		}
		e := b.on(s, "b", func(cfg *elector.Config) { cfg.OnStarted = untilDone })
		stop := b.run(e)
		time.Sleep(40 * time.Second) // refused several times
		asked := func() []store.Attempt {
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.Clone(s.attempts)
		}
		hint, attempts := s.hint, asked()
		if len(attempts) < 3 {
			t.Fatalf("%d attempts", len(attempts))
		}
		last := attempts[len(attempts)-1]
		if foreseen(t, attempts[0].Nonce, attempts[1].Nonce) {
			t.Errorf("nonce %s was to be foreseen from %s", attempts[1].Nonce, attempts[0].Nonce)
		}
		news := store.Hint{Kind: store.HintGranted, Token: term.Token() + 1, Remaining: 15 * time.Second, To: e.ID(), Nonce: last.Nonce, Request: last.Request}
		for what, forge := range map[string]func(h *store.Hint){
			"an attempt of before":   func(h *store.Hint) { h.Nonce, h.Request = attempts[0].Nonce, attempts[0].Request },
			"a request of before":    func(h *store.Hint) { h.Request = attempts[0].Request },
			"a request to come":      func(h *store.Hint) { h.Request++ },
			"another nonce":          func(h *store.Hint) { h.Nonce = attempts[0].Nonce },
			"somebody else":          func(h *store.Hint) { h.To = "b" },
			"no nonce":               func(h *store.Hint) { h.Nonce = "" },
			"a release, not a grant": func(h *store.Hint) { h.Kind = store.HintReleased },
		} {
			h := news
			forge(&h)
			hint(h)
			synctest.Wait()
			if e.IsLeader() {
				t.Fatalf("it leads after news of %s: %+v", what, h)
			}
		}
		all := asked()
		news.Nonce, news.Request, news.Token = all[len(all)-1].Nonce, all[len(all)-1].Request, news.Token+1
		hint(news)
		synctest.Wait()
		if !e.IsLeader() {
			t.Error("it does not lead after the news of its own request")
		}
		close(gate)
		synctest.Wait()
		if e.IsLeader() {
			t.Error("it leads although its renewal was refused")
		}
		b.resign(term)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// foreseen reports whether a nonce is one of the next numbers of SplitMix64, which shows
// its whole state in each.
func foreseen(t *testing.T, nonce, next string) bool {
	t.Helper()
	number := func(nonce string) uint64 {
		n, err := strconv.ParseUint(nonce[strings.LastIndexByte(nonce, '/')+1:], 36, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	state := func(z uint64) uint64 {
		z = (z ^ z>>31 ^ z>>62) * 0x319642b2d24d8ec3
		z = (z ^ z>>27 ^ z>>54) * 0x96de1b173f119089
		return z ^ z>>30 ^ z>>60
	}
	steps := (state(number(next)) - state(number(nonce))) * 0xf1de83e19937733d // by the generator's step
	return steps < 1000
}

// Calls that hang in the library in spite of their contexts hang alone: the
// elector goes on, reports, and bounds how many there are.
func TestHungCallsHangAlone(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		var healthy atomic.Bool
		b.store.acquire = func(ctx context.Context) error {
			if healthy.Load() {
				return nil
			}
			return b.deaf(ctx)
		}
		e := b.elector("a", events.into)
		stop := b.run(e)
		time.Sleep(8 * time.Second) // two or three hang
		healthy.Store(true)
		time.Sleep(5 * time.Second)
		if !e.IsLeader() {
			t.Error("not elected after the store works again")
		}
		if events.troubles(event.ErrTimeout) == 0 {
			t.Error("the time-outs were not reported")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}

		healthy.Store(false)
		stop = b.run(e)
		before := b.store.acquires.Load()
		time.Sleep(10 * time.Minute)
		if n := b.store.acquires.Load() - before; n > 8 {
			t.Errorf("%d calls hang", n)
		}
		if n := len(events.of(event.Unreachable)); n != 1 {
			t.Errorf("%d alarms, want one", n)
		}
		if e.IsLeader() {
			t.Error("took over from a silent store")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A frozen store, which answers nobody, alarms after a lease; the leader steps
// down at its deadline and the follower never takes over.
func TestFrozenStoreIsNoReasonToTakeOver(t *testing.T) {
	inBubble(t, func(b *bench) {
		var frozen atomic.Bool
		freeze := func(ctx context.Context) error {
			if frozen.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		b.store.acquire, b.store.renew, b.store.release = freeze, freeze, freeze
		var first, second log
		leader, follower := b.elector("a", first.into), b.elector("b", second.into)
		stopLeader := b.run(leader)
		time.Sleep(time.Second)
		stopFollower := b.run(follower)
		time.Sleep(30 * time.Second)
		frozen.Store(true)
		time.Sleep(20 * time.Minute)
		if leader.IsLeader() || follower.IsLeader() {
			t.Error("somebody leads without the store")
		}
		if n := len(second.of(event.Elected)); n != 0 {
			t.Errorf("the follower was elected %d times", n)
		}
		for _, l := range []*log{&first, &second} {
			if n := len(l.of(event.Unreachable)); n != 1 {
				t.Errorf("%d alarms, want 1", n)
			}
		}
		if ev := first.of(event.Deposed); len(ev) != 1 || ev[0].Reason != event.ReasonExpired || ev[0].At != ev[0].Until {
			t.Errorf("deposed: %+v", ev)
		}
		frozen.Store(false)
		time.Sleep(time.Minute)
		if leader.IsLeader() == follower.IsLeader() || len(first.of(event.Reachable)) != 1 {
			t.Error("no recovery")
		}
		if err := errors.Join(stopLeader(), stopFollower()); err != nil {
			t.Error(err)
		}
	})
}

// A store that panics fails one request, and nothing else.
func TestPanickingStoreIsAnError(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		panics := true
		b.store.acquire = func(context.Context) error {
			if panics {
				panics = false
				panic("index out of range")
			}
			return nil
		}
		b.store.watch = func(context.Context) error { panic("no listening") }
		e := b.elector("a", events.into)
		term := b.campaign(e)
		if events.troubles(event.ErrPanic) != 1 {
			t.Errorf("troubles: %+v", events.of(event.Trouble))
		}
		b.resign(term)
	})
}

// Hints lost: with a Watch that hangs, or fails, the timed try stays, and the
// follower leads when the dead leader's lease has ended. A Watch that fails is
// begun again, less and less often.
func TestLostHints(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		inBubble(t, func(b *bench) {
			attempt := store.Attempt{Election: "billing", ID: "dead", Nonce: "x", TTL: 15 * time.Second}
			if _, err := b.store.Store.Acquire(b.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			b.store.watch = func(ctx context.Context) error {
				if hangs {
					return b.deaf(ctx)
				}
				return errLost
			}
			term := b.campaign(b.elector("a"))
			if now := b.clock.Now(); now < 15*time.Second || now > 15*time.Second+5*time.Millisecond {
				t.Errorf("elected at %v", now)
			}
			time.Sleep(10 * time.Minute)
			if n := b.store.watches.Load(); hangs && n != 1 || !hangs && (n < 20 || n > 60) {
				t.Errorf("hangs %t: watched %d times in 10 minutes", hangs, n)
			}
			b.resign(term)
			stop := b.run(b.elector("b")) // ends, though its Watch may hang
			time.Sleep(time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A Watch that hangs, as after a failover of the store, is noticed by a grant
// that it did not announce, and begun again: the second resignation is heard of
// at once.
func TestHangingWatchIsBegunAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		other := b.elector("a")
		term := b.campaign(other)
		silent := &rigStore{Store: b.store.Store}
		silent.watch = func(ctx context.Context) error {
			if silent.watches.Load() == 1 {
				<-ctx.Done() // hangs, but can be ended
				return ctx.Err()
			}
			return nil
		}
		var events log
		e := b.on(silent, "b", events.into, func(cfg *elector.Config) { cfg.OnStarted = untilDone })
		stop := b.run(e)
		time.Sleep(time.Second)
		b.resign(term)
		term = b.campaign(other) // unheard of
		time.Sleep(time.Minute)
		if n := silent.watches.Load(); n != 2 {
			t.Fatalf("watched %d times", n)
		}
		if events.troubles(event.ErrNoHints) != 1 {
			t.Error("not reported")
		}
		b.resign(term)
		time.Sleep(10 * time.Millisecond)
		if !e.IsLeader() {
			t.Error("the release was not heard of")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A release wakes a waiter within milliseconds.
func TestReleaseWakesWaiter(t *testing.T) {
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		e := b.elector("b")
		stop := b.run(e)
		time.Sleep(3 * time.Second)
		b.resign(term)
		time.Sleep(2 * time.Millisecond)
		if !e.IsLeader() {
			t.Error("not elected 2ms after the release")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Two live replicas with one configured ID are two candidates; the one that
// waits says so once. A candidate that was merely started again says nothing.
func TestTwoReplicasWithOneID(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		first, second := b.elector("a"), b.elector("a", events.into)
		if first.ID() == second.ID() {
			t.Fatal("one identity for two")
		}
		term := b.campaign(first)
		stop := b.run(second)
		time.Sleep(10 * time.Minute)
		if second.IsLeader() || !first.IsLeader() {
			t.Error("two replicas share a lease")
		}
		if n := events.troubles(event.ErrSameID); n != 1 {
			t.Errorf("told %d times", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		b.resign(term)
	})
	inBubble(t, func(b *bench) {
		attempt := store.Attempt{Election: "billing", ID: "a/before", Nonce: "x", TTL: 15 * time.Second}
		if _, err := b.store.Store.Acquire(b.Context(), attempt); err != nil {
			t.Fatal(err)
		}
		var events log
		time.AfterFunc(3*time.Second, func() { // not so: it is tried, and refused again
			b.store.mu.Lock()
			hint := b.store.hint
			b.store.mu.Unlock()
			hint(store.Hint{Kind: store.HintReleased, Token: 1})
		})
		term := b.campaign(b.elector("a", events.into))
		if len(b.store.attempts) != 3 {
			t.Errorf("%d attempts", len(b.store.attempts))
		}
		if n := events.troubles(event.ErrSameID); n != 0 {
			t.Error("a restart was taken for a second replica")
		}
		b.resign(term)
	})
}

// fast is a clock that gains, by a share of the bubble's.
type fast struct {
	*bubble
	by float64
}

func (f fast) Now() time.Duration { return time.Duration(float64(f.bubble.Now()) * (1 + f.by)) }

func (f fast) AfterFunc(d time.Duration, call func()) elector.Timer {
	return f.bubble.AfterFunc(time.Duration(float64(d)/(1+f.by))+2, call) // not too early
}

// A candidate that was started again finds its own lease of the life before where it
// should have ended, if its clock gains within Config.Drift on the store's, or if the
// refusal takes long to arrive. It takes it for nobody else's.
func TestOwnLeaseOfBefore(t *testing.T) {
	for _, late := range []time.Duration{0, 2 * time.Second} {
		inBubble(t, func(b *bench) {
			attempt := store.Attempt{Election: "billing", ID: "a/before", Nonce: "x", TTL: 15 * time.Second}
			if _, err := b.store.Store.Acquire(b.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			if late > 0 { // a refusal that names a lease which is over when it arrives
				b.store.held = func(held *elector.HeldError) {
					if held.Remaining < time.Second {
						time.Sleep(late)
					}
				}
				time.AfterFunc(14500*time.Millisecond, func() {
					b.store.mu.Lock()
					hint := b.store.hint
					b.store.mu.Unlock()
					hint(store.Hint{Kind: store.HintReleased, Token: 1})
				})
			}
			var events log
			term := b.campaign(b.elector("a", events.into, func(cfg *elector.Config) { cfg.Clock = fast{b.clock, 0.0099} }))
			if n := events.troubles(event.ErrSameID); n != 0 || len(b.store.attempts) < 3 {
				t.Errorf("a restart was taken for a second replica %d times, in %d attempts", n, len(b.store.attempts))
			}
			b.resign(term)
		})
	}
}

// What a store repaired is reported.
func TestRepairIsReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		var events log
		b.store.held = func(h *elector.HeldError) { h.Repaired = "it had no time to live" }
		stop := b.run(b.elector("b", events.into))
		time.Sleep(time.Second)
		if n := len(events.of(event.Trouble)); n != 1 {
			t.Errorf("%d troubles, want the repair", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		b.resign(term)
	})
}

// An observer sees who leads and never becomes a candidate.
func TestObserverNeverCompetes(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		seen := make(chan elector.Leader, 10)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for l, err := range elector.Observe(ctx, b.store, "billing", elector.ObserveOptions{Clock: b.clock}) {
				if err != nil {
					t.Error(err)
				}
				seen <- l
			}
		}()
		time.Sleep(time.Minute)
		if n := b.store.acquires.Load(); n != 0 {
			t.Errorf("%d attempts of an observer", n)
		}
		e := b.elector("a")
		term := b.campaign(e)
		synctest.Wait()
		b.resign(term)
		synctest.Wait()
		cancel()
		<-ended
		want := []string{"", e.ID(), ""}
		for i, id := range want {
			if l := <-seen; l.ID != id {
				t.Errorf("observation %d: %q leads, want %q", i, l.ID, id)
			}
		}
		if len(seen) != 0 {
			t.Errorf("%d observations too many", len(seen))
		}
	})
	inBubble(t, func(b *bench) { // errors are yielded; fatal ones end it
		fails := &failing{Store: b.store, errs: []error{errLost, errLost, &elector.FatalError{Err: errLost}}}
		n := 0
		for _, err := range elector.Observe(b.Context(), fails, "billing", elector.ObserveOptions{Clock: b.clock}) {
			if n++; !errors.Is(err, errLost) {
				t.Errorf("error %v", err)
			}
		}
		if n != 3 {
			t.Errorf("%d errors", n)
		}
	})
}

// An observer that had no answer is told who leads by the next one, though that is who
// led before.
func TestObserverKnowsAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.elector("a")
		term := b.campaign(e)
		fails := &failing{Store: b.store, errs: []error{nil, errLost, nil, nil}}
		var seen []string
		for l, err := range elector.Observe(b.Context(), fails, "billing", elector.ObserveOptions{Clock: b.clock}) {
			if err != nil {
				l.ID = "unknown"
			}
			if seen = append(seen, l.ID); len(seen) == 3 {
				break
			}
		}
		if want := []string{e.ID(), "unknown", e.ID()}; !slices.Equal(seen, want) {
			t.Errorf("told %q, want %q", seen, want)
		}
		b.resign(term)
	})
}

// failing answers Leader with errors, one after the other; nil: as the store does.
type failing struct {
	elector.Store
	errs []error
}

func (f *failing) Leader(ctx context.Context, election string) (elector.Leader, error) {
	err := f.errs[0]
	if f.errs = f.errs[1:]; err != nil {
		return elector.Leader{}, err
	}
	return f.Store.Leader(ctx, election)
}
