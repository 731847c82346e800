package quorumstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

// raise makes node n's last token be so large.
func (b *bench) raise(n int, token uint64) {
	b.Helper()
	a := attempt("old", "old/1")
	a.Floor = token - 1
	g, err := b.nodes[n].Acquire(b.Context(), a)
	if err != nil || g.Token != token {
		b.Fatalf("token %d, error %v, want %d", g.Token, err, token)
	}
	if err := b.nodes[n].Release(b.Context(), store.Lease{Election: election, ID: "old", Nonce: "old/1", Token: token}); err != nil {
		b.Fatal(err)
	}
}

// Nodes whose counts differ come to one token, larger than every other.
func TestNodesAreBroughtToOneToken(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		for n, token := range []uint64{10, 10, 3, 3, 7} {
			b.raise(n, token)
		}
		b.set(down, 1)
		l := b.acquire(b.store, "a", "a/1")
		synctest.Wait()
		if l.Token != 11 {
			b.Errorf("token %d, want 11", l.Token)
		}
		b.renew(l) // mends what came too late
		synctest.Wait()
		for _, n := range []int{0, 2, 3, 4} {
			if got := b.on(n); got.ID != "a" || got.Token != 11 {
				b.Errorf("node %d is held by %q with token %d", n, got.ID, got.Token)
			}
		}
	})
}

// A later majority, of other nodes and by a candidate that knows nothing, comes
// to a larger token, although the nodes that it asks had counted far less.
func TestTokensGrowAcrossMajorities(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		b.raise(0, 10)
		b.set(down, 2)
		first := b.acquire(b.store, "a", "a/1")
		synctest.Wait()
		time.Sleep(2 * ttl) // a has crashed
		b.set(down, 0)
		b.set(up, 2)
		if later := b.acquire(b.open(quorumstore.Options{}), "b", "b/1"); later.Token <= first.Token {
			b.Errorf("token %d after %d", later.Token, first.Token)
		}
	})
}

// A majority that agrees is enough: nobody waits for a node whose count is
// ahead, nor follows it.
func TestOneNodeAheadIsNotFollowed(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		b.raise(2, 1<<62+1)
		l := b.acquire(b.store, "a", "a/1")
		if l.Token != 1 {
			b.Errorf("token %d, want 1", l.Token)
		}
	})
}

// Candidates that hold two nodes each have split the vote: the third candidate
// gives back what it got, and is told to try again soon.
func TestSplitVote(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		for n, id := range []string{"x", "x", "y", "y"} {
			if _, err := b.nodes[n].Acquire(b.Context(), attempt(id, id+"/1")); err != nil {
				b.Fatal(err)
			}
		}
		_, err := b.try(b.store, "a", "a/1")
		held := new(store.HeldError)
		ok := errors.As(err, &held)
		if !ok || held.Holder != "x" && held.Holder != "y" || held.Remaining > ttl/4 {
			b.Fatalf("error %v, want a short HeldError that names x or y", err)
		}
		synctest.Wait()
		if b.holders("a") != 0 {
			b.Error("a keeps a node that nobody else could get")
		}
	})
}

// Candidates that begin at one moment and try again when they are told do not
// split the vote for ever.
func TestSplitVotesResolve(t *testing.T) {
	for seed := range 30 {
		inBubble(t, 5, func(b *bench) {
			p := plan{Seed: uint64(seed), Nodes: 5, Candidates: 5, Delay: 5 * time.Millisecond}
			w := &world{plan: p, now: b.now, nodes: b.nodes, healing: make(chan struct{}), finished: make(chan struct{}), until: make(map[string]time.Duration)}
			won := make(chan time.Duration, p.Candidates)
			ctx, cancel := context.WithCancel(b.Context())
			for i := range p.Candidates {
				c := w.candidate(t, i)
				go func() {
					for k := 0; ctx.Err() == nil; k++ {
						_, err := b.try(c.store, c.id, fmt.Sprintf("%s/%d/%d", c.id, seed, k))
						if err == nil {
							won <- b.now()
							return
						}
						if held := new(store.HeldError); errors.As(err, &held) {
							<-time.After(held.Remaining)
						}
					}
				}()
			}
			at := <-won
			cancel()
			time.Sleep(2 * ttl)
			if at > time.Second {
				b.Errorf("seed %d: the first success after %v", seed, at)
			}
		})
	}
}

