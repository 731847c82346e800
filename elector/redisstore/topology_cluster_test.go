package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// leaseKey is in the slot of all keys of the election.
const leaseKey = redisstore.DefaultPrefix + "{" + billing + "}:lease"

// startCluster starts a cluster for the test.
func startCluster(t *testing.T) (context.Context, *topology.Cluster) {
	t.Helper()
	ctx, l := launcher(t)
	return ctx, topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
}

// inCluster makes three electors compete in a cluster, until one leads.
func inCluster(ctx context.Context, t *testing.T, r *topology.Cluster, o redisstore.Options) (*stage, elector.Event) {
	t.Helper()
	prime(ctx, t, openURL(t, r.URL(), o), billing)
	s := newStage(t, ctx)
	for _, id := range []string{"n1", "n2", "n3"} {
		s.enter(id, openURL(t, r.URL(), o), time.Second)
	}
	return s, s.await(0, "the first leader", elected)
}

// The node that has the election's keys is killed under an elected leader. Its
// replica takes over, and afterwards somebody leads again, with a larger token.
func TestClusterFailover(t *testing.T) {
	for _, kind := range kinds {
		if kind.options.Replicas > 0 {
			continue // a node that was promoted has no replica left that could confirm
		}
		t.Run(kind.name, func(t *testing.T) {
			ctx, r := startCluster(t)
			s, first := inCluster(ctx, t, r, kind.options)
			owner, _, err := r.Owner(s.ctx, leaseKey)
			ok(t, err)
			ok(t, owner.InStep(s.ctx, 1))
			killed := elector.SystemClock().Now()
			ok(t, owner.Kill())
			topology.Must[*topology.Server](t)(r.AwaitOwner(s.ctx, leaseKey, owner))
			switched := elector.SystemClock().Now()
			next := s.await(0, "a leader after the failover", func(ev elector.Event) bool { return leads(ev) && ev.At > switched })
			t.Logf("the cluster took %.2fs; somebody led again %.2fs after that (%s, token %d after %d)",
				(switched - killed).Seconds(), (next.At - switched).Seconds(), next.Kind, next.Token, first.Token)
			s.demandOne()
		})
	}
}

// A replica takes the slots over by order while its primary lives (CLUSTER
// FAILOVER), which loses nothing: who leads is sent to the new owner (MOVED), and
// the term goes on, although the new owner has never seen the scripts.
func TestClusterHandover(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			ctx, r := startCluster(t) // of its own: a shard may not elect anew for a second
			s, first := inCluster(ctx, t, r, kind.options)
			owner, replicas, err := r.Owner(s.ctx, leaseKey)
			ok(t, err)
			ok(t, replicas[0].Client().ScriptFlush(s.ctx).Err())
			ok(t, replicas[0].Client().ClusterFailover(s.ctx).Err())
			topology.Must[*topology.Server](t)(r.AwaitOwner(s.ctx, leaseKey, owner))
			switched := elector.SystemClock().Now()
			next := s.await(0, "a leader after the handover", func(ev elector.Event) bool { return leads(ev) && ev.At > switched })
			if next.Token != first.Token {
				t.Errorf("token %d leads after %d: the term did not outlive an orderly failover\n%s", next.Token, first.Token, s)
			}
			s.demandOne()
		})
	}
}

// Another shard than the election's is gone, and the cluster serves nobody
// (CLUSTERDOWN): that passes. When the shard is back somebody leads again, with
// a larger token.
func TestClusterDown(t *testing.T) {
	ctx, r := startCluster(t)
	s, first := inCluster(ctx, t, r, redisstore.Options{})
	owner, _, err := r.Owner(s.ctx, leaseKey)
	ok(t, err)
	i := (slices.Index(r.Nodes, owner) + 1) % 3
	other, its := r.Nodes[i], r.Nodes[i+3]
	ok(t, errors.Join(its.Kill(), other.Kill()))
	s.await(0, "CLUSTERDOWN", func(ev elector.Event) bool {
		return ev.Err != nil && strings.Contains(ev.Err.Error(), "CLUSTERDOWN")
	})
	s.await(0, "the leader's end", func(ev elector.Event) bool { return ev.Kind == event.Deposed })
	ok(t, other.Start(s.ctx))
	ok(t, r.AwaitOK(s.ctx, other, owner))
	next := s.await(0, "a leader afterwards", func(ev elector.Event) bool { return elected(ev) && ev.Token != first.Token })
	t.Logf("token %d after %d", next.Token, first.Token)
	s.demandOne()
}

