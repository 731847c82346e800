package guards

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/sim/bubble/network"
)

// service is one life of the service: a server, and the guard before its handler.
type service struct {
	*web
	life   int
	guard  *fence.Memory // where it keeps its resources itself
	server *http.Server
	door   *door
}

func newService(w *web) *service {
	s := &service{web: w, guard: new(fence.Memory), door: &door{conns: make(chan net.Conn), shut: make(chan struct{})}}
	o := fence.HandlerOptions{Resource: func(r *http.Request) (string, error) { return r.URL.Path[1:], nil }}
	var guard fence.Checker = holding{s.guard}
	if w.remote != nil {
		guard = checking{w.remote.guards[writers]}
		o.Resource = func(r *http.Request) (string, error) { return keyOf(r.URL.Path[1:]), nil }
	}
	s.server = &http.Server{Handler: witnessed(fence.Handler(http.HandlerFunc(s.serve), guard, o)), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.server.Serve(s.door) }() // until end
	return s
}

// end ends the service: its connections are closed.
func (s *service) end() {
	s.door.once.Do(func() { close(s.door.shut) })
	_ = s.server.Close() // of connections in memory
}

// serve makes the write of a request that the guard has let pass.
func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	value, err := io.ReadAll(r.Body)
	c := s.record.of(string(value))
	if err != nil || c == nil {
		http.Error(w, "no such write", http.StatusBadGateway) // the request was cut short
		return
	}
	if token, passed := fence.TokenFrom(r.Context()), passageOf(r.Context()).passed.Load(); token != c.token || !passed {
		s.Find(handedOn, "%v was let pass with token %d, and the guard's consent: %v", c, token, passed)
	}
	stale := new(fence.StaleError)
	switch err := s.make(r.Context(), c); {
	case err == nil:
	case errors.Is(err, errKilled):
		panic(http.ErrAbortHandler)
	case errors.As(err, &stale):
		w.Header().Set("Token", strconv.FormatUint(stale.Token, 10))
		w.Header().Set("Highest", strconv.FormatUint(stale.Highest, 10))
		w.WriteHeader(http.StatusConflict)
	case errors.Is(err, errWrite):
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// make makes a write where the service keeps its resources.
func (s *service) make(ctx context.Context, c *call) error {
	defer func() {
		if recover() != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	switch {
	case s.remote == nil:
		return s.carry(ctx, c, s.life)
	case s.memory.current() != s.life:
		return errKilled
	default:
		return s.remote.through(ctx, writers, c, fence.TokenFrom(ctx))
	}
}

// passage is what the guard has said to a request.
type passage struct{ passed atomic.Bool }

type passageKey struct{}

func passageOf(ctx context.Context) *passage {
	return ctx.Value(passageKey{}).(*passage) //nolint:forcetypeassert // witnessed has put it there
}

// witnessed has what the guard says to requests noted.
func witnessed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passageKey{}, new(passage))))
	})
}

// checking is a guard that notes what it says.
type checking struct{ fence.Checker }

// Check implements fence.Checker.
func (g checking) Check(ctx context.Context, token uint64, resource string) error {
	err := g.Checker.Check(ctx, token, resource)
	passageOf(ctx).passed.Store(err == nil)
	return err
}

// holding is a guard that holds and notes what it says.
type holding struct{ fence.Holder }

// Hold implements fence.Holder.
func (g holding) Hold(ctx context.Context, token uint64, resource string) (release func(), err error) {
	release, err = g.Holder.Hold(ctx, token, resource)
	passageOf(ctx).passed.Store(err == nil)
	return release, err
}

// target leads connections to the service that serves.
type target struct{ *web }

var _ network.Target = target{}

// Open implements network.Target.
func (t target) Open() bool { return t.running() != nil }

// Serve implements network.Target.
func (t target) Serve(conn net.Conn) {
	s := t.running()
	if s == nil {
		_ = conn.Close() // it is new
		return
	}
	accepted := &acceptedConn{Conn: conn, gone: make(chan struct{})}
	select {
	case s.door.conns <- accepted:
		<-accepted.gone
	case <-s.door.shut:
		_ = conn.Close() // it is new
	}
}

// acceptedConn is a connection that tells when it is closed.
type acceptedConn struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

// Close implements net.Conn.
func (g *acceptedConn) Close() error {
	g.once.Do(func() { close(g.gone) })
	return g.Conn.Close()
}

// door is where a server waits for connections.
type door struct {
	conns chan net.Conn
	shut  chan struct{}
	once  sync.Once
}

var _ net.Listener = (*door)(nil)

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *door) Close() error { return nil }

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return &net.TCPAddr{} }
