package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// attempts dials as told: the first attempt is the first of them.
func attempts(each ...func(ctx context.Context) (net.Conn, error)) dialFunc {
	var n atomic.Int64
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return each[min(int(n.Add(1)), len(each))-1](ctx)
	}
}

func hangs(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDialAgain shows that an attempt that hangs holds nobody up, and is given up.
func TestDialAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		var given atomic.Int64
		hanging := func(ctx context.Context) (net.Conn, error) {
			defer given.Add(1)
			return hangs(ctx)
		}
		began := time.Now()
		conn, err := insistent(attempts(hanging, hanging, func(context.Context) (net.Conn, error) { return near, nil }))(t.Context(), "tcp", "a:1")
		if err != nil || conn != near {
			t.Fatalf("got %v, %v", conn, err)
		}
		if took, want := time.Since(began), 3*firstPause; took != want {
			t.Errorf("the third attempt was made after %v, want %v", took, want)
		}
		if synctest.Wait(); given.Load() != 2 {
			t.Errorf("%d attempts were given up, want 2", given.Load())
		}
	})
}

// tells says when it is closed.
type tells struct {
	net.Conn
	closed chan struct{}
}

func (c tells) Close() error {
	close(c.closed)
	return c.Conn.Close()
}

// TestDialLate shows that a connection is closed that comes when there is another one.
func TestDialLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		late := tells{near, make(chan struct{})}
		first := func(context.Context) (net.Conn, error) {
			<-time.After(2 * firstPause) // it does not look at its context
			return late, nil
		}
		refused := errors.New("refused")
		_, err := insistent(attempts(first, func(context.Context) (net.Conn, error) { return nil, refused }))(t.Context(), "tcp", "a:1")
		if !errors.Is(err, refused) {
			t.Errorf("got %v, want the first answer that there was", err)
		}
		<-late.closed
	})
}

// TestDialEnds shows that a dial obeys its context, and outlives a dialer that panics.
func TestDialEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := insistent(attempts(hangs))(ctx, "tcp", "a:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that there was no time left", err)
		}
		_, err := insistent(attempts(func(context.Context) (net.Conn, error) { panic("no way") }))(t.Context(), "tcp", "a:1")
		if err == nil || !strings.Contains(err.Error(), "no way") {
			t.Errorf("got %v, want the panic", err)
		}
	})
}