// A slot on its way from one node to another is served by the node that has its keys
// at the moment (ASK, TRYAGAIN), and then by its new owner (MOVED): a lease in
// it is renewed all the time, and nobody else gets it.
func TestClusterSlotMoves(t *testing.T) {
	ctx, r := startCluster(t)
	for i, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			kind.options.Prefix = prefix(i)
			h := newHolder(ctx, t, openURL(t, r.URL(), kind.options))
			m := newMove(ctx, t, r)
			m.announce()
			h.holds("before the keys move")
			m.keys()
			h.holds("after the keys moved")
			m.finish()
			h.holds("after the slot moved")
		})
	}
}

// A slot whose move was interrupted stays open. The leader of an election in it is renewed
// all the time, but a lease that is over is granted to nobody: who asks is told why, and so
// does Preflight. When the move is finished the lease is granted as after a failover.
func TestClusterSlotStaysOpen(t *testing.T) {
	ctx, r := startCluster(t)
	s := openURL(t, r.URL(), redisstore.Options{})
	h := newHolder(ctx, t, s)
	m := newMove(ctx, t, r)
	m.announce()
	h.holds("while the slot is open")
	ok(t, s.Release(ctx, h.lease))
	b := store.Attempt{Election: billing, ID: "n2", Nonce: "n2/2", Request: 2, TTL: h.lease.TTL}
	refused := func(when string, s *redisstore.Store) {
		t.Helper()
		_, err := s.Acquire(ctx, b)
		var fatal *store.FatalError
		if err == nil || errors.As(err, &fatal) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: acquire: got %v, want an error of one line that may pass", when, err)
		}
		for _, part := range []string{"TRYAGAIN", "slot", "nobody new is elected", "redis-cli --cluster fix"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: acquire: got %q, want it to say %q", when, err, part)
			}
		}
	}
	refused("before keys have moved", s)
	refused("a new election", openURL(t, r.URL(), redisstore.Options{Prefix: "other:"})) // in the same slot
	if _, err := s.Leader(ctx, billing); err == nil || !strings.Contains(err.Error(), "redis-cli --cluster fix") {
		t.Errorf("leader: got %v, want what is the matter", err)
	}
	p := topology.Must[store.Preflight](t)(s.Preflight(ctx))
	f := found(t, p, store.SeverityWarning, "open-slots", m.from.Addr+" ["+strconv.FormatInt(m.slot, 10)+"->-")
	if !strings.Contains(f.Text, m.to.Addr+" ["+strconv.FormatInt(m.slot, 10)+"-<-") || !strings.Contains(f.Fix, "--cluster fix") {
		t.Errorf("found %+v", f)
	}
	m.keys()
	refused("after keys have moved", s)
	m.finish()
	var held *store.HeldError
	if _, err := s.Acquire(ctx, b); !errors.As(err, &held) || held.Withheld == "" || held.Remaining > b.TTL {
		t.Errorf("after the move: acquire: got %v, want that another server grants nothing for a lease", err)
	}
	for _, f := range topology.Must[store.Preflight](t)(s.Preflight(ctx)).Findings {
		if f.Subject == "open-slots" {
			t.Errorf("after the move: found %+v", f)
		}
	}
}

// holder holds a lease.
type holder struct {
	ctx   context.Context
	t     *testing.T
	store *redisstore.Store
	lease store.Lease
}

