package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"
)

// short is long enough for an answer over loopback, even on a busy machine
// with the race detector on, where it must not come.
const short = 150 * time.Millisecond

// soon bounds what must happen.
const soon = 5 * time.Second

func start(t *testing.T, o Options) *Network {
	t.Helper()
	n, err := Start(t.Context(), o)
	ok(t, err)
	t.Cleanup(func() { ok(t, n.Close()) })
	return n
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// redisBehind is an embedded Redis and a link to it.
func redisBehind(t *testing.T, o Options) (*miniredis.Miniredis, *Link) {
	t.Helper()
	m := miniredis.RunT(t)
	l, err := start(t, o).Link("n1", m.Addr())
	ok(t, err)
	return m, l
}

// conversation is a connection through a link.
type conversation struct {
	t *testing.T
	net.Conn
	replies *bufio.Reader
}

func talk(t *testing.T, l *Link) *conversation {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	ok(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // whatever became of it
	return &conversation{t, conn, bufio.NewReader(conn)}
}

// say sends one command.
func (c *conversation) say(words ...string) error {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	_, err := c.Write([]byte(text))
	return err
}

// hear reads one line of a reply.
func (c *conversation) hear(within time.Duration) (string, error) {
	ok(c.t, c.SetReadDeadline(time.Now().Add(within)))
	line, err := c.replies.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (c *conversation) expect(want string, words ...string) {
	c.t.Helper()
	ok(c.t, c.say(words...))
	if got, err := c.hear(soon); err != nil || got != want {
		c.t.Fatalf("%v: %q, %v; want %q", words, got, err, want)
	}
}

// silent says that a command gets no reply.
func (c *conversation) silent(words ...string) {
	c.t.Helper()
	ok(c.t, c.say(words...))
	if got, err := c.hear(short); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("%v: %q, %v; want no reply", words, got, err)
	}
}

// ended says that the connection ends, and how.
func (c *conversation) ended(how ...error) {
	c.t.Helper()
	_, err := c.hear(soon)
	for _, want := range how {
		if errors.Is(err, want) {
			return
		}
	}
	c.t.Errorf("the connection: %v, want one of %v", err, how)
}

// Each cut loses what its name says, on old and new connections, and nothing
// else; a probe fails in the way that is documented; and a healed link carries
// new connections again.
func TestCuts(t *testing.T) {
	for cut, executed := range map[Cut]bool{Both: false, Requests: false, Replies: true} {
		t.Run(string(cut), func(t *testing.T) {
			m, l := redisBehind(t, Options{})
			old, listener := talk(t, l), talk(t, l)
			old.expect("+PONG", "PING")
			listener.expect("*3", "SUBSCRIBE", "news")
			for range 5 { // the rest of the reply
				_, err := listener.hear(soon)
				ok(t, err)
			}
			ok(t, l.Cut(cut))
			old.silent("SET", "old", "1")
			young := talk(t, l)
			young.silent("SET", "new", "1")
			if m.Exists("old") != executed || m.Exists("new") != executed {
				t.Errorf("executed: %v, %v; want %v", m.Exists("old"), m.Exists("new"), executed)
			}
			m.Publish("news", "text")
			heard, err := listener.hear(short)
			if passes := cut == Requests; passes != (err == nil) {
				t.Errorf("what the server sends: %q, %v", heard, err)
			}
			if _, err := probe(t, l, short); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("probe: %v, want a deadline", err)
			}
			ok(t, l.Heal())
			healed(t, m, l)
			old.ended(io.EOF, syscall.ECONNRESET)
			young.ended(io.EOF, syscall.ECONNRESET)
		})
	}
}

func probe(t *testing.T, l *Link, within time.Duration) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return l.Probe(ctx)
}

// healed says that new connections and probes work.
func healed(t *testing.T, m *miniredis.Miniredis, l *Link) {
	t.Helper()
	if took, err := probe(t, l, soon); err != nil || took <= 0 {
		t.Errorf("probe of a healed link: %v, %v", took, err)
	}
	talk(t, l).expect("+OK", "SET", "healed", "1")
	if !m.Exists("healed") {
		t.Error("a healed link does not lead to the store")
	}
}

