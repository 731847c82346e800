package clients

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/redisstore/anyclient"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// kinds are the clients, as programs make them.
var kinds = map[string]func(t *testing.T, addr string) anyclient.Pipeliner{
	"rueidis": func(t *testing.T, addr string) anyclient.Pipeliner {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		must(t, err)
		t.Cleanup(c.Close)
		return Rueidis{c}
	},
	"valkey-go": func(t *testing.T, addr string) anyclient.Pipeliner {
		c, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
		must(t, err)
		t.Cleanup(c.Close)
		return Valkey{c}
	},
	"redigo": func(t *testing.T, addr string) anyclient.Pipeliner {
		c := &redis.Pool{MaxIdle: 4, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialConnectTimeout(2*time.Second), redis.DialReadTimeout(3*time.Second), redis.DialWriteTimeout(3*time.Second))
		}}
		t.Cleanup(func() { _ = c.Close() })
		return Redigo{c}
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eachKind(t *testing.T, test func(t *testing.T, open func(t *testing.T, addr string) anyclient.Pipeliner)) {
	t.Helper()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// candidate is an elector over a client of its own.
type candidate struct {
	*elector.Elector
	extended chan struct{}
	leaders  chan elector.Leader
}

func compete(t *testing.T, c anyclient.Client, id string) *candidate {
	t.Helper()
	// Protected, a server that was restarted grants nothing for the time of a lease.
	store, err := anyclient.New(c, 0, redisstore.Options{Unprotected: true})
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	one := &candidate{extended: make(chan struct{}, 1), leaders: make(chan elector.Leader, 100)}
	one.Elector, err = elector.New(store, elector.Config{
		// The lease is longer than the test: a new leader was notified.
		Election: "billing", ID: id, Lease: 2 * time.Minute, Renew: 100 * time.Millisecond, Retry: 50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e elector.Event) {
			switch e.Kind {
			case event.Extended:
				select {
				case one.extended <- struct{}{}:
				default:
				}
			case event.LeaderSeen:
				one.leaders <- e.Leader
			}
		},
	})
	must(t, err)
	return one
}

// waits has a candidate wait for the lease, and returns when it knows who has it.
func (c *candidate) waits(ctx context.Context, t *testing.T) <-chan *elector.Term {
	t.Helper()
	terms := make(chan *elector.Term, 1)
	go func() {
		term, err := c.Campaign(ctx)
		if err != nil {
			t.Error(err)
		}
		terms <- term
	}()
	for {
		select {
		case l := <-c.leaders:
			if l.ID != c.ID() {
				return terms
			}
		case <-ctx.Done():
			t.Fatal("the candidate does not learn who leads")
		}
	}
}

// A candidate leads over each client. When it resigns the next one is told, and does not
// wait for the lease to end. A server that is restarted with its data has the same leader,
// and announces as before.
func TestElections(t *testing.T) {
	eachKind(t, func(t *testing.T, open func(*testing.T, string) anyclient.Pipeliner) {
		ctx, l := topology.For(t, topology.ServerProgram)
		s := topology.Must[*topology.Server](t)(l.Server(ctx, topology.Config{Settings: []string{"--appendonly", "yes", "--appendfsync", "always"}}))
		a, b := compete(t, open(t, s.Addr), "a"), compete(t, open(t, s.Addr), "b")
		term, err := a.Campaign(ctx)
		must(t, err)
		next := b.waits(ctx, t)
		must(t, term.Resign(ctx))
		later := <-next
		if later == nil || later.Token() <= term.Token() {
			t.Fatalf("after the token %d came the term %v", term.Token(), later)
		}
		must(t, s.Kill())
		for len(b.extended) > 0 {
			<-b.extended
		}
		must(t, s.Start(ctx))
		select {
		case <-b.extended:
		case <-later.Context().Done():
			t.Fatal("the restart has ended the term")
		}
		next = a.waits(ctx, t)
		must(t, later.Resign(ctx))
		if last := <-next; last == nil || last.Token() <= later.Token() {
			t.Errorf("after the token %d came the term %v", later.Token(), last)
		}
	})
}

// A replica confirms what each client sends over one connection.
func TestReplicas(t *testing.T) {
	eachKind(t, func(t *testing.T, open func(*testing.T, string) anyclient.Pipeliner) {
		ctx, l := topology.For(t, topology.ServerProgram)
		r := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 1, topology.Config{}))
		st, err := anyclient.New(open(t, r.Primary.Addr), 0, redisstore.Options{Replicas: 1, Confirm: 10 * time.Second})
		must(t, err)
		t.Cleanup(func() { _ = st.Close() })
		must(t, st.Vouch(ctx, "billing"))
		g, err := st.Acquire(ctx, store.Attempt{Election: "billing", ID: "a", Nonce: "1", TTL: time.Minute})
		must(t, err)
		must(t, st.Renew(ctx, store.Lease{Election: "billing", ID: "a", Nonce: "1", Token: g.Token, TTL: time.Minute}))
	})
}

// A preflight through each client reads everything, and finds no error.
func TestPreflights(t *testing.T) {
	eachKind(t, func(t *testing.T, open func(*testing.T, string) anyclient.Pipeliner) {
		s := topology.Single(t)
		st, err := anyclient.New(open(t, s.Addr), 0, redisstore.Options{})
		must(t, err)
		t.Cleanup(func() { _ = st.Close() })
		p, err := st.Preflight(t.Context())
		must(t, err)
		for _, f := range p.Findings {
			if f.Severity == store.SeverityError || f.Subject == "unread" || f.Subject == "rights" {
				t.Errorf("%s: %s", f.Subject, f.Text)
			}
		}
	})
}
