package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// unhurriedCaller is the context of a caller whom nobody calls off.
func unhurriedCaller(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// seen is a connection that sees whether this file's renews is among who writes to it.
type seen struct {
	net.Conn
	by *atomic.Int32
}

func (c seen) Write(p []byte) (int, error) {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, ".renews") {
			c.by.Add(1)
		}
	}
	return c.Conn.Write(p)
}

// overlooked makes every connection a seen one.
func overlooked(by *atomic.Int32) func(*redis.UniversalOptions) {
	return func(o *redis.UniversalOptions) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return seen{conn, by}, err
		}
	}
}

func renews(ctx context.Context, s *Store) error {
	return s.Renew(ctx, lease(attempt("n1", "a"), 1))
}

// While a connection is open and free, a caller whom nobody calls off sends a request by
// himself. One who may be called off does not, nor does one who would give up before an
// answer can be there.
func TestCallerSends(t *testing.T) {
	f := startFake(t, func([]string) string { return number(1) })
	var by atomic.Int32
	s := f.open(t, overlooked(&by))
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.live.Load().far.Store(0)
	for i, test := range []struct {
		name string
		ctx  context.Context
		want int32
	}{
		{"the connection is not open", unhurriedCaller(t), 0},
		{"it is", unhurriedCaller(t), 1},
		{"who may be called off", t.Context(), 0},
		{"likewise, with a deadline", late, 0},
	} {
		by.Store(0)
		if err := renews(test.ctx, s); err != nil || by.Load() != test.want {
			t.Errorf("%d, %s: the caller wrote %d times, want %d; error %v", i, test.name, by.Load(), test.want, err)
		}
	}
}

// over is a context that has ended.
type over struct{ context.Context }

func (over) Err() error { return context.Canceled }

// A caller who is called off already sends nothing by himself.
func TestCallerIsCalledOff(t *testing.T) {
	f := startFake(t, func([]string) string { return number(1) })
	var by atomic.Int32
	s := f.open(t, overlooked(&by))
	if err := renews(unhurriedCaller(t), s); err != nil { // opens the connection
		t.Fatal(err)
	}
	by.Store(0)
	if err := renews(over{unhurriedCaller(t)}, s); by.Load() != 0 {
		t.Errorf("the caller wrote %d times; error %v", by.Load(), err)
	}
}

// What a caller sends by himself holds up nothing but its connection; who comes
// meanwhile waits for one as ever, and goes on when the caller has its answer.
func TestCallersAndBatches(t *testing.T) {
	k := startKeeper(t)
	s := k.open(t, func(o *redis.UniversalOptions) { o.PoolSize = 1 })
	k.free <- struct{}{}
	if err := renews(unhurriedCaller(t), s); err != nil { // opens the connection
		t.Fatal(err)
	}
	receive(t, "request", k.asked)
	all := []chan error{renewing(unhurriedCaller(t), s, "straight")}
	receive(t, "request", k.asked)
	for i := range 10 {
		ctx := t.Context()
		if i%2 == 0 {
			ctx = unhurriedCaller(t)
		}
		all = append(all, renewing(ctx, s, fmt.Sprint("waits-", i)))
	}
	queued(s, 10)
	for range all {
		k.free <- struct{}{}
	}
	for _, ended := range all {
		if err := receive(t, "answer", ended); err != nil {
			t.Errorf("renew: %v", err)
		}
	}
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	if busy := s.live.Load().busy; busy != [2]int{} {
		t.Errorf("nobody asks, and the connections are busy: %v", busy)
	}
}

// limited is a context with a deadline whose end nobody is told: an elector's, when its
// store works on the elector's goroutine.
type limited struct {
	context.Context
	deadline time.Time
}

func (l limited) Deadline() (time.Time, bool) { return l.deadline, true }

// A request that a caller sends by himself ends at the deadline, as one without an answer,
// and counts as a failure of the connection.
func TestCallerGivesUp(t *testing.T) {
	var hangs atomic.Bool
	f := startFake(t, func([]string) string {
		if hangs.Load() {
			return silence
		}
		return number(1)
	})
	s := f.open(t, func(*redis.UniversalOptions) {})
	if err := renews(unhurriedCaller(t), s); err != nil {
		t.Fatal(err)
	}
	s.live.Load().far.Store(int64(time.Millisecond))
	hangs.Store(true)
	err := renews(limited{unhurriedCaller(t), time.Now().Add(30 * time.Millisecond)}, s)
	if !errors.Is(err, errNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waited in vain: %v", err)
	}
	s.mu.Lock()
	if n := s.live.Load().failures; n != 1 {
		t.Errorf("%d failures, want 1", n)
	}
	s.mu.Unlock()
	hangs.Store(false)
	if err := renews(unhurriedCaller(t), s); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := renews(unhurriedCaller(t), s); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("on a store that is closed: %v", err)
	}
}
