package redisstore

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// movingAddress is an address that leads to one server after another. A connection goes on with
// the server to which it was made.
type movingAddress struct{ to atomic.Pointer[string] }

func (s *movingAddress) lead(addr string) { s.to.Store(&addr) }

func (s *movingAddress) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", *s.to.Load())
}

// A server that can never serve is left, about half a lease after its first such answer,
// whatever the words, when the address leads to another one by now. So it is by who only
// asks, and is told that nobody leads.
func TestServerOfBeforeIsLeft(t *testing.T) {
	held := array(bulk("7"), bulk("n1/x"), number(900), bulk(""), number(0))
	for name, answers := range map[string]struct{ old, now string }{
		"NOREPLICAS":    {"-NOREPLICAS Not enough good replicas to write.\r\n", held},
		"MASTERDOWN":    {"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n", held},
		"a proxy":       {"-ERR no backend for this request\r\n", held},
		"rights":        {"-NOPERM this user has no permissions to run the 'evalsha' command\r\n", held},
		"nobody leads":  {array(), held},
		"READONLY":      {"-READONLY You can't write against a read only replica.\r\n", held},
		"unknown words": {"-NOTNOW come again tomorrow\r\n", held},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := &line{}, &line{}
			old.set(held)
			now.set(answers.now)
			before, after := startFake(t, old.answer), startFake(t, now.answer)
			var address movingAddress
			address.lead(before.addr)
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{"service:6379"}, Dialer: address.dial}, Options{})
			if l, err := s.Leader(t.Context(), "billing"); err != nil || l.ID != "n1/x" {
				t.Fatalf("at first: %+v, %v", l, err)
			}
			old.set(answers.old)
			address.lead(after.addr)
			began, left := time.Now(), false
			for !left && time.Since(began) < 20*time.Second {
				l, err := s.Leader(t.Context(), "billing")
				left = err == nil && l.ID == "n1/x"
				time.Sleep(20 * time.Millisecond)
			}
			if took := time.Since(began); !left || took > 5*time.Second {
				t.Errorf("the server of before was left: %v, after %v; leases last a second", left, took)
			}
		})
	}
}

// Somebody else's client has no method to close its connections. They are closed all the
// same.
func TestServerOfBeforeIsLeftByForeignClient(t *testing.T) {
	held := array(bulk("7"), bulk("n1/x"), number(900), bulk(""), number(0))
	old, now := &line{}, &line{}
	old.set(held)
	now.set(held)
	before, after := startFake(t, old.answer), startFake(t, now.answer)
	var address movingAddress
	address.lead(before.addr)
	c := redis.NewClient(&redis.Options{Addr: "service:6379", Dialer: address.dial, MaxRetries: -1, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	t.Cleanup(func() { _ = c.Close() })
	s, err := FromClient(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Leader(t.Context(), "billing"); err != nil {
		t.Fatal(err)
	}
	old.set("-NOREPLICAS Not enough good replicas to write.\r\n")
	address.lead(after.addr)
	began, left := time.Now(), false
	for !left && time.Since(began) < 20*time.Second {
		_, err := s.Leader(t.Context(), "billing")
		left = err == nil
		time.Sleep(20 * time.Millisecond)
	}
	if !left {
		t.Error("the client goes on with the server of before")
	}
}

// A replica says so to a candidate that takes it for the primary, also as long as it knows of a
// leader.
func TestReplicaAnswersNobody(t *testing.T) {
	ctx, l := topology.For(t, topology.ServerProgram)
	pair := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 1, topology.Config{}))
	primary, replica := pair.Servers()[0], pair.Servers()[1]
	leads := openAt(t, &redis.UniversalOptions{Addrs: []string{primary.Addr}}, Options{Unprotected: true})
	if _, err := leads.Acquire(ctx, attempt("n1", "a")); err != nil {
		t.Fatal(err)
	}
	if err := primary.InStep(ctx, 1); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{replica.Addr}}, Options{Unprotected: true})
	for name, ask := range map[string]func() error{
		"acquire":    func() error { _, err := s.Acquire(ctx, attempt("n2", "b")); return err },
		"leader":     func() error { _, err := s.Leader(ctx, "billing"); return err },
		"candidates": func() error { _, err := s.Candidates(ctx, "billing"); return err },
		"history":    func() error { _, err := s.History(ctx, "billing", 1); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("%s: %v, want READONLY", name, err)
		}
	}
}

// Processes that doubt a server at one moment connect anew at different times, and once in
// about half a lease.
func TestDoubtIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 10 * time.Second
		var times []time.Duration
		for range 200 {
			s, err := New(&redis.UniversalOptions{Addrs: []string{"nowhere:6379"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			c, began := s.live.Load(), time.Now()
			for c.dead.Load() == 0 {
				s.useless(lease)
				time.Sleep(10 * time.Millisecond)
			}
			times = append(times, time.Since(began))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		early, late := 0, 0
		for _, took := range times {
			if took < lease/4 || took > 3*lease/4+time.Second {
				t.Errorf("connected anew after %v, with a lease of %v", took, lease)
			}
			if took < lease/2 {
				early++
			} else {
				late++
			}
		}
		if early < 50 || late < 50 {
			t.Errorf("%d in the first half of the time, %d in the other", early, late)
		}
	})
}

// Who doubted when nobody knew how long a lease lasts waits no longer than a lease once that
// is known.
func TestDoubtKnowsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(&redis.UniversalOptions{Addrs: []string{"nowhere:6379"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }() // nothing was sent
		s.useless(usual)
		began := time.Now()
		for c := s.live.Load(); c.dead.Load() == 0; time.Sleep(10 * time.Millisecond) {
			s.useless(time.Second)
		}
		if took := time.Since(began); took > time.Second+20*time.Millisecond {
			t.Errorf("connected anew after %v, with a lease of a second", took)
		}
	})
}

