package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// keeper is a fake server that holds back its answers until it is told to go on.
type keeper struct {
	*fake
	asked chan string   // the keys of scripts, as they come
	free  chan struct{} // each lets one answer pass; closed: all
}

func startKeeper(t *testing.T) *keeper {
	k := &keeper{asked: make(chan string, 1000), free: make(chan struct{}, 1000)}
	k.fake = startFake(t, func(args []string) string {
		if !strings.EqualFold(args[0], "evalsha") {
			return "+PONG\r\n"
		}
		k.asked <- args[3]
		<-k.free
		return number(1)
	})
	t.Cleanup(func() { close(k.free) })
	return k
}

// renewing renews the lease of an election in the background.
func renewing(ctx context.Context, s *Store, election string) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		l := lease(attempt("n1", "a"), 1)
		l.Election = election
		ended <- s.Renew(ctx, l)
	}()
	return ended
}

// queued waits until so many requests wait for a connection.
func queued(s *Store, n int) {
	for waiting := -1; waiting != n; {
		s.batches.mu.Lock()
		waiting = s.batches.queues[queuePlain].Len()
		s.batches.mu.Unlock()
		<-time.After(time.Millisecond)
	}
}

// A request is sent at once while a connection is free. What comes while all are busy
// goes together when one is, in one pipeline, and each caller gets its own answer.
func TestWhatWaitsGoesTogether(t *testing.T) {
	k := startKeeper(t)
	var writes atomic.Int32
	s := k.open(t, func(o *redis.UniversalOptions) {
		o.PoolSize, o.WriteBufferSize = 2, 1<<20
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return counted{conn, &writes}, err
		}
	})
	var all []chan error
	for i := range 2 {
		all = append(all, renewing(t.Context(), s, fmt.Sprint("busy-", i)))
		receive(t, "request", k.asked)
	}
	writes.Store(0)
	for i := range 50 {
		all = append(all, renewing(t.Context(), s, fmt.Sprint("waits-", i)))
	}
	queued(s, 50)
	for range all {
		k.free <- struct{}{}
	}
	for _, ended := range all {
		if err := receive(t, "answer", ended); err != nil {
			t.Errorf("renew: %v", err)
		}
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("what waited was sent in %d parts, want 1", n)
	}
}

// counted is a connection that counts what is written to it.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// inLine is one renewal that is under way, on the only connection, and two that wait for it.
type inLine struct {
	first, left, stays chan error
	leave              func() // by the caller of left
}

func startLine(t *testing.T) (k *keeper, q inLine) {
	k = startKeeper(t)
	s := k.open(t, func(o *redis.UniversalOptions) { o.PoolSize = 1 })
	q.first = renewing(t.Context(), s, "first")
	receive(t, "request", k.asked)
	leaving, leave := context.WithCancel(t.Context())
	q.leave, q.left = leave, renewing(leaving, s, "leaves")
	queued(s, 1)
	q.stays = renewing(t.Context(), s, "stays")
	queued(s, 2)
	return k, q
}

