package redisstore

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// subscribers is how many connections the server knows that listen to the election.
func subscribers(t *testing.T, r *server, s *Store) int64 {
	t.Helper()
	channel := s.names("billing").channel
	count, err := r.admin.PubSubNumSub(r.ctx, channel).Result()
	if err != nil {
		t.Fatal(err)
	}
	return count[channel]
}

// watching starts a watch and waits until the server counts it.
func watching(t *testing.T, r *server, s *Store, n int64) (hints chan store.Hint, ended chan error, cancel context.CancelFunc) {
	t.Helper()
	hints, ended = make(chan store.Hint, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(r.ctx)
	t.Cleanup(cancel)
	s.Watch(ctx, "billing", noting(hints), func(err error) { ended <- err })
	for subscribers(t, r, s) != n {
		select {
		case err := <-ended:
			t.Fatalf("the watch ended: %v", err)
		default:
		}
	}
	return hints, ended, cancel
}

// watchEnd watches until the watch ends, and returns why.
func watchEnd(ctx context.Context, s *Store, election string) error {
	ended := make(chan error, 1)
	s.Watch(ctx, election, func(store.Hint) {}, func(err error) { ended <- err })
	return <-ended
}

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s within 10s", what)
		panic("unreachable")
	}
}

// Nobody confirms a lease that is passed on, so who wants its leases confirmed makes
// no bid, whatever else it wants: when the holder gives the lease back, it is free.
func TestNoBidWhereLeasesAreConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		o      Options
		passed int64
	}{
		"nobody confirms":         {Options{}, 1},
		"replicas":                {Options{Replicas: 1}, 0},
		"replicas, unprotected":   {Options{Replicas: 1, Unprotected: true}, 0},
		"nobody, and unprotected": {Options{Unprotected: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := startOwn(t, &redis.Options{})
			s, bidder := r.open(t, Options{}), r.open(t, c.o)
			watching(t, r, bidder, 1)
			a, b := attempt("n1", "a"), attempt("n2", "b")
			b.Stands = true
			g := mustAcquire(t, r, s, a)
			if held := mustRefuse(t, r, bidder, b); held.Stands != (c.passed > 0) {
				t.Errorf("the refused attempt stands: %v", held.Stands)
			}
			if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
				t.Fatal(err)
			}
			if n := r.do(t, "EXISTS", leaseKey); n != c.passed {
				t.Errorf("%v leases were passed on, want %d", n, c.passed)
			}
		})
	}
}

// Each Watch is told when changes are announced to it, which is when the server listens for
// it: also if the connection was there before, or another one broke.
func TestWatchLearnsThatItListens(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		for range 2 {
			var all []chan error
			for n := range int64(2) {
				listening, ended := make(chan int64, 10), make(chan error, 1)
				s.Watch(r.ctx, "billing", func(h store.Hint) {
					if h.Kind == store.HintListening {
						listening <- subscribers(t, r, s)
					}
				}, func(err error) { ended <- err })
				if count := receive(t, "hint that it listens", listening); count != 1 {
					t.Errorf("watch %d listens, and the server counts %d connections", n, count)
				}
				all = append(all, ended)
			}
			s.hub.listener.end(errBrokenOff)
			for _, ended := range all {
				_ = receive(t, "end", ended)
			}
			for subscribers(t, r, s) > 0 { // the server has yet to notice
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// A grant and a release wake everybody who waits, and each grant and refusal says
// how many stores those are. A release names who was refused last.
func TestHints(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		one, _, _ := watching(t, r, s, 1)
		two, _, _ := watching(t, r, r.open(t, Options{}), 2)
		a := attempt("n1", "a")
		g := mustAcquire(t, r, s, a)
		if g.Waiters != 2 {
			t.Errorf("the grant counts %d waiters", g.Waiters)
		}
		if held := mustRefuse(t, r, s, attempt("n2", "b")); held.Waiters != 2 {
			t.Errorf("the refusal counts %d waiters", held.Waiters)
		}
		if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
			t.Fatal(err)
		}
		for _, hints := range []chan store.Hint{one, two} {
			granted := store.Hint{Kind: store.HintGranted, Token: g.Token, Remaining: time.Minute}
			if h := receive(t, "hint", hints); h != granted {
				t.Errorf("hint %+v, want %+v", h, granted)
			}
			released := store.Hint{Kind: store.HintReleased, Token: g.Token, To: "n2"}
			if h := receive(t, "hint", hints); h != released {
				t.Errorf("hint %+v, want %+v", h, released)
			}
		}
		if err := s.Release(r.ctx, lease(a, g.Token)); !errors.Is(err, store.ErrNotHeld) {
			t.Fatal(err)
		}
		r.do(t, "PUBLISH", "recount:{billing}:wake", "hello")
		r.do(t, "PUBLISH", "recount:{billing}:wake", "released 1 x")
		r.do(t, "PUBLISH", "recount:{billing}:wake", "released 77")
		if h := receive(t, "hint", one); h.Token != 77 {
			t.Errorf("a refused release or a foreign message gave the hint %+v", h)
		}
	})
}

