package redisstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
)

// theirs is a client as a program may have it, closed at the test's end.
func theirs(t testing.TB, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr}
	if !saysOnce {
		o.MaxRetries = -1
	}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func fromTheirs(t testing.TB, c redis.UniversalClient, o Options) *Store {
	t.Helper()
	s, err := FromClient(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, election := range []string{"billing", "storetest", "storetest-2"} {
		_ = s.Vouch(t.Context(), election) // a server that cannot is what some tests are about
	}
	return s
}

// The store keeps the contract of every store on somebody else's client, too, whichever
// protocol that speaks.
func TestConformanceFromClient(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		eachServer(t, func(t *testing.T, r *server) {
			c := theirs(t, r.addr, func(o *redis.Options) { o.Protocol, o.PoolSize = protocol, 2 })
			for _, one := range storetest.Cases() {
				t.Run(one.Name, func(t *testing.T) {
					r.do(t, "FLUSHALL")
					one.Run(t, fromTheirs(t, c, Options{}), func(d time.Duration) { r.advance(t, d) })
				})
			}
		})
	}
}

// A client that would break a promise is refused, with what to set.
func TestClientsThatAreRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	cluster := func(change func(*redis.ClusterOptions)) redis.UniversalClient {
		o := &redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true}
		change(o)
		c := redis.NewClusterClient(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	simple := func(change func(*redis.Options)) redis.UniversalClient { return theirs(t, "127.0.0.1:1", change) }
	var none *redis.Client
	for _, test := range []struct {
		what   string
		client redis.UniversalClient
		o      Options
		said   string
	}{
		{"none", nil, Options{}, "redis.NewClient"},
		{"a nil one", none, Options{}, "redis.NewClient"},
		{"a ring", ring, Options{}, "*redis.Ring"},
		{"one that waits for ever", simple(func(o *redis.Options) { o.ReadTimeout = -1 }), Options{}, "ContextTimeoutEnabled"},
		{"a prefix", simple(func(*redis.Options) {}), Options{Prefix: "{"}, "braces"},
	} {
		checkRefused(t, test.what, test.client, test.o, test.said)
	}
	if !saysOnce {
		checkRefused(t, "one that repeats", simple(func(o *redis.Options) { o.MaxRetries = 0 }), Options{}, "MaxRetries")
		checkRefused(t, "a cluster's", cluster(func(*redis.ClusterOptions) {}), Options{}, "9.20")
		return
	}
	checkRefused(t, "a cluster's without deadlines", cluster(func(o *redis.ClusterOptions) { o.ContextTimeoutEnabled = false }), Options{}, "ContextTimeoutEnabled")
	checkRefused(t, "a cluster's that reads anywhere", cluster(func(o *redis.ClusterOptions) { o.RouteRandomly = true }), Options{}, "RouteRandomly")
	checkRefused(t, "confirmations in a cluster", cluster(func(*redis.ClusterOptions) {}), Options{Replicas: 1}, "use New")
}

func checkRefused(t *testing.T, what string, c redis.UniversalClient, o Options, said string) {
	t.Helper()
	s, err := FromClient(c, o)
	if s != nil || err == nil || !strings.Contains(err.Error(), said) {
		t.Errorf("%s: %v, %v, want an error that says %q", what, s, err, said)
	}
}

// A script whose answer is missing is sent once, although the client repeats others.
func TestForeignClientSendsOnce(t *testing.T) {
	var scripts atomic.Int32
	f := startFake(t, func(args []string) string {
		if strings.HasPrefix(strings.ToLower(args[0]), "eval") {
			scripts.Add(1)
			return closing
		}
		return okReply
	})
	s, err := FromClient(theirs(t, f.addr), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Acquire(t.Context(), attempt("n1", "a"))
	var fatal *store.FatalError
	if err == nil || errors.As(err, &fatal) || scripts.Load() != 1 {
		t.Errorf("acquire: %v; the script was sent %d times, want once", err, scripts.Load())
	}
}

// A call ends at its deadline, although the client does not look at that; and the client
// stays, however often calls fail.
func TestForeignClientStays(t *testing.T) {
	hung := startFake(t, func([]string) string { return silence })
	s, err := FromClient(theirs(t, hung.addr), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	first := s.live.Load()
	for range 2 * maxFailures {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		began := time.Now()
		_, err := s.Acquire(ctx, attempt("n1", "a"))
		cancel()
		if took := time.Since(began); err == nil || took > time.Second {
			t.Errorf("acquire: %v after %v", err, took)
		}
	}
	if s.live.Load() != first {
		t.Error("somebody else's client was replaced")
	}
}

// Close ends the watches, and leaves the client alone.
func TestCloseLeavesForeignClient(t *testing.T) {
	r := startMini(t)
	c := theirs(t, r.addr)
	s := fromTheirs(t, c, Options{Unprotected: true})
	mustAcquire(t, r, s, attempt("n1", "a"))
	ended := make(chan error, 1)
	heard := make(chan store.Hint, 10)
	s.Watch(t.Context(), "billing", noting(heard), func(err error) { ended <- err })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := receive(t, "end", ended); err == nil {
		t.Error("the watch ended without a reason")
	}
	var fatal *store.FatalError
	if _, err := s.Acquire(r.ctx, attempt("n1", "a")); !errors.As(err, &fatal) {
		t.Errorf("acquire on a closed store: %v", err)
	}
	if err := c.Ping(r.ctx).Err(); err != nil {
		t.Errorf("the client does not work any more: %v", err)
	}
}

// Every renewal looks whether its server is the one that granted: the client may have
// connected to another one.
func TestForeignRenewalsLook(t *testing.T) {
	r := startReal(t)
	s := fromTheirs(t, theirs(t, r.addr), Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	if err := s.Renew(r.ctx, l); err != nil {
		t.Fatal(err)
	}
	r.do(t, "CONFIG", "RESETSTAT")
	for range 3 {
		if err := s.Renew(r.ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	if got := commands(t, r); got["hget"] != 3 {
		t.Errorf("three renewals executed %v", got)
	}
}

// When one connection of somebody else's client has died, the others that the store used are
// asked, and dropped, before the next request: newer versions of go-redis keep those for
// pipelines apart.
func TestForeignConnectionsThatDied(t *testing.T) {
	k := startKeeper(t)
	var e ends
	c := theirs(t, k.addr, func(o *redis.Options) { o.Dialer = e.dial })
	s, err := FromClient(c, Options{Unprotected: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k.cut(t, s, &e)
	for s.live.Load().reviving.Load() {
		<-time.After(time.Millisecond)
	}
	for range 10 { // the dead one has asked, too
		k.free <- struct{}{}
	}
	if err := s.Renew(t.Context(), lease(attempt("n1", "a"), 1)); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
