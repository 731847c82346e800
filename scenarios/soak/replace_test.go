package soak

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/supervisor"
	"github.com/recount-io/recount/sim/protocol"
)

// A candidate whose toxiproxy hangs gets another one and another process, the soak goes
// on, and the report says so.
func TestHangingToxiproxyIsReplaced(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not on PATH")
	}
	s := &soak{Options: Options{Folder: t.TempDir(), Groups: 1}.filled(), epoch: protocol.Monotonic()}
	s.usage = &usages{now: s.now, every: time.Minute}
	s.report.Unknown, s.stalls.all = map[string]int{}, map[string]*stalled{}
	var err error
	if s.supervisor, err = supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	g, err := s.openGroup(t.Context(), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := g.members[0]
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	before, err := m.present()
	if err != nil {
		t.Fatal(err)
	}

	hung := hang(t, m)
	if err := m.way().Delay(time.Millisecond, 0); err == nil {
		t.Fatal("it does not hang: of no use")
	}
	if err := g.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-before.done
	after, err := m.present()
	if err != nil || after == before || m.way() == hung {
		t.Fatalf("the process and its way are as before, or there is none: %v", err)
	}
	if _, err := m.way().Probe(t.Context()); err != nil {
		t.Error(err)
	}
	said := 0
	for what := range s.report.Unknown {
		if strings.Contains(what, "a toxiproxy hung") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the report says %v", s.report.Unknown)
	}
}

// hang gives the member a way through a toxiproxy that makes a proxy and answers nothing
// after that.
func hang(t *testing.T, m *member) *network.Link {
	t.Helper()
	var made atomic.Bool
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var proxy struct{ Listen string }
		switch {
		case made.Load():
			<-over // not the request's context: nobody notices that a client left while its body is unread
		case r.Method != http.MethodPost:
			_, _ = w.Write([]byte(`{"version": "2"}`))
		case json.NewDecoder(r.Body).Decode(&proxy) == nil:
			port, err := net.Listen("tcp", proxy.Listen)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			t.Cleanup(func() { _ = port.Close() })
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{}`))
			made.Store(true)
		}
	}))
	t.Cleanup(func() {
		close(over)
		server.Close()
	})
	n, err := network.Start(t.Context(), network.Options{Addr: strings.TrimPrefix(server.URL, "http://"), Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	link, err := n.Link(m.label(), m.group.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	old := m.network
	t.Cleanup(func() {
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.network, m.link = n, link
	return link
}