// rest has the two that stay answered.
func (q *inLine) rest(t *testing.T, k *keeper) {
	k.free <- struct{}{}
	k.free <- struct{}{}
	for name, ended := range map[string]chan error{"first": q.first, "stays": q.stays} {
		if err := receive(t, "answer", ended); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A caller who gives up is told so at once. What it asked for is not sent any more if
// it was not yet, and the others' requests are.
func TestGivenUpIsNotSent(t *testing.T) {
	k, q := startLine(t)
	q.leave()
	if err := receive(t, "end", q.left); !errors.Is(err, context.Canceled) || !errors.Is(err, errNotSent) {
		t.Errorf("who left before anything was sent: %v", err)
	}
	q.rest(t, k)
	if key := receive(t, "request", k.asked); !strings.Contains(key, "stays") || len(k.asked) > 0 {
		t.Errorf("asked for %s, and %d more", key, len(k.asked))
	}
}

// Who leaves a batch that is under way disturbs nobody else in it.
func TestOneLeavesTheOthersStay(t *testing.T) {
	k, q := startLine(t)
	k.free <- struct{}{}
	receive(t, "request", k.asked)
	q.leave()
	if err := receive(t, "end", q.left); !errors.Is(err, context.Canceled) || !errors.Is(err, errNoAnswer) {
		t.Errorf("who left: %v", err)
	}
	q.rest(t, k)
}

// A connection that hangs holds up what was sent on it, and nothing else.
func TestHungConnectionHangsAlone(t *testing.T) {
	var hung atomic.Bool
	f := startFake(t, func(args []string) string {
		if strings.EqualFold(args[0], "evalsha") && hung.CompareAndSwap(false, true) {
			return silence
		}
		return number(1)
	})
	s := f.open(t, func(o *redis.UniversalOptions) { o.PoolSize = 2 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hangs := renewing(ctx, s, "hangs")
	for !hung.Load() {
		<-time.After(time.Millisecond)
	}
	first := s.live.Load()
	for i := range 50 {
		if err := receive(t, "answer", renewing(ctx, s, fmt.Sprint("goes-", i))); err != nil {
			t.Fatalf("renew beside a connection that hangs: %v", err)
		}
	}
	if s.live.Load() != first {
		t.Error("the client was replaced")
	}
	cancel()
	if err := receive(t, "end", hangs); !errors.Is(err, context.Canceled) {
		t.Errorf("who hung: %v", err)
	}
}

// To wait for a connection in vain is no failure of the server: its client is kept.
func TestWaitingIsNoFailure(t *testing.T) {
	k := startKeeper(t)
	s := k.open(t, func(o *redis.UniversalOptions) { o.PoolSize = 1 })
	first := renewing(t.Context(), s, "first")
	receive(t, "request", k.asked)
	client := s.live.Load()
	for range 2 * maxFailures {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if err := receive(t, "end", renewing(ctx, s, "waits")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waited in vain: %v", err)
		}
		cancel()
	}
	k.free <- struct{}{}
	if err := receive(t, "answer", first); err != nil {
		t.Error(err)
	}
	if s.live.Load() != client {
		t.Error("the client was replaced")
	}
}

// Of a batch of scripts that the server does not know, one is sent as text: it knows
// the others' then. Each of them gets its answer.
func TestTextIsSentOnce(t *testing.T) {
	r := startReal(t)
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, PoolSize: 1}, Options{Unprotected: true})
	r.do(t, "SCRIPT", "FLUSH")
	r.do(t, "CONFIG", "RESETSTAT")
	r.do(t, "CLIENT", "PAUSE", 200)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			a := attempt("n1", "a")
			a.Election = fmt.Sprint("many-", i)
			if g, err := s.Acquire(r.ctx, a); err != nil || g.Token != 1 {
				t.Errorf("%s: %+v, %v", a.Election, g, err)
			}
		})
	}
	all.Wait()
	if n := r.calls(t, "eval"); n != 1 && n != 2 { // a first batch may have gone before the others came
		t.Errorf("the text was sent %d times", n)
	}
}

// calls is how often clients called a command.
func (r *server) calls(t *testing.T, command string) (n int) {
	t.Helper()
	info, err := r.admin.Info(r.ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	_, _ = fmt.Sscanf(rest, "%d", &n)
	return n
}

// Close ends what waits for a connection and what is under way, and leaves nothing
// behind.
func TestCloseEndsWhatWaits(t *testing.T) {
	k := startKeeper(t)
	s := k.open(t, func(o *redis.UniversalOptions) { o.PoolSize = 1 })
	under := renewing(t.Context(), s, "under way")
	receive(t, "request", k.asked)
	waits := renewing(t.Context(), s, "waits")
	queued(s, 1)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var fatal *store.FatalError
	if err := receive(t, "end", waits); !errors.As(err, &fatal) {
		t.Errorf("who waited: %v", err)
	}
	if err := receive(t, "end", under); err == nil {
		t.Error("what was under way ended without an error")
	}
	s.batches.senders.Wait()
}

// A server far away gets the time that a connection to it takes to open, however soon
// callers give up: the next of them finds it open.
func TestFarServerIsReached(t *testing.T) {
	f := startFake(t, func([]string) string { return number(1) })
	const away = 60 * time.Millisecond
	s := f.open(t, func(o *redis.UniversalOptions) {
		o.PoolSize, o.DB = 1, 3
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-time.After(away)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return slow{conn, away}, err
		}
	})
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 2*away)
		err := receive(t, "end", renewing(ctx, s, "far"))
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("never answered: %v", err)
		}
	}
}

// More requests wait than one connection carries, and every connection is refused: all
// requests fail, and nobody dials without end.
func TestRefusedConnectionsAreGivenUp(t *testing.T) {
	refuse := make(chan struct{})
	var dials atomic.Int64
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{"store:6379"}, Dialer: func(context.Context, string, string) (net.Conn, error) {
		<-refuse
		dials.Add(1)
		return nil, syscall.ECONNREFUSED
	}}, Options{})
	s.batches.pause = 0
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all []chan error
	for range 5 * maxBatch {
		all = append(all, renewing(ctx, s, "billing"))
	}
	queued(s, len(all))
	close(refuse)
	for _, ended := range all {
		if err := receive(t, "answer", ended); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a request ends with %v after %d dials, want the refusal", err, dials.Load())
		}
	}
	if n := dials.Load(); n > 50 {
		t.Errorf("%d dials for %d requests", n, len(all))
	}
}