// A refusal says when a majority can be free: nodes where less is left do not
// count before enough of them are.
func TestRemainingIsOfAMajority(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.acquire(b.store, "a", "a/1")
		time.Sleep(4 * time.Second)
		b.set(down, 3, 4)
		b.renew(l)
		b.set(up, 3, 4)
		time.Sleep(time.Second)
		_, err := b.try(b.open(quorumstore.Options{}), "b", "b/1")
		held := new(store.HeldError)
		ok := errors.As(err, &held)
		if !ok || held.Holder != "a" || held.Token != l.Token || held.Remaining != ttl-time.Second {
			b.Errorf("error %v, want held by a, for another %v", err, ttl-time.Second)
		}
	})
}

// Nodes that hang, even without regard to their contexts, delay no answer that
// the others have decided.
func TestHungNodesDelayNothing(t *testing.T) {
	for _, m := range []mode{hanging, deaf, mute} {
		inBubble(t, 5, func(b *bench) {
			b.set(m, 1, 2)
			l := b.acquire(b.store, "a", "a/1")
			b.renew(l)
			if leader, err := b.store.Leader(b.Context(), election); err != nil || leader.ID != "a" {
				b.Errorf("leader %+v, error %v", leader, err)
			}
			if b.now() != 0 {
				b.Errorf("mode %d: took %v", m, b.now())
			}
			if _, err := b.try(b.store, "b", "b/1"); err == nil || b.now() > 2*time.Millisecond {
				b.Errorf("mode %d: error %v after %v", m, err, b.now())
			}
			if err := b.store.Release(b.Context(), l); err != nil || b.now() > 4*time.Millisecond {
				b.Errorf("mode %d: released after %v, error %v", m, b.now(), err)
			}
		})
	}
}

// With a majority away the outcome is unknown, and says which nodes failed. What
// the others granted is given back. Repeated with its nonce the attempt succeeds
// as soon as it can, and then gets one token however often it is repeated.
func TestUnknownOutcome(t *testing.T) {
	for _, m := range []mode{down, hanging, mute} {
		inBubble(t, 5, func(b *bench) {
			b.set(m, 0, 1, 2)
			ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
			defer cancel()
			_, err := b.store.Acquire(ctx, attempt("a", "a/1"))
			undecided := new(quorumstore.UndecidedError)
			ok := errors.As(err, &undecided)
			if !ok || undecided.Quorum != 3 || !strings.Contains(err.Error(), "node 2") || strings.Contains(err.Error(), "node 4") {
				b.Fatalf("mode %d: error %v, want an UndecidedError about nodes 1, 2 and 3", m, err)
			}
			if b.now() > time.Second+2*time.Millisecond {
				b.Errorf("mode %d: known after %v, want the node's second", m, b.now())
			}
			synctest.Wait()
			if b.on(3).ID != "" || b.on(4).ID != "" {
				b.Error("a minority is still held")
			}
			b.set(up, 0, 1, 2)
			l := b.acquire(b.store, "a", "a/1")
			if again := b.acquire(b.store, "a", "a/1"); again.Token != l.Token {
				b.Errorf("mode %d: token %d, then %d", m, l.Token, again.Token)
			}
			b.renew(l)
		})
	}
}

// lateRelease holds the first release back.
type lateRelease struct {
	store.Store
	gate chan struct{}
	sent atomic.Bool
}

func (s *lateRelease) Release(ctx context.Context, l store.Lease) error {
	if s.sent.CompareAndSwap(false, true) {
		<-s.gate
		ctx = context.WithoutCancel(ctx)
	}
	return s.Store.Release(ctx, l)
}

