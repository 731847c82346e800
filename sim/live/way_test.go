package live

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/network"
)

// However slow a way is made, the proof that it is slow takes no longer than a
// probe waits; a way that is as fast as ever is none.
func TestDelayIsProvenSoon(t *testing.T) {
	server := miniredis.RunT(t)
	n, err := network.Start(t.Context(), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }() // its link is gone with it
	link, err := n.Link("test", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w := world{links: map[string]way{"n1": {link}}, ways: map[string]string{"n1": "the proxy of n1"}}
	for _, delay := range []time.Duration{20 * time.Millisecond, time.Minute} {
		if evidence, err := w.Delay(t.Context(), "n1", delay, 0); err != nil || evidence == "" {
			t.Errorf("delayed by %v: %q, %v", delay, evidence, err)
		}
	}
	if err := link.Heal(); err != nil {
		t.Fatal(err)
	}
	if evidence, err := w.slower(t.Context(), "n1", way{link}, time.Minute); !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("not delayed: %q, %v", evidence, err)
	}
}

// A way is open as long as one of its servers answers, and cut only if every
// link is.
func TestWay(t *testing.T) {
	n, err := network.Start(t.Context(), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }() // its links are gone with it
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		var ping [64]byte
		if _, err := conn.Read(ping[:]); err == nil {
			_, _ = conn.Write([]byte("+PONG\r\n")) // a client that is gone does not matter
		}
		_ = conn.Close() // one question, one answer
	})
	if err != nil {
		t.Fatal(err)
	}
	var w way
	for _, server := range []string{"127.0.0.1:1", addr} {
		link, err := n.Link("test", server)
		if err != nil {
			t.Fatal(err)
		}
		w = append(w, link)
	}
	if got, want := w.via([]string{"a:1", "b:2"}), "a:1="+w[0].Addr()+",b:2="+w[1].Addr(); got != want {
		t.Errorf("a candidate gets %q, want %q", got, want)
	}
	open := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.Probe(ctx)
		return err == nil
	}
	if !open() {
		t.Error("no server answered, though one is there")
	}
	if err := w.Cut(network.Refused); err != nil || open() {
		t.Errorf("a server answered over a way that is cut (%v)", err)
	}
	if err := w.Heal(); err != nil || !open() {
		t.Errorf("no server answers over a way that is healed (%v)", err)
	}
	for _, link := range w {
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	}
}
