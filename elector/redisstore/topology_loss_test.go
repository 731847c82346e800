package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/topology"
)

// loss is what a failover does to an election: a leader that still reaches the
// old primary, or expects that it will soon, and a candidate that comes after
// the failover and asks the new one.
type loss struct {
	*stage
	servers  *topology.Sentinels
	options  redisstore.Options
	lease    time.Duration
	old, new elector.Event
}

// newLoss elects a leader that knows the primary only. If lacking, no replica
// gets to know of its lease.
func newLoss(t *testing.T, o redisstore.Options, lease time.Duration, lacking bool) *loss {
	t.Helper()
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
	f := &loss{stage: newStage(t, ctx), servers: r, options: o, lease: lease}
	prime(ctx, t, openURL(t, r.URL(), o), billing)
	ok(t, r.Primary.InStep(ctx, 2))
	if lacking {
		ok(t, r.Primary.Sever(ctx))
	}
	f.enter("old", direct(t, r.Primary, r.Password, o), lease)
	f.old = f.await(0, "the first leader", elected)
	if !lacking {
		ok(t, r.Primary.InStep(ctx, 2))
	}
	return f
}

// failover makes a failover by what is done to the primary, and lets a new
// candidate be elected after it.
func (f *loss) failover(how func(*topology.Server, context.Context) error) {
	f.t.Helper()
	watch := topology.Must[*topology.Switch](f.t)(f.servers.Switching(f.ctx))
	defer func() { ok(f.t, watch.Close()) }()
	ok(f.t, how(f.servers.Primary, f.ctx))
	topology.Must[*topology.Server](f.t)(watch.Await(f.ctx))
	switched := elector.SystemClock().Now()
	f.enter("new", openURL(f.t, f.servers.URL(), f.options), f.lease)
	f.new = f.await(0, "the new leader", func(ev elector.Event) bool { return elected(ev) && ev.At > switched })
	f.t.Logf("elected %.2fs after the failover, with token %d after %d", (f.new.At - switched).Seconds(), f.new.Token, f.old.Token)
}

func kill(s *topology.Server, _ context.Context) error { return s.Kill() }

// Without protection, a failover to a replica that lacks the lease makes two
// leaders with one token: this is what the protection is there for, and what
// shows that the next tests can fail.
func TestLossUnprotected(t *testing.T) {
	f := newLoss(t, redisstore.Options{Unprotected: true}, 30*time.Second, true)
	f.failover(kill)
	if doubles, repeated := f.doubles(); doubles == 0 || repeated == 0 {
		t.Errorf("%d terms overlap, %d have no larger token: the loss did not do what it is there for\n%s", doubles, repeated, f)
	}
}

// With it, the promoted replica grants nothing for as long as the lease that it
// lacks may last, and goes on with a larger token.
func TestLossProtected(t *testing.T) {
	f := newLoss(t, redisstore.Options{}, 4*time.Second, true)
	f.failover(kill)
	f.demandOne()
}

// An isolated old primary keeps its leader for as long as it likes, if nobody
// asks replicas to confirm: two lead, and only the tokens tell them apart.
func TestIsolatedUnconfirmed(t *testing.T) {
	f := newLoss(t, redisstore.Options{}, time.Second, false)
	f.failover((*topology.Server).Isolate)
	f.await(f.seen(), "a renewal by the old primary", func(ev elector.Event) bool {
		return ev.ID == f.old.ID && ev.Kind == event.Extended && ev.At > f.new.At
	})
	if doubles, repeated := f.doubles(); doubles == 0 || repeated > 0 {
		t.Errorf("%d terms overlap, want one; %d have no larger token, want none\n%s", doubles, repeated, f)
	}
}

// It cannot keep its leader alive once a replica must confirm each renewal: the
// leader is deposed, by its own clock, before the new primary elects another.
func TestIsolatedConfirmed(t *testing.T) {
	f := newLoss(t, redisstore.Options{Replicas: 1}, time.Second, false)
	f.failover((*topology.Server).Isolate)
	f.demandOne()
	f.await(0, "the old leader's end", func(ev elector.Event) bool { return ev.ID == f.old.ID && ev.Kind == event.Deposed })
	// The server is there and answers: what ended the term is that nobody else
	// has its data.
	if got, err := f.servers.Primary.Client().Ping(f.ctx).Result(); err != nil || got != "PONG" {
		t.Errorf("the old primary: %q, %v", got, err)
	}
}

// An operator moves the primary while it lives (SENTINEL FAILOVER), and its
// leader knows no other server. When the replicas have followed the new primary,
// renewals are unconfirmed at the old one, or refused by it once it follows too:
// the leader is deposed before the new primary elects another.
func TestOrderlyFailoverConfirmed(t *testing.T) {
	f := newLoss(t, redisstore.Options{Replicas: 1}, 4*time.Second, false)
	f.failover(func(_ *topology.Server, ctx context.Context) error {
		return f.servers.Sentinels[0].Client().Do(ctx, "SENTINEL", "FAILOVER", topology.MasterName).Err()
	})
	f.await(0, "a renewal that does not count", func(ev elector.Event) bool {
		return ev.ID == f.old.ID && ev.Err != nil && (errors.Is(ev.Err, redisstore.ErrUnconfirmed) || strings.Contains(ev.Err.Error(), "READONLY"))
	})
	f.await(0, "the old leader's end", func(ev elector.Event) bool { return ev.ID == f.old.ID && ev.Kind == event.Deposed })
	f.demandOne()
}

// A replica that moves from one primary to another one confirms first there and
// then here, maybe when the new primary has been one for longer than a lease, as
// when Sentinels are slow to tell the replica. The old leader's last renewal was
// confirmed just before, so the new primary grants nothing for a lease from then
// on. If all replicas must confirm, the old primary's leader has ended by then: it
// lost its confirmations when the first of them was promoted.
func TestMovingReplica(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " of 2"), func(t *testing.T) {
			ctx, l := launcher(t)
			r := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 2, topology.Config{}))
			promoted, moving := r.Replicas[0], r.Replicas[1]
			s, o := newStage(t, ctx), redisstore.Options{Replicas: replicas}
			const lease = 3 * time.Second
			prime(ctx, t, direct(t, r.Primary, "", o), billing)
			s.enter("old", direct(t, r.Primary, "", o), lease)
			old := s.await(0, "the old leader", elected)
			ok(t, r.Primary.InStep(ctx, 2))
			ok(t, promoted.Client().Do(ctx, "REPLICAOF", "NO", "ONE").Err())
			began := elector.SystemClock().Now()
			o.Replicas = 1 // all that the promoted one has left
			s.enter("new", direct(t, promoted, "", o), lease)
			s.await(0, "a grant that nobody confirms", func(ev elector.Event) bool {
				return errors.Is(ev.Err, redisstore.ErrUnconfirmed) && ev.ID != old.ID
			})
			if replicas == 1 {
				s.await(0, "a renewal long after the promotion", func(ev elector.Event) bool {
					return ev.ID == old.ID && ev.Kind == event.Extended && ev.At > began+lease
				})
			}
			ok(t, moving.Client().Do(ctx, "REPLICAOF", "127.0.0.1", promoted.Port()).Err())
			s.await(0, "the new leader", func(ev elector.Event) bool { return elected(ev) && ev.ID != old.ID })
			s.await(0, "the old leader's end", func(ev elector.Event) bool { return ev.ID == old.ID && ev.Kind == event.Deposed })
			if doubles, repeated := s.doubles(); doubles > 0 || repeated > 0 {
				t.Errorf("%d terms overlap; %d have no larger token\n%s", doubles, repeated, s)
			}
		})
	}
}