// A release that arrives late, of an attempt that failed, does not end what the
// same attempt was granted when it was repeated.
func TestLateReleaseEndsNothing(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		late := &lateRelease{Store: b.nodes[0], gate: make(chan struct{})}
		s, err := quorumstore.New([]store.Store{late, b.nodes[1], b.nodes[2]}, quorumstore.Options{Now: b.now})
		if err != nil {
			b.Fatal(err)
		}
		b.set(mute, 1, 2) // they grant the same token, and nobody knows
		if _, err := b.try(s, "a", "a/1"); err == nil {
			b.Fatal("acquired with one answer of three")
		}
		b.set(up, 1)
		b.set(down, 2)
		l := b.acquire(s, "a", "a/1")
		close(late.gate)
		synctest.Wait()
		if b.on(0).ID != "a" || b.on(1).ID != "a" {
			b.Errorf("a late release has ended the lease %d that two nodes were counted for", l.Token)
		}
	})
}

// What a node grants too late to be of use is given back, although nobody waits
// for it any more.
func TestLateGrantIsGivenBack(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		gate := make(chan struct{})
		s, err := quorumstore.New([]store.Store{lateGrant{b.nodes[0], gate}, b.nodes[1], b.nodes[2]}, quorumstore.Options{Now: b.now})
		if err != nil {
			b.Fatal(err)
		}
		b.set(down, 1, 2)
		if _, err := b.try(s, "a", "a/1"); err == nil {
			b.Fatal("acquired on one of three nodes")
		}
		if b.holders("a") != 1 {
			b.Fatal("the node has granted nothing")
		}
		close(gate)
		synctest.Wait()
		if b.holders("a") != 0 {
			b.Error("a late grant is kept")
		}
	})
}

// lateGrant answers attempts when the gate is open.
type lateGrant struct {
	store.Store
	gate chan struct{}
}

func (s lateGrant) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	g, err := s.Store.Acquire(ctx, a)
	<-s.gate
	return g, err
}

// Nodes that refuse for good are fatal only if no majority is left without them,
// and are reported in any case.
func TestFatal(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		var reported atomic.Int64
		s := b.open(quorumstore.Options{Names: []string{"red", "green", "blue", "grey", "pink"}, OnError: func(node, call string, err error) {
			if (node == "green" || node == "blue") && (call == "acquire" || call == "renew") && strings.Contains(err.Error(), "NOAUTH") {
				reported.Add(1)
			}
		}})
		b.set(fatal, 1, 2)
		l := b.acquire(s, "a", "a/1")
		synctest.Wait()
		if err := s.Renew(b.Context(), l); err != nil || reported.Load() < 2 {
			b.Errorf("error %v; %d failures were reported", err, reported.Load())
		}
		b.set(fatal, 4)
		for what, err := range map[string]error{
			"renew":   s.Renew(b.Context(), l),
			"acquire": second(b.try(s, "a", "a/2")),
			"leader":  second(s.Leader(b.Context(), election)),
			"release": s.Release(b.Context(), l),
		} {
			f := new(store.FatalError)
			ok := errors.As(err, &f)
			if !ok || f.Fix != "give the password (green first)" || !strings.Contains(f.Error(), "blue: NOAUTH") {
				b.Errorf("%s: error %v, want a FatalError", what, err)
			}
		}
	})
}

func second[V any](_ V, err error) error { return err }

// A minority's fatal error, and single refusals, do not show through an unknown
// outcome: the elector would take them for the answer of the whole.
func TestUndecidedIsNothingElse(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		if _, err := b.nodes[4].Acquire(b.Context(), attempt("x", "x/1")); err != nil {
			b.Fatal(err)
		}
		b.set(fatal, 0)
		b.set(down, 1, 2)
		_, err := b.try(b.store, "a", "a/1")
		isFatal := errors.As(err, new(*store.FatalError))
		isHeld := errors.As(err, new(*store.HeldError))
		if err == nil || isFatal || isHeld || !errors.Is(err, errDown) {
			b.Errorf("error %v (fatal %v, held %v)", err, isFatal, isHeld)
		}
	})
}

// While a majority of the nodes grants nothing after a loss of data, the
// refusal says so, and when it will be over.
func TestWithheld(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		b.nodes[0].forget()
		time.Sleep(time.Second)
		b.nodes[2].forget()
		_, err := b.try(b.store, "a", "a/1")
		held := new(store.HeldError)
		ok := errors.As(err, &held)
		if !ok || held.Withheld == "" || held.Holder != "" || held.Remaining != ttl-time.Second {
			b.Fatalf("error %v, want it withheld for %v", err, ttl-time.Second)
		}
		time.Sleep(held.Remaining)
		b.acquire(b.store, "a", "a/2")
	})
}