// Refused ends open connections, and refuses new ones, until it is healed; the
// address stays.
func TestRefused(t *testing.T) {
	m, l := redisBehind(t, Options{})
	old, addr := talk(t, l), l.Addr()
	old.expect("+PONG", "PING")
	ok(t, l.Cut(Refused))
	old.ended(io.EOF, syscall.ECONNRESET)
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("new connection: %v, want refused", err)
	}
	if _, err := probe(t, l, soon); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("probe: %v, want refused", err)
	}
	ok(t, l.Heal())
	if l.Addr() != addr {
		t.Errorf("its address was %s and is %s", addr, l.Addr())
	}
	healed(t, m, l)
}

// Reset ends open connections; new ones are accepted, and reset at the first
// byte; nothing is executed.
func TestReset(t *testing.T) {
	m, l := redisBehind(t, Options{})
	old := talk(t, l)
	old.expect("+PONG", "PING")
	ok(t, l.Cut(Reset))
	old.ended(io.EOF, syscall.ECONNRESET)
	young := talk(t, l)
	ok(t, young.say("SET", "new", "1"))
	young.ended(syscall.ECONNRESET)
	if m.Exists("new") {
		t.Error("the command was executed")
	}
	if _, err := probe(t, l, soon); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("probe: %v, want reset", err)
	}
	ok(t, l.Heal())
	healed(t, m, l)
}

// A delay is added in each direction, also on a connection that is open, which
// outlives it.
func TestDelay(t *testing.T) {
	m, l := redisBehind(t, Options{})
	old := talk(t, l)
	old.expect("+PONG", "PING")
	ok(t, l.Delay(40*time.Millisecond, 10*time.Millisecond))
	for range 3 {
		took, err := probe(t, l, soon)
		if err != nil || took < 60*time.Millisecond || took > time.Second {
			t.Errorf("probe took %v, %v; want 80 ms ± 20 ms", took, err)
		}
		sent := time.Now()
		old.expect("+PONG", "PING")
		if took := time.Since(sent); took < 60*time.Millisecond {
			t.Errorf("an open connection answered after %v", took)
		}
	}
	ok(t, l.Delay(100*time.Millisecond, 0)) // another one in its place
	if took, err := probe(t, l, soon); err != nil || took < 200*time.Millisecond {
		t.Errorf("probe took %v, %v; want 200 ms", took, err)
	}
	ok(t, l.Heal())
	old.expect("+PONG", "PING")
	healed(t, m, l)
	if took, err := probe(t, l, soon); err != nil || took > 60*time.Millisecond {
		t.Errorf("after healing a probe took %v, %v", took, err)
	}
}

// A bandwidth holds in each direction, also on a connection that is open,
// which outlives it. Nothing is lost.
func TestBandwidth(t *testing.T) {
	m, l := redisBehind(t, Options{})
	ok(t, m.Set("large", strings.Repeat("x", 30_000)))
	old := talk(t, l)
	old.expect("+PONG", "PING")
	ok(t, l.Bandwidth(100))
	sent := time.Now()
	old.expect("$30000", "GET", "large")
	text, err := old.hear(soon)
	if took := time.Since(sent); err != nil || len(text) != 30_000 || took < 250*time.Millisecond {
		t.Errorf("%d bytes after %v, %v; want 30000 after 300 ms", len(text), took, err)
	}
	ok(t, l.Bandwidth(0))
	sent = time.Now()
	old.expect("$30000", "GET", "large")
	if text, err = old.hear(soon); err != nil || len(text) != 30_000 || time.Since(sent) > 200*time.Millisecond {
		t.Errorf("%d bytes after %v, %v; want 30000 at once", len(text), time.Since(sent), err)
	}
	healed(t, m, l)
}

// Faults add up, one cut takes the place of another, and Heal takes
// everything off, from whatever came before.
func TestOneAfterTheOther(t *testing.T) {
	m, l := redisBehind(t, Options{})
	all := map[string]func() error{
		"delay":     func() error { return l.Delay(5*time.Millisecond, 0) },
		"bandwidth": func() error { return l.Bandwidth(1000) },
		"heal":      l.Heal,
	}
	for _, cut := range []Cut{Both, Requests, Replies, Refused, Reset} {
		all[string(cut)] = func() error { return l.Cut(cut) }
	}
	for name, first := range all {
		for next, second := range all {
			if name != "refused" {
				_ = talk(t, l).say("PING") // a connection that lives through it all
			}
			begun := time.Now()
			ok(t, first())
			ok(t, second())
			_, err := probe(t, l, short)
			passes := func(what string) bool { return what == "heal" || what == "delay" || what == "bandwidth" }
			if want := next == "heal" || passes(name) && passes(next); want != (err == nil) {
				t.Errorf("%s, then %s: probe %v", name, next, err)
			}
			ok(t, l.Heal())
			healed(t, m, l)
			if took := time.Since(begun); took > soon {
				t.Errorf("%s, then %s: took %v", name, next, took)
			}
		}
	}
}

