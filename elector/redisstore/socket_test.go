package redisstore

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// opaque is a connection without a descriptor, as one of TLS is.
type opaque struct{ net.Conn }

// ends are the connections that a test has dialled, which it can break.
type ends struct {
	mu    sync.Mutex
	conns []*net.TCPConn
}

func (e *ends) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns = append(e.conns, conn.(*net.TCPConn))
	return opaque{conn}, nil
}

// cut ends all of them, as if the server had closed them.
func (e *ends) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, conn := range e.conns {
		_ = conn.CloseRead()
	}
	e.conns = nil
}

// Opening a connection sends nothing but the greeting, and the connection is as good as
// any.
func TestReachSendsNothing(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		eachServer(t, func(t *testing.T, r *server) {
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Protocol: protocol}, Options{Unprotected: true})
			c := s.live.Load()
			before := 0
			if r.mini == nil {
				before = commands(t, r)["ping"]
			}
			for range 3 {
				if err := c.reach(time.Minute); err != nil {
					t.Fatal(err)
				}
				mustAcquire(t, r, s, attempt("n1", "a"))
			}
			if n := c.PoolStats().TotalConns; n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			if r.mini == nil && commands(t, r)["ping"] != before {
				t.Error("a PING was sent")
			}
		})
	}
}

// occupy has the store open three connections, which are idle afterwards.
func (k *keeper) occupy(t *testing.T, s *Store) {
	t.Helper()
	var under []chan error
	for range 3 { // each on a connection of its own
		under = append(under, renewing(t.Context(), s, "billing"))
		receive(t, "request", k.asked)
	}
	for range under {
		k.free <- struct{}{}
	}
	for _, ended := range under {
		if err := receive(t, "answer", ended); err != nil {
			t.Fatal(err)
		}
	}
}

// cut has the store use three connections, ends them, and has one meet a renewal.
func (k *keeper) cut(t *testing.T, s *Store, e *ends) {
	t.Helper()
	k.occupy(t, s)
	e.cut()
	if err := s.Renew(t.Context(), lease(attempt("n1", "a"), 1)); err == nil {
		t.Fatal("renewed on a dead connection")
	}
}

// When one connection has died, those of its age are not used any more although nobody can
// see that they have ended, and others are opened before anybody asks.
func TestOneDeadConnectionTellsOfTheOthers(t *testing.T) {
	k := startKeeper(t)
	var e ends
	s := k.open(t, func(o *redis.UniversalOptions) { o.Dialer = e.dial })
	k.cut(t, s, &e)
	opened := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.conns)
	}
	for opened() < 1 { // beside the requests, of which there is none
		<-time.After(time.Millisecond)
	}
	for range 10 { // the dead one has asked, too
		k.free <- struct{}{}
	}
	if err := s.Renew(t.Context(), lease(attempt("n1", "a"), 1)); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// writer is a connection with a descriptor, which the pool looks at before it uses it.
type writer struct {
	*net.TCPConn
	wrote *atomic.Pointer[net.TCPConn]
}

func (s writer) Write(p []byte) (int, error) {
	s.wrote.Store(s.TCPConn)
	return s.TCPConn.Write(p)
}

// When a connection dies, idle ones of its age are replaced, although they have not ended
// yet: their ends may be on the way. Otherwise the next request would have to wait for a new
// one.
func TestConnectionsThatAreAboutToDieAreReplaced(t *testing.T) {
	k := startKeeper(t)
	var dialled atomic.Int32
	var wrote atomic.Pointer[net.TCPConn]
	s := k.open(t, func(o *redis.UniversalOptions) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			dialled.Add(1)
			return writer{conn.(*net.TCPConn), &wrote}, nil
		}
	})
	k.occupy(t, s)
	before := dialled.Load()
	last := renewing(t.Context(), s, "billing")
	receive(t, "request", k.asked)
	_ = wrote.Load().CloseRead()
	if err := receive(t, "answer", last); err == nil {
		t.Fatal("renewed on a dead connection")
	}
	for dialled.Load() == before {
		<-time.After(time.Millisecond)
	}
	k.free <- struct{}{}
}

// The death of an old connection says nothing about those that were opened after another
// one of its age had died.
func TestDeathsOfOneAge(t *testing.T) {
	c := newClient()
	dial := c.sockets(func(context.Context, string, string) (net.Conn, error) {
		conn, far := net.Pipe()
		return conn, far.Close()
	}, func() {})
	open := func() *socket {
		conn, err := dial(t.Context(), "tcp", "a:1")
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*socket)
	}
	usable := func(s *socket) bool {
		_, err := s.SyscallConn()
		return err == nil
	}
	first, second := open(), open()
	if !usable(first) || !usable(second) {
		t.Error("nothing has died")
	}
	_, _ = first.Read(make([]byte, 1))
	if usable(second) {
		t.Error("one of the same age has died")
	}
	third := open()
	_, _ = second.Read(make([]byte, 1))
	if !usable(third) {
		t.Error("those that died were older")
	}
}

// A request that comes while a connection does not open has another one opened.
func TestWhoComesLaterOpensAnother(t *testing.T) {
	f := startFake(t, func([]string) string { return number(1) })
	stuck := make(chan struct{})
	s := f.open(t, func(o *redis.UniversalOptions) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-stuck
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	})
	s.batches.pause = 0
	var all []chan error
	for want := range 3 {
		all = append(all, renewing(t.Context(), s, "billing"))
		for at := -1; at != want+1; <-time.After(time.Millisecond) {
			s.batches.mu.Lock()
			at = s.live.Load().busy[queuePlain]
			s.batches.mu.Unlock()
		}
	}
	close(stuck)
	for _, ended := range all {
		if err := receive(t, "answer", ended); err != nil {
			t.Error(err)
		}
	}
}
