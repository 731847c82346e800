package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/loopback"
)

// distance is that of a server that is a round trip away, and how connections to it begin.
type distance struct {
	name        string
	trip, lease time.Duration
	tls, greets bool // greets: with a password and a database
}

// The first one leaves least room. See docs/guarantees.md for the sum.
var distances = []distance{
	{"400 ms, lease 3 s", 400 * time.Millisecond, 3 * time.Second, false, false},
	{"260 ms, password and database, lease 3 s", 260 * time.Millisecond, 3 * time.Second, false, true},
	{"90 ms, password and database, lease 1 s", 90 * time.Millisecond, time.Second, false, true},
	{"TLS, 200 ms, password and database, lease 3 s", 200 * time.Millisecond, 3 * time.Second, true, true},
}

// relay passes each chunk on after half a round trip, the end of a connection too.
func relay(t *testing.T, to string, trip time.Duration) (addr string) {
	t.Helper()
	addr, err := loopback.Serve(t.Context(), func(near net.Conn) {
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			return
		}
		go pass(near, far, trip/2)
		pass(far, near, trip/2)
	})
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func pass(from, to net.Conn, away time.Duration) {
	type chunk struct {
		at   time.Time
		text []byte
	}
	chunks := make(chan chunk, 1000)
	go func() {
		defer func() { _ = to.Close() }()
		for c := range chunks {
			<-time.After(time.Until(c.at))
			if _, err := to.Write(c.text); err != nil {
				break
			}
		}
		_ = from.Close() // and its reader ends
		for range chunks {
		}
	}()
	for {
		text := make([]byte, 16<<10)
		n, err := from.Read(text)
		chunks <- chunk{time.Now().Add(away), text[:n]}
		if err != nil {
			close(chunks)
			return
		}
	}
}

// open is a store whose connections go through the relay, and begin a round trip later.
func (d distance) open(t *testing.T, r *server, addr string, database int) *Store {
	secure := r.admin.Options().TLSConfig
	o := &redis.UniversalOptions{Addrs: []string{r.addr}, Password: r.admin.Options().Password, DB: database}
	o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		select {
		case <-time.After(d.trip):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil || secure == nil {
			return conn, err
		}
		return handshake(ctx, conn, "127.0.0.1:1", secure)
	}
	return openAt(t, o, Options{Prefix: t.Name() + ":"})
}

// observer counts the terms and renewals of one candidate.
type observer struct {
	renewed, deposed atomic.Int64
	leads            atomic.Bool
	news             chan struct{} // something has changed; buffered
}

func (f *observer) heard(ev elector.Event) {
	switch ev.Kind {
	case event.Elected:
		f.leads.Store(true)
	case event.Extended:
		f.renewed.Add(1)
	case event.Deposed:
		f.leads.Store(false)
		f.deposed.Add(1)
	default:
		return
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// renews waits until the candidate has renewed so often, or is deposed.
func (f *observer) renews(times int64) bool {
	for f.renewed.Load() < times && f.deposed.Load() == 0 {
		<-f.news
	}
	return f.deposed.Load() == 0
}

// compete makes so many candidates compete, each in an election of its own. In one store
// their requests share connections.
func (d distance) compete(t *testing.T, r *server, candidates int, oneStore bool) (all []*observer) {
	addr, database := relay(t, r.addr, d.trip), 0
	if d.greets {
		database = 3
	}
	ctx, cancel := context.WithCancel(t.Context())
	var electing sync.WaitGroup
	t.Cleanup(func() { cancel(); electing.Wait() })
	s := d.open(t, r, addr, database)
	for i := range candidates {
		if !oneStore {
			s = d.open(t, r, addr, database)
		}
		f := &observer{news: make(chan struct{}, 1)}
		election := fmt.Sprint("e", i)
		e, err := elector.New(s, elector.Config{Election: election, Lease: d.lease, Logger: slog.New(slog.DiscardHandler), OnEvent: f.heard})
		if err != nil {
			t.Fatal(err)
		}
		store := s
		electing.Go(func() {
			_, _ = store.Create(ctx, election) // else nobody leads for a lease, as on a new server
			_ = e.Run(ctx)
		})
		all = append(all, f)
	}
	return all
}

// reset closes all connections but the test's.
func (r *server) reset(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"normal", "pubsub"} {
		r.do(t, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
	}
}

// server starts one as the distance wants it.
func (d distance) server(t *testing.T) (r *server) {
	switch {
	case d.tls:
		r = newAuthority(t).startTLS(t, time.Now().Add(time.Hour), "--requirepass", secret)
	case d.greets:
		r = startOwn(t, &redis.Options{Password: secret}, "--requirepass", secret)
	default:
		r = startOwn(t, &redis.Options{})
	}
	r.ctx = t.Context() // a campaign takes longer than a server has else
	return r
}

// survive resets the connections of ten leaders once, and returns how many lost their term.
func (d distance) survive(t *testing.T, r *server, oneStore bool) (lost int) {
	all := d.compete(t, r, 10, oneStore)
	for _, f := range all {
		if !f.renews(2) {
			t.Skip("undecided: a term ended before the reset, as on a machine that is too busy")
		}
	}
	var before []int64
	for _, f := range all {
		before = append(before, f.renewed.Load())
	}
	late := stalls(t)
	r.reset(t)
	for i, f := range all {
		if !f.renews(before[i] + 3) { // the answer to one may be on its way already
			lost++
		}
	}
	if most := late(); lost > 0 && most > d.lease/30 {
		t.Skipf("undecided: the machine was late by %v, and %d of 10 leaders lost their term", most, lost)
	}
	return lost
}

// stalls measures by how much the machine is late, until most is called.
func stalls(t *testing.T) (most func() time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan time.Duration, 1)
	go func() {
		most, last := time.Duration(0), time.Now()
		for ctx.Err() == nil {
			<-time.After(10 * time.Millisecond)
			now := time.Now()
			most, last = max(most, now.Sub(last)-10*time.Millisecond), now
		}
		ended <- most
	}()
	return func() time.Duration { cancel(); return <-ended }
}

// One reset of all connections ends no term, however far the server is, if the lease leaves
// room. RECOUNT_CASES=20 makes 20 runs of each distance: half an hour.
func TestResetFarAway(t *testing.T) {
	_, runs, err := drawn.Cases(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := distances
	if !drawn.Asked() {
		all = distances[:1]
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			r := d.server(t)
			for i := range runs {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					if lost := d.survive(t, r, i%2 == 1); lost > 0 {
						t.Errorf("%d of 10 leaders lost their term", lost)
					}
				})
			}
		})
	}
}

// Resets that come again and again leave somebody in the lead for 95 % of the time.
func TestResetsFarAway(t *testing.T) {
	if !drawn.Asked() {
		t.Skip("a campaign of 40 seconds: RECOUNT_CASES=20")
	}
	t.Parallel()
	d := distances[0]
	r := d.server(t)
	f := d.compete(t, r, 1, true)[0]
	f.renews(3)
	ends, every, look := time.After(40*time.Second), time.NewTicker(4*time.Second), time.NewTicker(10*time.Millisecond)
	defer every.Stop()
	defer look.Stop()
	for leads, looks := 0, 0; ; {
		select {
		case <-every.C:
			r.reset(t)
		case <-look.C:
			looks++
			if f.leads.Load() {
				leads++
			}
		case <-ends:
			t.Logf("somebody led for %d of %d looks, and %d terms ended", leads, looks, f.deposed.Load())
			if leads < looks*95/100 {
				t.Error("that is less than 95 %")
			}
			return
		}
	}
}