// panics is a store that does.
type panics struct{ store.Store }

func (panics) Acquire(context.Context, store.Attempt) (store.Grant, error) { panic("out of luck") }

// A node that panics is a node that failed, and a node at which too many
// requests hang is asked no more.
func TestBadNodes(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		b.set(deaf, 2)
		var reported []string
		done := make(chan struct{}, 100)
		s, err := quorumstore.New([]store.Store{b.nodes[0], panics{b.nodes[1]}, b.nodes[2]}, quorumstore.Options{
			Now: b.now, MaxPending: 3,
			OnError: func(node, _ string, err error) {
				if node == "node 2" && !errors.Is(err, event.ErrPanic) {
					t.Errorf("error %v, want a panic", err)
				}
				if node == "node 3" {
					reported = append(reported, err.Error())
				}
				done <- struct{}{}
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		for i := range 5 {
			if _, err := b.try(s, "a", fmt.Sprintf("a/%d", i)); err == nil {
				b.Fatal("acquired on one of three nodes")
			}
			synctest.Wait()
		}
		if n := b.nodes[2].count("acquire"); n != 3 {
			b.Errorf("%d requests hang at one node, want 3 at most", n)
		}
		if !strings.Contains(strings.Join(reported, "\n"), "too many") {
			b.Errorf("got the reports %q", reported)
		}
	})
}

// Nodes and options that cannot work are refused, with what to do.
func TestNewRefuses(t *testing.T) {
	one, two := memstore.New(memstore.Options{}), memstore.New(memstore.Options{})
	for want, make := range map[string]func() (*quorumstore.Store, error){
		"no nodes": func() (*quorumstore.Store, error) { return quorumstore.New(nil, quorumstore.Options{}) },
		"node 2 is nil": func() (*quorumstore.Store, error) {
			return quorumstore.New([]store.Store{one, nil}, quorumstore.Options{})
		},
		"a and c are one store": func() (*quorumstore.Store, error) {
			return quorumstore.New([]store.Store{one, two, one}, quorumstore.Options{Names: []string{"a", "b", "c"}})
		},
		"NodeTimeout": func() (*quorumstore.Store, error) {
			return quorumstore.New([]store.Store{one}, quorumstore.Options{NodeTimeout: -1})
		},
		"MaxPending": func() (*quorumstore.Store, error) {
			return quorumstore.New([]store.Store{one}, quorumstore.Options{MaxPending: -1})
		},
		"2 names for 1 nodes": func() (*quorumstore.Store, error) {
			return quorumstore.New([]store.Store{one}, quorumstore.Options{Names: []string{"a", "b"}})
		},
	} {
		if s, err := make(); err == nil || s != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// An attempt that is repeated while its first try hangs takes that one's place:
// only one of them decides what is kept, and both cannot undo each other's work.
func TestRepetitionTakesOver(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		b.raise(0, 5)
		b.set(hanging, 1, 2)
		first := make(chan error, 1)
		go func() { first <- second(b.try(b.store, "a", "a/1")) }()
		synctest.Wait()
		b.set(up, 1, 2)
		l := b.acquire(b.store, "a", "a/1")
		if err := <-first; err == nil || b.now() != 0 {
			b.Errorf("the first try returned %v at %v, want an unknown outcome at once", err, b.now())
		}
		time.Sleep(2 * time.Second) // what the first try left behind ends
		if n := b.holders("a"); n != 3 || l.Token != 6 {
			b.Errorf("%d nodes are held with token %d, want 3 with 6", n, l.Token)
		}
		b.renew(l)
	})
}

// far is a node to which a connection takes long to open, and is given up with its
// request.
type far struct {
	store.Store
	opens time.Duration
	open  atomic.Bool
}

func (s *far) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if !s.open.Load() {
		select {
		case <-time.After(s.opens):
			s.open.Store(true)
		case <-ctx.Done():
			return store.Grant{}, ctx.Err()
		}
	}
	return s.Store.Acquire(ctx, a)
}

