package network

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// An outside toxiproxy serves as well, and gets rid of all our proxies and of
// no other; those of a harness that was killed are swept away.
func TestOutsideToxiproxy(t *testing.T) {
	outside := start(t, Options{})
	m := miniredis.RunT(t)
	addr := outside.addr
	foreign, err := outside.api.CreateProxy("foreign", "127.0.0.1:0", m.Addr())
	ok(t, err)
	n, err := Start(t.Context(), Options{Addr: addr})
	ok(t, err)
	l, err := n.Link("n1", m.Addr())
	ok(t, err)
	ok(t, l.Cut(Both))
	if _, err := probe(t, l, short); err == nil {
		t.Error("a cut has no effect")
	}
	ok(t, l.Heal())
	healed(t, m, l)
	wantProxies(t, outside, 2)
	ok(t, n.Close())
	wantProxies(t, outside, 1)

	killed := start(t, Options{Addr: "http://" + addr}) // its Close comes too late
	for range 3 {
		_, err := killed.Link("n1", m.Addr())
		ok(t, err)
	}
	if swept, err := Sweep(t.Context(), addr); err != nil || swept != 3 {
		t.Errorf("swept %d, %v; want 3", swept, err)
	}
	wantProxies(t, outside, 1)
	ok(t, foreign.Delete())
}

func wantProxies(t *testing.T, n *Network, want int) {
	t.Helper()
	proxies, err := n.api.Proxies()
	if err != nil || len(proxies) != want {
		t.Errorf("%d proxies, %v; want %d", len(proxies), err, want)
	}
}

// A server that is no toxiproxy is soon reported, with what to do.
func TestNoToxiproxy(t *testing.T) {
	web := httptest.NewServer(nil)
	defer web.Close()
	polite := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "welcome") // a client that is gone does not matter
	}))
	defer polite.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer func() { _ = mute.Close() }() // nobody talks to it
	for _, addr := range []string{"127.0.0.1:1", "nonsense", web.Listener.Addr().String(), polite.URL, mute.Addr().String()} {
		begun := time.Now()
		_, err := Start(t.Context(), Options{Addr: addr, Timeout: short})
		if !errors.Is(err, ErrNoToxiproxy) || !strings.Contains(err.Error(), "leave --toxiproxy out") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", addr, err)
		}
		if took := time.Since(begun); took > soon {
			t.Errorf("%s: took %v", addr, took)
		}
	}
	if _, err := Sweep(t.Context(), "127.0.0.1:1"); !errors.Is(err, ErrNoToxiproxy) {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Start(stopped, Options{Addr: mute.Addr().String()}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped by its caller: %v", err)
	}
}

// A probe takes an error for an answer, shakes hands where TLS is spoken, and
// says when nothing stands behind the link.
func TestProbe(t *testing.T) {
	m, l := redisBehind(t, Options{})
	m.RequireAuth("password")
	if _, err := probe(t, l, soon); err != nil {
		t.Errorf("a Redis that wants a password: %v", err)
	}
	m.Close()
	if _, err := probe(t, l, soon); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("nothing behind the link: %v", err)
	}

	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	secured, err := miniredis.RunTLS(&tls.Config{Certificates: web.TLS.Certificates})
	ok(t, err)
	defer secured.Close()
	l, err = start(t, Options{TLS: true, TLSServerName: "redis.example"}).Link("n1", secured.Addr())
	ok(t, err)
	if took, err := probe(t, l, soon); err != nil || took <= 0 {
		t.Errorf("over TLS: %v, %v", took, err)
	}
	ok(t, l.Cut(Replies))
	if _, err := probe(t, l, short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over TLS, cut: %v, want a deadline", err)
	}
}

// A link that was closed is gone and stays so, whatever is asked of it; the
// others are not touched.
func TestClosedLink(t *testing.T) {
	m := miniredis.RunT(t)
	n := start(t, Options{})
	gone, err := n.Link("gone", m.Addr())
	ok(t, err)
	other, err := n.Link("other", m.Addr())
	ok(t, err)
	old := talk(t, gone)
	old.expect("+PONG", "PING")
	ok(t, gone.Close())
	ok(t, gone.Close())
	old.ended(io.EOF, syscall.ECONNRESET)
	for _, err := range []error{gone.Cut(Both), gone.Heal(), gone.Delay(time.Millisecond, 0)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%v, want errClosed", err)
		}
	}
	if _, err := probe(t, gone, soon); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("probe: %v, want refused", err)
	}
	healed(t, m, other)
	wantProxies(t, n, 1)
}

// Nonsense is refused and changes nothing.
func TestNonsense(t *testing.T) {
	m, l := redisBehind(t, Options{})
	for _, err := range []error{
		l.Cut("scissors"), l.Cut(""),
		l.Delay(-1, 0), l.Delay(time.Millisecond, -1), l.Delay(time.Millisecond, time.Second),
		l.Bandwidth(-1),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "network: ") {
			t.Error(err)
		}
	}
	healed(t, m, l)
}