// A cancelled watch returns at once and gives no hint any more: while it
// waits, and while it connects to a server that accepts and then says nothing.
func TestWatchEndsWithItsContext(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, ReadTimeout: time.Minute}, Options{})
		_, ended, cancel := watching(t, r, s, 1)
		cancel()
		if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ended with %v", err)
		}
	})
	asked := make(chan string, 10)
	f := startFake(t, func(args []string) string { asked <- args[0]; return silence })
	s := f.open(t, func(o *redis.UniversalOptions) { o.ReadTimeout = time.Minute })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s.Watch(ctx, "billing", func(store.Hint) {}, func(err error) { ended <- err })
	receive(t, "subscription", asked)
	cancel()
	if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the watch of a silent server ended with %v", err)
	}
}

// A watch whose connection is cut ends with an error that may pass, and does
// not connect again by itself: the elector decides when that is worth it.
func TestWatchBreaksOff(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		_, ended, _ := watching(t, r, s, 1)
		if r.mini != nil {
			r.mini.Close()
		} else {
			r.do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		}
		err := receive(t, "end", ended)
		var fatal *store.FatalError
		if err == nil || errors.As(err, &fatal) || isReply(err) {
			t.Errorf("the watch ended with %v", err)
		}
		if r.mini == nil {
			_, again, cancel := watching(t, r, s, 1)
			cancel()
			_ = receive(t, "end", again)
		}
	})
	var dials atomic.Int32
	f := startFake(t, func(args []string) string {
		return array(bulk("subscribe"), bulk(args[1]), number(1)) + closing
	})
	s := f.open(t, func(o *redis.UniversalOptions) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	})
	if err := watchEnd(t.Context(), s, "billing"); err == nil {
		t.Error("a broken watch ended without an error")
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("it connected %d times", n)
	}
}

// A connection that hangs (it accepts everything and says nothing) is given
// up; one that is only silent is not.
func TestWatchNoticesAHungConnection(t *testing.T) {
	f := startFake(t, func(args []string) string {
		if args[0] == "subscribe" {
			return array(bulk("subscribe"), bulk(args[1]), number(1))
		}
		return silence
	})
	hung := f.open(t, nil)
	hung.pingEvery = 20 * time.Millisecond
	gone := make(chan error, 1)
	hung.Watch(t.Context(), "billing", func(store.Hint) {}, func(err error) { gone <- err })
	if err := receive(t, "end", gone); err == nil || f.count("ping") != 1 {
		t.Errorf("the watch of a hung connection ended with %v after %d pings", err, f.count("ping"))
	}

	pings := make(chan struct{}, 100)
	f = startFake(t, func(args []string) string {
		switch args[0] {
		case "subscribe":
			return array(bulk("subscribe"), bulk(args[1]), number(1))
		case "ping":
			pings <- struct{}{}
			return array(bulk("pong"), bulk(""))
		}
		return silence
	})
	silent := f.open(t, nil)
	silent.pingEvery = 500 * time.Millisecond // the pong's time too: this machine may be slow
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	silent.Watch(ctx, "billing", func(store.Hint) {}, func(err error) { ended <- err })
	for range 3 {
		receive(t, "ping", pings)
	}
	cancel()
	if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the watch of a silent connection ended with %v", err)
	}
}

// A connection that hangs is noticed by the next one who subscribes on it, long
// before a ping is due, and given up by all: who comes then gets another one.
func TestNewcomerNoticesAHungConnection(t *testing.T) {
	first := make(chan struct{}, 2) // with the beacon
	f := startFake(t, func(args []string) string {
		if args[0] == "subscribe" && !strings.Contains(args[1], "{payroll}") {
			first <- struct{}{}
			return array(bulk("subscribe"), bulk(args[1]), number(1))
		}
		return silence
	})
	s := f.open(t, func(o *redis.UniversalOptions) { o.ReadTimeout = 100 * time.Millisecond })
	s.pingEvery = time.Hour
	gone := make(chan error, 2)
	watch := func(election string) { gone <- watchEnd(t.Context(), s, election) }
	go watch("billing")
	receive(t, "subscription", first)
	l := s.hub.listener
	for confirmed := false; !confirmed; { // else the reader waits for that
		l.mu.Lock()
		confirmed = !l.last.IsZero() && len(l.sent) == 0
		l.mu.Unlock()
		runtime.Gosched()
	}
	go watch("payroll")
	for range 2 {
		if err := receive(t, "end", gone); err == nil {
			t.Error("a watch of a hung connection ended without an error")
		}
	}
}

// A caller that watches again and again finds the connection of before. Nobody listens on it
// meanwhile; Close ends it at once, and so does the time that it waits for somebody.
func TestListenerStaysForAWhile(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		for _, how := range []string{"closed", "waited in vain"} {
			var dials atomic.Int32
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, addr)
			}}, Options{})
			for range 10 {
				hints, ended, cancel := watching(t, r, s, 1)
				r.do(t, "PUBLISH", "recount:{billing}:wake", "released 77")
				if h := receive(t, "hint", hints); h.Token != 77 {
					t.Errorf("hint %+v", h)
				}
				cancel()
				_ = receive(t, "end", ended)
			}
			if n := dials.Load(); n != 1 {
				t.Errorf("ten watches, one after the other, opened %d connections", n)
			}
			l := s.hub.listener
			if how == "closed" {
				_ = s.Close()
			} else {
				l.hurry()
				l.expire()
			}
			for listenerGoroutines() > 0 {
				runtime.Gosched()
			}
			for subscribers(t, r, s) > 0 { // or the next watch would be taken for there
			}
			l.mu.Lock()
			if !l.over || l.tidy != nil {
				t.Errorf("%s: the listener is over: %t, and its timer is off: %t", how, l.over, l.tidy == nil)
			}
			l.mu.Unlock()
		}
	})
}