// Nodes are waited for a quarter of a call's time. To whom a connection takes longer
// than that it is opened all the same, for the next call, and what the first one was
// granted is given back.
func TestFarNodes(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		const call = 400 * time.Millisecond
		var nodes []store.Store
		for _, n := range b.nodes {
			nodes = append(nodes, &far{Store: n, opens: 3 * call / 4})
		}
		s, err := quorumstore.New(nodes, quorumstore.Options{Now: b.now, NodeTimeout: call / 10})
		if err != nil {
			b.Fatal(err)
		}
		try := func(nonce string) error {
			ctx, cancel := context.WithTimeout(b.Context(), call)
			defer cancel()
			return second(s.Acquire(ctx, attempt("a", nonce)))
		}
		if err := try("a/1"); err == nil || b.now() > call/4 {
			b.Errorf("error %v after %v, want none of the nodes waited for", err, b.now())
		}
		time.Sleep(call)
		if n := b.holders("a"); n != 0 {
			b.Errorf("%d nodes hold what came too late", n)
		}
		if err := try("a/2"); err != nil {
			b.Error(err)
		}
	})
}

// slow is a node that takes its time.
type slow struct{ store.Store }

func (s slow) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Store.Acquire(ctx, a)
}

// An attempt, repeated or not, waits for a slow node where the majority depends
// on it, however fast the others answer or fail.
func TestSlowNodeIsWaitedFor(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		s, err := quorumstore.New([]store.Store{b.nodes[0], b.nodes[1], slow{b.nodes[2]}, b.nodes[3], b.nodes[4]}, quorumstore.Options{Now: b.now})
		if err != nil {
			b.Fatal(err)
		}
		b.set(down, 3, 4)
		l := b.acquire(s, "a", "a/1")
		if again := b.acquire(s, "a", "a/1"); again.Token != l.Token || b.now() != 200*time.Millisecond {
			b.Errorf("tokens %d and %d after %v", l.Token, again.Token, b.now())
		}
		_, err = b.try(s, "b", "b/1")
		if held := new(store.HeldError); !errors.As(err, &held) || held.Holder != "a" {
			b.Errorf("error %v, want held by a: the slow node decides", err)
		}
	})
}

// What is of no more use is forgotten, however many elections there were.
func TestForgets(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		for i := range 5000 {
			a := store.Attempt{Election: fmt.Sprint("e", i), ID: "a", Nonce: "a/1", TTL: ttl}
			if _, err := b.store.Acquire(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			time.Sleep(ttl)
		}
		if attempts, elections := b.store.Known(); attempts > 600 || elections > 600 {
			b.Errorf("%d attempts and %d elections are remembered", attempts, elections)
		}
	})
}

// successor is a node that notes to whom a lease is handed over.
type successor struct {
	store.Store
	leases chan store.Lease
}

func (h successor) Release(ctx context.Context, l store.Lease) error {
	h.leases <- l
	return h.Store.Release(ctx, l)
}

// Every node is told to whom a lease is handed over; nobody gets what an attempt
// that failed gives back.
func TestHandOverReachesNodes(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		leases := make(chan store.Lease, 10)
		var nodes []store.Store
		for _, n := range b.nodes {
			nodes = append(nodes, successor{n, leases})
		}
		s, err := quorumstore.New(nodes, quorumstore.Options{Now: b.now})
		if err != nil {
			b.Fatal(err)
		}
		l := b.acquire(s, "a", "a/1")
		synctest.Wait()
		l.To, l.Reserve = "b", time.Second
		if err := s.Release(b.Context(), l); err != nil {
			b.Fatal(err)
		}
		for range nodes {
			if got := <-leases; got.To != "b" || got.Reserve != time.Second {
				b.Errorf("a node was told %+v", got)
			}
		}
		b.set(down, 0, 1)
		if _, err := b.try(s, "b", "b/1"); err == nil {
			b.Fatal("acquired on one of three nodes")
		}
		if got := <-leases; got.To != "" || got.Token == 0 {
			b.Errorf("given back: %+v", got)
		}
	})
}
