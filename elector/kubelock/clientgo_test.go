package kubelock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/recount-io/recount/elector/internal/workbench"
	"github.com/recount-io/recount/elector/kubelock"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/topology"
)

// team are candidates of one election, of which one works at a time.
type team struct {
	*testing.T
	working atomic.Int64
}

// candidate is a LeaderElector of client-go with a Lock.
type candidate struct {
	lock  *kubelock.Lock
	leads chan uint64 // the token with which its work has begun
	stop  func()      // asks it to end
	ended chan struct{}
}

// run runs a candidate whose lease lasts so many seconds, with durations that fit.
func (c *team) run(lock *kubelock.Lock, seconds time.Duration, release bool) *candidate {
	c.Helper()
	one := &candidate{lock: lock, leads: make(chan uint64, 1), ended: make(chan struct{})}
	ctx, stop := context.WithCancel(klog.NewContext(c.Context(), logr.Discard()))
	one.stop = stop
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: seconds * time.Second, RenewDeadline: seconds * time.Second / 3, RetryPeriod: seconds * 2 * time.Second / 15, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if n := c.working.Add(1); n > 1 {
					c.Errorf("%d candidates work", n)
				}
				one.leads <- lock.Token()
				<-ctx.Done()
				c.working.Add(-1)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		c.Fatal(err)
	}
	go func() {
		defer close(one.ended)
		e.Run(ctx)
	}()
	return one
}

// first is the candidate that leads first, with its token.
func first(one, two *candidate) (leader, other *candidate, token uint64) {
	select {
	case token = <-one.leads:
		return one, two, token
	case token = <-two.leads:
		return two, one, token
	}
}

// client-go's candidates lead one after the other: after a release at once, and else when the
// lease is over. Tokens grow.
func TestClientGoElects(t *testing.T) {
	for name, c := range map[string]struct {
		release      bool
		least, limit time.Duration
	}{
		"released":     {true, 0, 5 * time.Second}, // RetryPeriod × 2.2
		"not released": {false, lease - 4*time.Second, lease + 5*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T, b *workbench.Bench) {
				all := &team{T: t}
				leader, other, token := first(all.run(newLock(t, b.Store, b.Clock, "a"), 15, c.release), all.run(newLock(t, b.Store, b.Clock, "b"), 15, c.release))
				time.Sleep(10 * lease)
				if leader.lock.Token() != token || other.lock.Token() != 0 {
					t.Errorf("after ten leases the tokens are %d and %d", leader.lock.Token(), other.lock.Token())
				}
				began := time.Now()
				leader.stop()
				next := <-other.leads
				if took := time.Since(began); next <= token || took < c.least || took > c.limit {
					t.Errorf("tokens %d and %d; nobody led for %v, want %v to %v", token, next, took, c.least, c.limit)
				}
				if r, _, err := other.lock.Get(t.Context()); err != nil || r.LeaderTransitions != 1 || r.HolderIdentity != other.lock.Identity() {
					t.Errorf("the record: %+v, %v", r, err)
				}
				other.stop()
				<-leader.ended
				<-other.ended
			})
		})
	}
}

// A leader that does not reach the store has stopped before another one leads.
func TestClientGoStopsInTime(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		all := &team{T: t}
		away := &workbench.Store{Store: b.Store.Store, Free: b.Store.Free} // the leader's way to the same leases
		leader := all.run(newLock(t, away, b.Clock, "a"), 15, true)
		token := <-leader.leads
		other := all.run(newLock(t, b.Store, b.Clock, "b"), 15, true)
		lost := errors.New("no route to host")
		away.Fails.Store(&lost)
		<-leader.ended
		if next := <-other.leads; next <= token {
			t.Errorf("tokens %d and %d", token, next)
		}
		other.stop()
		<-other.ended
	})
}

// On a real Redis candidates lead one after the other, by a release and by the lease's end.
func TestClientGoOnRedis(t *testing.T) {
	server := topology.Single(t)
	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr}}, redisstore.Options{})
	must(t, "redisstore", err)
	defer func() { must(t, "Close", store.Close()) }()
	must(t, "Vouch", store.Vouch(t.Context(), election)) // nobody waits for a lease that is forgotten
	all := &team{T: t}
	tokens := []uint64{0}
	for _, release := range []bool{true, false, true} {
		one := all.run(newLock(t, store, nil, "one"), 3, release)
		tokens = append(tokens, <-one.leads)
		if holder, _ := get(t, one.lock); holder != one.lock.Identity() {
			t.Errorf("%s leads, want %s", holder, one.lock.Identity())
		}
		next := newLock(t, store, nil, "next")
		if holder, _ := get(t, next); holder != one.lock.Identity() {
			t.Errorf("%s leads, want %s", holder, one.lock.Identity())
		}
		one.stop()
		<-one.ended
	}
	for i := range tokens[1:] {
		if tokens[i+1] <= tokens[i] {
			t.Errorf("tokens that do not grow: %v", tokens)
		}
	}
}
