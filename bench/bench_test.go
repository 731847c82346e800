package main

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"
)

// A line of MONITOR is read as the command that a client sent, whatever its
// arguments hold; what scripts call is none.
func TestParseCommand(t *testing.T) {
	for _, test := range []struct {
		line string
		from string
		args []string
	}{
		{`+1700000000.1 [0 127.0.0.1:50000] "EVALSHA" "0a" "1" "recount:{a}:lease" "a b" "\"x\"\r\n\xff"` + "\r\n",
			"127.0.0.1:50000", []string{"EVALSHA", "0a", "1", "recount:{a}:lease", "a b", "\"x\"\r\n\xff"}},
		{`+1700000000.1 [0 [::1]:50000] "ping"`, "", nil},
		{`+1700000000.1 [0 lua] "get" "a"`, "", nil},
		{`+1700000000.1 [0 127.0.0.1:50000]`, "", nil},
		{`+1700000000.1 [0 127.0.0.1:50000] "get`, "", nil},
		{"+OK", "", nil},
	} {
		c, ok := parseCommand(test.line)
		if ok != (test.args != nil) || ok && (c.from != test.from || !slices.Equal(c.args, test.args)) {
			t.Errorf("%q: %v %+v", test.line, ok, c)
		}
	}
	if c, _ := parseCommand(`+1 [0 127.0.0.1:1] "EvalSha"`); c.name != "evalsha" {
		t.Errorf("the name is %q", c.name)
	}
}

// A quantile is a value that was measured, and enough of the others are no larger.
func TestQuantile(t *testing.T) {
	var s sample
	for i := range 200 {
		s = append(s, time.Duration(200-i))
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {.5, 100}, {.99, 198}, {1, 200}} {
		if got := s.quantile(test.q); got != test.want {
			t.Errorf("%v: %d, want %d", test.q, got, test.want)
		}
	}
	if got := (sample{7}).quantile(.99); got != 7 {
		t.Errorf("of one: %d", got)
	}
}

// With every library a leader is replaced, both when it releases and when its
// link is cut, and the server has a lease under the key that is looked at.
func TestEveryLibraryElects(t *testing.T) {
	s := testServer(t)
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g, err := assemble(t.Context(), l, s, 3, time.Second, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer g.dissolve()
			first := g.leader.seat
			if d, err := g.handover(t.Context()); err != nil || d <= 0 || g.leader.seat == first {
				t.Errorf("handed over in %v, %v; to another one: %v", d, err, g.leader.seat != first)
			}
			dead := g.leader.seat
			if d, err := g.crash(t.Context()); err != nil || d <= 0 || g.leader.seat == dead || len(g.seats) != 3 {
				t.Errorf("failed over with an excess of %v, %v; to another one: %v; %d candidates", d, err, g.leader.seat != dead, len(g.seats))
			}
		})
	}
}

// Commands are counted for whom they came from.
func TestTallyIsOfALink(t *testing.T) {
	s := testServer(t)
	g, err := assemble(t.Context(), libraries[0], s, 3, 30*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.dissolve()
	var seen tally
	stop, err := s.watchCommands(seen.see)
	if err != nil {
		t.Fatal(err)
	}
	leader := g.leader.seat
	if _, err := g.handover(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if n, names := seen.of(leader.link); n == 0 || names["evalsha"]+names["eval"] == 0 {
		t.Errorf("the old leader's release is not among %v", names)
	}
	if n, names := seen.of(newLink(0)); n != 0 {
		t.Errorf("a link that nobody used sent %v", names)
	}
}

// A server that is far away answers after there and back, and to each of two
// requests that follow each other; a link that is cut is cut at both ends.
func TestFarLink(t *testing.T) {
	s := testServer(t)
	const way = 20 * time.Millisecond
	l := newLink(way)
	conn, err := l.dial(t.Context(), "tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n int) time.Duration {
		began := time.Now()
		for range n {
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(conn, make([]byte, n*len("+PONG\r\n"))); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	if took := ask(1); took < 2*way {
		t.Errorf("one request took %v", took)
	}
	if took := ask(50); took < 2*way || took > 20*way {
		t.Errorf("fifty requests sent together took %v", took)
	}
	l.sever()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a link that was cut still answers")
	}
}

func testServer(t testing.TB) *server {
	s, err := startServer()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(s.stop)
	return s
}

// BenchmarkCalls are acquire and renew, each library's, and go-redis sending the
// same commands as the elector's store.
func BenchmarkCalls(b *testing.B) {
	ctx := context.Background()
	list, closeAll, err := callsOf(ctx, testServer(b))
	if err != nil {
		b.Fatal(err)
	}
	defer closeAll()
	for _, c := range list {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
