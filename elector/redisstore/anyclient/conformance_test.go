package anyclient

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/internal/topology"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connect is somebody else's client, closed at the test's end, with and without pipelines.
func connect(t *testing.T, s *topology.Server) map[string]Client {
	c := theirs{redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})}
	t.Cleanup(func() { _ = c.Close() })
	return map[string]Client{"one by one": c, "pipelined": piped{c}}
}

// The store keeps the contract of every store on somebody else's client.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := topology.Single(t)
	ctx := t.Context()
	for name, c := range connect(t, server) {
		for _, one := range storetest.Cases() {
			t.Run(name+"/"+one.Name, func(t *testing.T) {
				must(t, server.Client().FlushAll(ctx).Err())
				s := open(t, c, redisstore.Options{})
				must(t, s.Vouch(ctx, "storetest"))
				must(t, s.Vouch(ctx, "storetest-2"))
				one.Run(t, s, func(d time.Duration) {
					must(t, server.Client().Eval(ctx, topology.Shorten, nil, max(d.Milliseconds(), 1)).Err())
				})
			})
		}
	}
}

// A replica confirms what came over the connection that asks. A client that does not
// promise that connection is refused.
func TestReplicasNeedOneConnection(t *testing.T) {
	t.Parallel()
	ctx, l := topology.For(t, topology.ServerProgram)
	r := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 1, topology.Config{}))
	o := redisstore.Options{Replicas: 1, Confirm: 10 * time.Second}
	clients := connect(t, r.Primary)
	s := open(t, clients["pipelined"], o)
	must(t, s.Vouch(ctx, "billing"))
	g, err := s.Acquire(ctx, attempt("n1", "a"))
	must(t, err)
	must(t, s.Renew(ctx, store.Lease{Election: "billing", ID: "n1", Nonce: "a", Token: g.Token, Request: 2, TTL: time.Minute}))
	for _, o := range []redisstore.Options{{Replicas: 1}, {Fsynced: true}, {FsyncedReplicas: 1}} {
		if s, err := New(clients["one by one"], 0, o); s != nil || err == nil || !strings.Contains(err.Error(), "method Pipeline") {
			t.Errorf("%+v: %v, %v, want an error that asks for the method Pipeline", o, s, err)
		}
	}
}

// A preflight finds the same through somebody else's client, and every right that the
// store needs.
func TestPreflight(t *testing.T) {
	t.Parallel()
	server := topology.Single(t)
	direct, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr}}, redisstore.Options{})
	must(t, err)
	t.Cleanup(func() { _ = direct.Close() })
	want := findings(t, direct)
	for name, c := range connect(t, server) {
		if got := findings(t, open(t, c, redisstore.Options{})); got != want {
			t.Errorf("%s: the preflight finds:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

func findings(t *testing.T, s *redisstore.Store) string {
	t.Helper()
	p, err := s.Preflight(t.Context())
	must(t, err)
	text := p.Guarantee
	for _, f := range p.Findings {
		text += "\n" + f.Subject + ": " + f.Fix
	}
	return text
}

// Elections of a database are announced on its channels, so candidates hear of each other
// whichever client carries them.
func TestDatabase(t *testing.T) {
	t.Parallel()
	server := topology.Single(t)
	c := theirs{redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3, MaxRetries: -1, ContextTimeoutEnabled: true})}
	t.Cleanup(func() { _ = c.Close() })
	bridged, err := New(c, 3, redisstore.Options{Unprotected: true})
	must(t, err)
	t.Cleanup(func() { _ = bridged.Close() })
	direct, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr}, DB: 3}, redisstore.Options{Unprotected: true})
	must(t, err)
	t.Cleanup(func() { _ = direct.Close() })
	hints := make(chan store.Hint, 10)
	hint := func() (h store.Hint) {
		select {
		case h = <-hints:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is announced")
		}
		return h
	}
	bridged.Watch(t.Context(), "billing", func(h store.Hint) { hints <- h }, func(error) {})
	for hint().Kind != store.HintListening {
		continue
	}
	g, err := direct.Acquire(t.Context(), attempt("n1", "a"))
	must(t, err)
	if h := hint(); h.Kind != store.HintGranted || h.Token != g.Token {
		t.Errorf("the grant with token %d was announced as %+v", g.Token, h)
	}
	if l, err := bridged.Leader(t.Context(), "billing"); err != nil || l.Token != g.Token {
		t.Errorf("the leader is %+v, %v", l, err)
	}
}

// BenchmarkRenew is a renewal through go-redis alone, and through a client behind it.
func BenchmarkRenew(b *testing.B) {
	server := topology.Single(b)
	c := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	b.Cleanup(func() { _ = c.Close() })
	direct, err := redisstore.FromClient(c, redisstore.Options{Unprotected: true})
	if err != nil {
		b.Fatal(err)
	}
	bridged, err := New(piped{theirs{c}}, 0, redisstore.Options{Unprotected: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]*redisstore.Store{"direct": direct, "bridged": bridged} {
		b.Cleanup(func() { _ = s.Close() })
		b.Run(name, func(b *testing.B) {
			a := attempt(name, name)
			a.Election = name
			g, err := s.Acquire(b.Context(), a)
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.WithoutCancel(b.Context()) // as an elector's own requests, which nobody calls off
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Renew(ctx, store.Lease{Election: name, ID: name, Nonce: name, Token: g.Token, Request: 2, TTL: time.Minute}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
