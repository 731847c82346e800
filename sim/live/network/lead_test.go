package network

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A link that leads elsewhere is the same way to another server: connections
// to the one before are closed, and what the link is like stays, a cut
// included.
func TestLead(t *testing.T) {
	here, l := redisBehind(t, Options{})
	there := miniredis.RunT(t)
	ok(t, here.Set("name", "1"))
	ok(t, there.Set("name", "2"))
	count := func(want string) {
		t.Helper()
		talk(t, l).expect(want, "INCR", "name")
	}
	ok(t, l.Delay(20*time.Millisecond, 0))
	old := talk(t, l)
	old.expect(":2", "INCR", "name")
	addr := l.Addr()
	ok(t, l.Lead(there.Addr()))
	old.ended(io.EOF, syscall.ECONNRESET)
	count(":3")
	if took, err := l.Probe(t.Context()); err != nil || took < 40*time.Millisecond || l.Addr() != addr {
		t.Errorf("at %s a PING takes %v, %v; want it delayed, at %s", l.Addr(), took, err, addr)
	}
	ok(t, l.Cut(Refused))
	ok(t, l.Lead(here.Addr()))
	if _, err := l.Probe(t.Context()); err == nil {
		t.Error("a link that was cut passes since it leads elsewhere")
	}
	ok(t, l.Heal())
	ok(t, l.Lead(here.Addr()))
	count(":3")
	ok(t, l.Close())
	if err := l.Lead(there.Addr()); err == nil {
		t.Error("a closed link leads somewhere")
	}
}