func newHolder(ctx context.Context, t *testing.T, s *redisstore.Store) *holder {
	t.Helper()
	prime(ctx, t, s, billing)
	a := store.Attempt{Election: billing, ID: "n1", Nonce: "n1/1", Request: 1, TTL: time.Minute}
	g, err := s.Acquire(ctx, a)
	ok(t, err)
	return &holder{ctx, t, s, store.Lease{Election: billing, ID: a.ID, Nonce: a.Nonce, Token: g.Token, Request: 2, TTL: a.TTL}}
}

func (h *holder) renew() error { return h.store.Renew(h.ctx, h.lease) }

// holds demands that the lease is renewed, by the first try, and refused to
// another.
func (h *holder) holds(when string) {
	h.t.Helper()
	if err := h.renew(); err != nil {
		h.t.Errorf("%s: renew: %v", when, err)
	}
	var refused *store.HeldError
	b := store.Attempt{Election: billing, ID: "n2", Nonce: "n2/1", Request: 1, TTL: h.lease.TTL}
	if _, err := h.store.Acquire(h.ctx, b); !errors.As(err, &refused) || refused.Holder != h.lease.ID {
		h.t.Errorf("%s: acquire by another: %v", when, err)
	}
}

// move moves the slot of the election, in the steps of redis-cli --cluster
// reshard.
type move struct {
	ctx      context.Context
	t        *testing.T
	from, to *topology.Server
	slot     int64
	ids      map[*topology.Server]string
	nodes    []*topology.Server
}

func newMove(ctx context.Context, t *testing.T, r *topology.Cluster) *move {
	t.Helper()
	m := &move{ctx: ctx, t: t, ids: map[*topology.Server]string{}, nodes: r.Nodes[:3]}
	var err error
	m.from, _, err = r.Owner(ctx, leaseKey)
	ok(t, err)
	m.slot, err = m.from.Client().ClusterKeySlot(ctx, leaseKey).Result()
	ok(t, err)
	for _, s := range m.nodes {
		m.ids[s], err = s.Client().ClusterMyID(ctx).Result()
		ok(t, err)
		if s != m.from {
			m.to = s
		}
	}
	return m
}

func (m *move) order(s *topology.Server, args ...any) {
	m.t.Helper()
	ok(m.t, s.Client().Do(m.ctx, append([]any{"CLUSTER", "SETSLOT", m.slot}, args...)...).Err())
}

func (m *move) announce() {
	m.t.Helper()
	m.order(m.to, "IMPORTING", m.ids[m.from])
	m.order(m.from, "MIGRATING", m.ids[m.to])
}

func (m *move) keys() {
	m.t.Helper()
	keys, err := m.from.Client().ClusterGetKeysInSlot(m.ctx, int(m.slot), 100).Result()
	ok(m.t, err)
	if len(keys) == 0 {
		m.t.Fatal("the slot of the election is empty")
	}
	args := []any{"MIGRATE", "127.0.0.1", m.to.Port(), "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	ok(m.t, m.from.Client().Do(m.ctx, args...).Err())
	ok(m.t, m.to.Client().ScriptFlush(m.ctx).Err()) // it has not seen the scripts, as a new node
}

func (m *move) finish() {
	m.t.Helper()
	for _, s := range []*topology.Server{m.to, m.from, m.nodes[0], m.nodes[1], m.nodes[2]} {
		m.order(s, "NODE", m.ids[m.to])
	}
}

// A cluster whose nodes have all forgotten the scripts keeps its leader.
func TestClusterScriptFlush(t *testing.T) {
	ctx, r := startCluster(t)
	s, first := inCluster(ctx, t, r, redisstore.Options{})
	for _, node := range r.Nodes {
		ok(t, node.Client().ScriptFlush(s.ctx).Err())
	}
	flushed := elector.SystemClock().Now()
	next := s.await(0, "a renewal", func(ev elector.Event) bool { return leads(ev) && ev.At > flushed })
	if next.Token != first.Token {
		t.Errorf("token %d leads after %d: the term did not outlive SCRIPT FLUSH\n%s", next.Token, first.Token, s)
	}
	if n := len(s.terms()); n != 1 {
		t.Errorf("%d terms\n%s", n, s)
	}
}