// A link that is both slow and cut is healed at once, though its clients never
// stop sending.
func TestSlowAndCutUnderLoad(t *testing.T) {
	m, l := redisBehind(t, Options{Timeout: 20 * time.Second})
	for range 5 {
		ok(t, l.Delay(time.Millisecond, 0))
		ok(t, l.Cut(Both))
		for range 8 {
			c := talk(t, l)
			go func() {
				for c.say("PING") == nil { // until the link is healed
				}
			}()
		}
		begun := time.Now()
		ok(t, l.Heal())
		healed(t, m, l)
		if took := time.Since(begun); took > soon {
			t.Fatalf("took %v", took)
		}
	}
}

// Where toxiproxy hangs (a reader that does not read blocks the toxic that is
// to be taken off), the link is made anew and works; all in bounded time.
func TestHangingToxiproxy(t *testing.T) {
	l, err := start(t, Options{Timeout: 300 * time.Millisecond}).Link("n1", flood(t))
	ok(t, err)
	ok(t, l.Delay(time.Millisecond, 0))
	stuck := talk(t, l)
	// Once it has read so much, the pipe was full for a long time.
	if _, err := io.CopyN(io.Discard, stuck, 8<<20); err != nil {
		t.Fatal(err)
	}
	// The next write of toxiproxy blocks as soon as the buffers are full: the
	// flood says when.
	begun := time.Now()
	for l.api != nil { // until it hangs: the first time that the proxy is made anew
		before := l.api
		ok(t, l.Delay(0, 0))
		if l.api != before {
			break
		}
		ok(t, l.Delay(time.Millisecond, 0))
		if l.api != before {
			break
		}
		if time.Since(begun) > soon {
			t.Fatal("toxiproxy does not hang: this test shows nothing")
		}
	}
	t.Logf("it hung after %v", time.Since(begun))
	young := talk(t, l)
	if _, err := io.CopyN(io.Discard, young, 1<<20); err != nil {
		t.Errorf("a link that was made anew: %v", err)
	}
	ok(t, stuck.SetReadDeadline(time.Now().Add(soon)))
	if _, err := io.Copy(io.Discard, stuck); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection that hung is still open")
	}
}

// flood is a server that sends as long as it can.
func flood(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { _ = l.Close() }) // ends the loop
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }() // it broke
				for {
					if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// Close ends every goroutine, with connections open and links cut, and every
// listener; afterwards nothing can be made.
func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	m := miniredis.NewMiniRedis()
	ok(t, m.Start())
	n, err := Start(t.Context(), Options{})
	ok(t, err)
	begun := time.Now()
	var links []*Link
	for i, change := range []func(*Link) error{
		func(*Link) error { return nil },
		func(l *Link) error { return l.Cut(Both) },
		func(l *Link) error { return l.Cut(Refused) },
		func(l *Link) error { return l.Cut(Reset) },
		func(l *Link) error { return l.Delay(time.Millisecond, 0) },
	} {
		l, err := n.Link(fmt.Sprint("n", i), m.Addr())
		ok(t, err)
		links = append(links, l)
		talk(t, l).expect("+PONG", "PING")
		ok(t, change(l))
	}
	t.Logf("five links, with a fault each, took %v", time.Since(begun))
	begun = time.Now()
	ok(t, n.Close())
	t.Logf("close took %v", time.Since(begun))
	for _, l := range links {
		if _, err := net.Dial("tcp", l.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, want refused", l.Addr(), err)
		}
	}
	ok(t, n.Close())
	if _, err := n.Link("late", m.Addr()); !errors.Is(err, errClosed) {
		t.Errorf("link after Close: %v", err)
	}
	m.Close()
	goleak.VerifyNone(t, before)
}
