package redisstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// way leads a client to an address that the test can change.
type way struct{ to atomic.Pointer[string] }

func (w *way) lead(addr string) { w.to.Store(&addr) }

func (w *way) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, *w.to.Load())
}

// When the server is back after failures replaced the client, the first request succeeds:
// the fresh client has no connection, and remembers no failure.
func TestPoisonedPool(t *testing.T) {
	hung := startFake(t, func([]string) string { return silence })
	for name, bad := range map[string]string{"hangs": hung.addr, "refuses": "127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			good := startMini(t)
			var w way
			w.lead(bad)
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{"10.0.0.1:1"}, Dialer: w.dial, PoolSize: 4}, Options{Unprotected: true})
			for first, replaced := s.live.Load(), 0; replaced < 4 || s.live.Load().PoolStats().TotalConns > 0; {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				_, err := s.Acquire(ctx, attempt("n1", "a"))
				cancel()
				var fatal *store.FatalError
				if err == nil || errors.As(err, &fatal) {
					t.Fatalf("acquire: %v", err)
				}
				s.batches.senders.Wait() // a sender may outlast its caller, and use the next client
				if live := s.live.Load(); live != first {
					first, replaced = live, replaced+1
				}
			}
			w.lead(good.addr)
			mustAcquire(t, good, s, attempt("n1", "a"))
			healthy := s.live.Load()
			mustAcquire(t, good, s, attempt("n1", "a"))
			if s.live.Load() != healthy {
				t.Error("a client that works was replaced")
			}
		})
	}
}

// What is under way while others' failures replace the client gets its answer.
func TestReplacedClientAnswers(t *testing.T) {
	k := startKeeper(t)
	var w way
	w.lead(k.addr)
	s := k.open(t, func(o *redis.UniversalOptions) { o.Dialer = w.dial })
	first := s.live.Load()
	under := renewing(t.Context(), s, "under way")
	receive(t, "request", k.asked)
	w.lead("127.0.0.1:1")
	for range maxFailures {
		if err := receive(t, "end", renewing(t.Context(), s, "refused")); err == nil {
			t.Error("renewed on no connection")
		}
	}
	if s.live.Load() == first {
		t.Error("the client was not replaced")
	}
	select {
	case err := <-under:
		t.Fatalf("ended without an answer: %v", err)
	case <-time.After(20 * time.Millisecond): // what ends it does so at once
	}
	k.free <- struct{}{}
	if err := receive(t, "answer", under); err != nil {
		t.Errorf("renew: %v", err)
	}
	for used := 1; used > 0; <-time.After(time.Millisecond) {
		s.mu.Lock()
		used = len(s.replaced)
		s.mu.Unlock()
	}
}

// Failures of what began before the last answer do not replace the client.
func TestLateFailuresKeepTheClient(t *testing.T) {
	f := startFake(t, func([]string) string { return number(1) })
	s := f.open(t, nil)
	first, began := s.live.Load(), time.Now()
	if err := s.Renew(t.Context(), lease(attempt("n1", "a"), 1)); err != nil {
		t.Fatal(err)
	}
	for range maxFailures {
		s.account(t.Context(), first, began, io.EOF)
	}
	if s.live.Load() != first {
		t.Error("they replaced the client")
	}
	for range maxFailures {
		s.account(t.Context(), first, time.Now(), io.EOF)
	}
	if s.live.Load() == first {
		t.Error("later ones did not")
	}
}

// Failures that are not in a row, answers of the server, and callers who
// change their minds do not replace the client.
func TestClientIsKept(t *testing.T) {
	var turn atomic.Int32
	f := startFake(t, func([]string) string {
		if turn.Add(1)%maxFailures == 0 {
			return "-ERR no\r\n"
		}
		return closing
	})
	s := f.open(t, nil)
	first := s.live.Load()
	for range 4 * maxFailures {
		if err := s.Renew(t.Context(), lease(attempt("n1", "a"), 1)); err == nil {
			t.Fatal("renewed")
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * maxFailures {
		if err := s.Renew(cancelled, lease(attempt("n1", "a"), 1)); !errors.Is(err, context.Canceled) {
			t.Fatalf("renew: %v", err)
		}
	}
	if s.live.Load() != first {
		t.Error("the client was replaced")
	}

	asked := make(chan string, 10)
	hung := startFake(t, func(args []string) string { asked <- args[0]; return silence })
	s = hung.open(t, func(o *redis.UniversalOptions) { o.ReadTimeout = 50 * time.Millisecond })
	first = s.live.Load()
	for range 2 * maxFailures {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		err := s.Renew(ctx, lease(attempt("n1", "a"), 1))
		cancel()
		if err == nil {
			t.Fatal("renewed")
		}
	}
	if s.live.Load() != first {
		t.Error("callers who left made it replace the client")
	}
}

// The deadline of a call's context bounds it, although the server hangs.
func TestDeadlineIsKept(t *testing.T) {
	hung := startFake(t, func([]string) string { return silence })
	s := hung.open(t, func(o *redis.UniversalOptions) { o.ReadTimeout = time.Minute })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Renew(ctx, lease(attempt("n1", "a"), 1)) }()
	if err := receive(t, "end", ended); err == nil || errors.Is(err, store.ErrNotHeld) {
		t.Errorf("renew: %v", err)
	}
}

// A closed store says so, ends its watches, and may be closed again.
func TestClose(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		_, ended, _ := watching(t, r, s, 1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, "end", ended); err == nil {
			t.Error("the watch ended without an error")
		}
		for what, err := range calls(s) {
			var fatal *store.FatalError
			if !errors.As(err, &fatal) || strings.Count(err.Error(), fatal.Fix) != 1 {
				t.Errorf("%s after Close: %v", what, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The caller's options are not changed, and those that would make the client
// repeat or misread are overruled.
func TestOptionsAreCopied(t *testing.T) {
	opts := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, MaxRetries: 5, ReadOnly: true, PoolSize: 2}
	s := openAt(t, opts, Options{})
	if opts.MaxRetries != 5 || !opts.ReadOnly || opts.Dialer != nil || opts.ReadTimeout != 0 {
		t.Errorf("the caller's options became %+v", opts)
	}
	if s.opts.MaxRetries != -1 || s.opts.ReadOnly || s.opts.PoolSize != 2 || !s.opts.ContextTimeoutEnabled {
		t.Errorf("the store's options are %+v", s.opts)
	}
	for addr, says := range map[string]string{"redis://localhost:6379": "is a URL: use ParseURL", "": "is empty"} {
		if _, err := New(&redis.UniversalOptions{Addrs: []string{addr}}, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the address %q: %v, want %q", addr, err, says)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no options: no error")
	}
	for _, prefix := range []string{"a b:", "a\n:", "caf\xe9:", strings.Repeat("a", 201)} {
		if _, err := New(opts, Options{Prefix: prefix}); err == nil {
			t.Errorf("the prefix %q was taken", prefix)
		}
	}
	if _, err := New(opts, Options{Prefix: "a{b}:"}); err == nil {
		t.Error("a prefix with braces: no error")
	}
}