// Nobody leads between two terms, either. Once somebody has led, the doubt begins anew, or
// a lease that is being handed over costs all connections, and with them announcements.
func TestVacancyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(&redis.UniversalOptions{Addrs: []string{"nowhere:6379"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }() // nothing was sent
		n, c := s.names("billing"), s.live.Load()
		for range 5 {
			n.seen(s, store.Leader{})
			time.Sleep(usual)
			n.seen(s, store.Leader{ID: "n1", Remaining: usual})
		}
		if c.dead.Load() != 0 {
			t.Error("connected anew, although somebody led in between")
		}
		n.seen(s, store.Leader{})
		time.Sleep(usual)
		if n.seen(s, store.Leader{}); c.dead.Load() == 0 {
			t.Error("nobody has led for a lease, and the connections are the same")
		}
	})
}

// Who was let in before and is not any more is repeated. Who never was is told at once.
func TestLostAccessIsRepeated(t *testing.T) {
	held := array(bulk("7"), bulk("n1/x"), number(900), bulk(""), number(0))
	for _, refusal := range []string{
		"-NOAUTH Authentication required.\r\n", "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
		"-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
	} {
		var answers line
		answers.set(refusal)
		f := startFake(t, answers.answer)
		s := f.open(t, nil)
		var fatal *store.FatalError
		if _, err := s.Leader(t.Context(), "billing"); !errors.As(err, &fatal) {
			t.Errorf("%q at first: %v, want a FatalError", refusal, err)
		}
		answers.set(held)
		if _, err := s.Leader(t.Context(), "billing"); err != nil {
			t.Error(err)
		}
		answers.set(refusal)
		_, err := s.Leader(t.Context(), "billing")
		var answered interface{ Answered() bool }
		if err == nil || errors.As(err, &fatal) || !errors.As(err, &answered) || !answered.Answered() {
			t.Errorf("%q later: %v, want an error that is the server's answer, and may pass", refusal, err)
		}
	}
}

// Files that a URL names are read for each connection, so certificates that are renewed
// are used, and what they do not allow is refused.
func TestTLSFiles(t *testing.T) {
	needRedis(t)
	a, next := newAuthority(t), newAuthority(t)
	cert, key := a.issue(t, time.Now().Add(time.Hour))
	ca := tempFile(t, "trusted.pem", a.pem)
	r := a.startTLS(t, time.Now().Add(time.Hour), "--tls-auth-clients", "yes", "--requirepass", secret)
	url := "rediss://:s3cr3t-%25%2F%3F%23-word@" + r.addr + "?ca=" + ca + "&tls_min=1.3"
	open := func(url string) *Store {
		t.Helper()
		o, err := ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		return openAt(t, o, Options{})
	}
	ask := func(url string) error {
		_, err := open(url).Leader(r.ctx, "billing")
		return err
	}
	var fatal *store.FatalError
	if err := ask(url); err == nil {
		t.Error("without the client's certificate it is let in")
	}
	url += "&cert=" + cert + "&key=" + key
	if err := ask(url); err != nil {
		t.Error(err)
	}
	if err := ask(url + "&server_name=redis.example"); !errors.As(err, &fatal) {
		t.Errorf("another name than the certificate's: %v, want a FatalError", err)
	}
	s := open(url)
	if _, err := s.Leader(r.ctx, "billing"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ca, next.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s.reconnect()
	if _, err := s.Leader(r.ctx, "billing"); err == nil || errors.As(err, &fatal) {
		t.Errorf("the server is not trusted any more: %v, want an error that may pass", err)
	}
	if err := os.WriteFile(ca, append(next.pem, a.pem...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Leader(r.ctx, "billing")
	for began := time.Now(); err != nil && time.Since(began) < 10*time.Second; { // a connection that was being opened has the file of before
		_, err = s.Leader(r.ctx, "billing")
	}
	if err != nil {
		t.Errorf("it is trusted again: %v", err)
	}
	for _, wrong := range []string{"redis://h?ca=" + ca, "rediss://h?ca=/nowhere", "rediss://h?cert=" + cert, "rediss://h?ca=" + key, "rediss://h?tls_min=1.1"} {
		if _, err := ParseURL(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// What something else keeps under the keys of one election says nothing of the server: the
// connections of all others stay.
func TestForeignKeysLeaveConnections(t *testing.T) {
	f := startFake(t, func([]string) string { return "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n" })
	s := f.open(t, func(*redis.UniversalOptions) {})
	for range 3 {
		var fatal *store.FatalError
		if _, err := s.Acquire(t.Context(), attempt("n1", "a")); !errors.As(err, &fatal) {
			t.Fatalf("the answer is %v", err)
		}
		s.doubt.mu.Lock()
		doubted := !s.doubt.last.IsZero()
		s.doubt.mu.Unlock()
		if doubted {
			t.Fatal("the connections are doubted")
		}
	}
}
