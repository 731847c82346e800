package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// listener hands out connections in memory.
type listener struct {
	conns chan net.Conn
	over  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { close(l.over); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// served serves on connections in memory, in a bubble, and returns a client's end
// and when the server has closed the other.
func served(t *testing.T, h http.Handler) (net.Conn, <-chan time.Duration) {
	t.Helper()
	l := &listener{make(chan net.Conn), make(chan struct{})}
	closed, began := make(chan time.Duration, 1), time.Now()
	s := newHTTP(h)
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- time.Since(began)
		}
	}
	go func() { _ = s.Serve(l) }() // until Close
	client, server := net.Pipe()
	l.conns <- server
	t.Cleanup(func() {
		_ = client.Close()
		_ = s.Close()
		synctest.Wait()
	})
	return client, closed
}

// A client that is slow, in whatever it does, is cut off.
func TestSlowClients(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what it holds is no matter
		_, _ = io.WriteString(w, strings.Repeat("yes\n", 10_000))
	})
	for name, c := range map[string]struct {
		says  string
		reads bool
		after time.Duration
	}{
		"says nothing":      {"", true, 5 * time.Second},
		"half a header":     {"GET / HTTP/1.1\r\nHost:", true, 5 * time.Second},
		"half a body":       {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", true, 10 * time.Second},
		"reads no answer":   {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", false, 10 * time.Second},
		"asks nothing more": {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, closed := served(t, answer)
				if c.reads {
					go func() { _, _ = io.Copy(io.Discard, client) }() // until it is cut off
				}
				if _, err := io.WriteString(client, c.says); err != nil {
					t.Fatal(err)
				}
				select {
				case after := <-closed:
					if after > c.after+time.Second || after < c.after-time.Second {
						t.Errorf("cut off after %v, want %v", after, c.after)
					}
				case <-time.After(time.Hour):
					t.Error("never cut off")
				}
			})
		})
	}
}

// A hand-over takes as long as the leader's job needs to end, although clients
// that are slow are cut off much sooner.
func TestSlowTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := bubbleClock{time.Now()}
		store := memstore.New(memstore.Options{Now: clock.Now})
		led := make(chan struct{})
		candidate := func(id string, work func(context.Context, *elector.Term)) *elector.Elector {
			e, err := elector.New(store, elector.Config{
				Election: "billing", ID: id, DrainTimeout: 2 * time.Minute, Clock: clock, Logger: slog.New(slog.DiscardHandler), OnStarted: work,
			})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		a := candidate("a", func(ctx context.Context, _ *elector.Term) {
			close(led)
			<-ctx.Done()
			time.Sleep(time.Minute)
		})
		b := candidate("b", func(ctx context.Context, _ *elector.Term) { <-ctx.Done() })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 2)
		go func() { ended <- a.Run(ctx) }()
		<-led
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(time.Second)

		c := &candidacy{elector: a, log: slog.New(slog.DiscardHandler)}
		c.timing = timing{lease: 15 * time.Second, drain: 2 * time.Minute}
		client, _ := served(t, http.HandlerFunc(c.answerTransfer))
		began := time.Now()
		if _, err := io.WriteString(client, "POST /transfer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 10\r\n\r\n{\"to\":\"b\"}"); err != nil {
			t.Fatal(err)
		}
		reply, err := io.ReadAll(client)
		if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 200 ") || time.Since(began) < time.Minute {
			t.Errorf("after %v: %v, %s", time.Since(began), err, reply)
		}
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
