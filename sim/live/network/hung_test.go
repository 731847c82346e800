package network

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// hanging is a toxiproxy outside that carries out requests and does not answer them while
// hangs says so.
func hanging(t *testing.T, hangs func(*http.Request) bool) (addr string) {
	t.Helper()
	routes := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop()).Routes()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs(r) {
			routes.ServeHTTP(httptest.NewRecorder(), r)
			<-over // not the request's context: nobody notices that a client left while its body is unread
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(over)
		server.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// A link knows that a change of its failed in the middle: the next one, whatever it
// is, makes the proxy anew.
func TestChangeThatHangs(t *testing.T) {
	var on atomic.Bool
	var toxics atomic.Int64
	m, l := redisBehind(t, Options{Timeout: 200 * time.Millisecond, Addr: hanging(t, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/toxics") {
			toxics.Add(1)
		}
		return on.Load() && toxics.Load() > 1
	})})
	on.Store(true)
	if err := l.Cut(Both); !errors.Is(err, ErrHung) {
		t.Fatalf("a cut that hangs: %v", err)
	}
	on.Store(false)
	ok(t, l.Heal())
	healed(t, m, l)
}

// A proxy whose making was not answered keeps nobody from making the next one, and is
// deleted with the network.
func TestLinkThatHangs(t *testing.T) {
	var on atomic.Bool
	n := start(t, Options{Timeout: 200 * time.Millisecond, Addr: hanging(t, func(*http.Request) bool { return on.Load() })})
	m := miniredis.RunT(t)
	on.Store(true)
	if _, err := n.Link("n1", m.Addr()); !errors.Is(err, ErrHung) {
		t.Fatalf("a link that hangs: %v", err)
	}
	on.Store(false)
	l, err := n.Link("n1", m.Addr())
	ok(t, err)
	healed(t, m, l)
	ok(t, n.Close())
	if swept, err := Sweep(t.Context(), n.addr); swept > 0 || err != nil {
		t.Errorf("%d proxies were left: %v", swept, err)
	}
}
