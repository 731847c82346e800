package network_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
)

const ms = time.Millisecond

// server notes what reaches it and when, and answers each message with it.
type server struct {
	begin time.Time
	down  bool

	mu  sync.Mutex
	got []string
	at  []time.Duration
}

func (s *server) Open() bool { return !s.down }

func (s *server) Serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // it may be closed already
	b := make([]byte, 1024)
	for {
		n, err := conn.Read(b)
		s.mu.Lock()
		text := string(b[:n])
		if err != nil {
			text = "end: " + cause(err)
		}
		s.got, s.at = append(s.got, text), append(s.at, time.Since(s.begin))
		s.mu.Unlock()
		if err != nil {
			return
		}
		_, _ = conn.Write(b[:n]) // the peer may be gone
	}
}

// heard is what has reached the server.
func (s *server) heard() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.got, ", ")
}

func cause(err error) string {
	for _, known := range []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.ECONNREFUSED, context.Canceled} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// in calls f in a bubble, with a link of 10 ms in each direction.
func in(t *testing.T, f func(t *testing.T, l *network.Link, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{begin: time.Now()}
		l := network.NewLink(1, sim.Network{Latency: 10 * ms}, s)
		defer l.Close()
		f(t, l, s)
	})
}

func dial(t *testing.T, e *network.Endpoint) net.Conn {
	t.Helper()
	conn, err := e.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// say writes, and wants no error and no time to pass.
func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	began := time.Now()
	if n, err := conn.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("the write of %q gave %d, %v", text, n, err)
	}
	if took := time.Since(began); took != 0 {
		t.Fatalf("the write took %v", took)
	}
}

// hear reads once, and wants the text, or the error that is called so, after
// between least and most.
func hear(t *testing.T, conn net.Conn, want string, least, most time.Duration) {
	t.Helper()
	began := time.Now()
	b := make([]byte, 1024)
	n, err := conn.Read(b)
	got := string(b[:n])
	if err != nil {
		got = cause(err)
	}
	if took := time.Since(began); got != want || took < least || took > most {
		t.Errorf("heard %q after %v, want %q after %v to %v", got, took, want, least, most)
	}
}

// A connection takes a round trip to open, a message a round trip to be answered,
// and what was written in pieces arrives in order.
func TestRoundTrip(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, s *server) {
		began := time.Now()
		conn := dial(t, l.Endpoint())
		if took := time.Since(began); took < 20*ms || took > 21*ms {
			t.Errorf("the dial took %v", took)
		}
		say(t, conn, "hello")
		hear(t, conn, "hello", 20*ms, 21*ms)
		for _, text := range []string{"1", "2", "3", "4"} {
			say(t, conn, text)
		}
		for _, text := range []string{"1", "2", "3", "4"} {
			hear(t, conn, text, 0, 21*ms)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if got := s.heard(); got != "hello, 1, 2, 3, 4" {
			t.Errorf("the server heard %s before the end arrived", got)
		}
		time.Sleep(11 * ms)
		if got := s.heard(); got != "hello, 1, 2, 3, 4, end: EOF" {
			t.Errorf("the server heard %s", got)
		}
		hear(t, conn, net.ErrClosed.Error(), 0, 0)
	})
}

// A read ends at its deadline, or when the connection is closed by another
// goroutine; a later read with another deadline gets what has arrived meanwhile.
func TestDeadlines(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, _ *server) {
		conn := dial(t, l.Endpoint())
		say(t, conn, "late")
		_ = conn.SetReadDeadline(time.Now().Add(5 * ms)) // it is open
		hear(t, conn, os.ErrDeadlineExceeded.Error(), 5*ms, 6*ms)
		var e net.Error
		if _, err := conn.Read(make([]byte, 1)); !errors.As(err, &e) || !e.Timeout() {
			t.Errorf("%v is no time-out", err)
		}
		_ = conn.SetDeadline(time.Time{}) // it is open
		hear(t, conn, "late", 10*ms, 20*ms)
		_ = conn.SetWriteDeadline(time.Now().Add(-ms)) // it is open
		if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write after its deadline: %v", err)
		}
		time.AfterFunc(7*ms, func() { _ = conn.Close() })
		hear(t, conn, net.ErrClosed.Error(), 7*ms, 8*ms)
		if conn.SetDeadline(time.Time{}) == nil || conn.Close() == nil {
			t.Error("a closed connection takes deadlines, or is closed twice")
		}
	})
}

// What a hole swallows arrives when it is mended, once and in order, at the times
// at which TCP sends again; also if who wrote it has closed the connection, or died.
func TestLostIsSentAgain(t *testing.T) {
	for name, leave := range map[string]func(net.Conn, *network.Endpoint){
		"stays":  func(net.Conn, *network.Endpoint) {},
		"closes": func(c net.Conn, _ *network.Endpoint) { _ = c.Close() },
		"dies":   func(_ net.Conn, e *network.Endpoint) { e.Vanish() },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, l *network.Link, s *server) {
				e := l.Endpoint()
				conn := dial(t, e)
				l.Cut(faults.CutRequests)
				say(t, conn, "renew")
				time.Sleep(time.Second)
				leave(conn, e)
				time.Sleep(time.Second)
				if got := s.heard(); got != "" {
					t.Fatalf("the server heard %s through the hole", got)
				}
				l.Mend()
				mended := time.Now()
				time.Sleep(10 * time.Second)
				want := "renew"
				if name != "stays" {
					want += ", end: EOF"
				}
				if got := s.heard(); got != want {
					t.Fatalf("the server heard %q, want %q", got, want)
				}
				// It was sent 2 s before: again after 0.2, 0.6, 1.4 and 3 s.
				if came := s.begin.Add(s.at[0]).Sub(mended); came < time.Second || came > 1020*ms {
					t.Errorf("it came %v after the mending", came)
				}
			})
		})
	}
}

// Loss has a direction: requests that are lost have no effect, replies that are
// lost have had one.
func TestDirections(t *testing.T) {
	for how, effect := range map[faults.Cut]string{faults.CutRequests: "", faults.CutReplies: "write", faults.CutBoth: ""} {
		in(t, func(t *testing.T, l *network.Link, s *server) {
			conn := dial(t, l.Endpoint())
			l.Cut(how)
			say(t, conn, "write")
			_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // it is open
			hear(t, conn, os.ErrDeadlineExceeded.Error(), time.Second, 1001*ms)
			if got := s.heard(); got != effect {
				t.Errorf("%s: the server heard %q", how, got)
			}
		})
	}
}

// A message that is under way when the hole opens is lost.
func TestUnderWay(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, s *server) {
		conn := dial(t, l.Endpoint())
		say(t, conn, "write")
		time.Sleep(5 * ms)
		l.Cut(faults.CutBoth)
		time.Sleep(time.Second)
		if got := s.heard(); got != "" {
			t.Errorf("the server heard %q", got)
		}
	})
}

// Dials are refused, reset, or swallowed until the hole is mended or the caller
// gives up; connections that are open end likewise.
func TestDials(t *testing.T) {
	for how, want := range map[faults.Cut]struct{ dial, read string }{
		faults.CutRefused: {syscall.ECONNREFUSED.Error(), io.EOF.Error()},
		faults.CutReset:   {syscall.ECONNRESET.Error(), syscall.ECONNRESET.Error()},
	} {
		in(t, func(t *testing.T, l *network.Link, _ *server) {
			conn := dial(t, l.Endpoint())
			l.Cut(how)
			hear(t, conn, want.read, 10*ms, 11*ms)
			if _, err := l.Endpoint().Dial(t.Context()); err == nil || cause(err) != want.dial {
				t.Errorf("%s: a dial gave %v", how, err)
			}
			l.Mend()
			dial(t, l.Endpoint())
		})
	}
	in(t, func(t *testing.T, l *network.Link, s *server) {
		l.Cut(faults.CutBoth)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
		defer cancel()
		if _, err := l.Endpoint().Dial(ctx); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 500*ms {
			t.Errorf("a dial into a hole gave %v after %v", err, time.Since(began))
		}
		time.AfterFunc(2*time.Second, l.Mend)
		began = time.Now()
		dial(t, l.Endpoint()) // sent after 0, 1 and 3 s
		if took := time.Since(began); took < 3*time.Second || took > 3021*ms {
			t.Errorf("the dial took %v", took)
		}
		s.down = true
		if _, err := l.Endpoint().Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a dial to a server that is down gave %v", err)
		}
	})
}

// A server that is killed has read what it has read: the rest is lost, and who
// dialled finds the connection closed.
func TestBreak(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, s *server) {
		conn := dial(t, l.Endpoint())
		say(t, conn, "under way")
		l.Break()
		hear(t, conn, io.EOF.Error(), 10*ms, 11*ms)
		if got := s.heard(); got != "end: "+net.ErrClosed.Error() {
			t.Errorf("the server heard %q", got)
		}
	})
}

// A half-open connection swallows everything, for ever; a new one does not.
func TestStrand(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, s *server) {
		conn := dial(t, l.Endpoint())
		l.Strand()
		say(t, conn, "lost")
		l.Cut(faults.CutBoth)
		l.Mend()
		time.Sleep(time.Hour)
		other := dial(t, l.Endpoint())
		say(t, other, "heard")
		hear(t, other, "heard", 20*ms, 21*ms)
		if got := s.heard(); got != "heard" {
			t.Errorf("the server heard %q", got)
		}
	})
}

// A connection that is held up passes everything in the end, and new ones are as ever.
func TestHold(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, s *server) {
		conn := dial(t, l.Endpoint())
		letGo := l.Hold()
		say(t, conn, "late")
		other := dial(t, l.Endpoint())
		say(t, other, "in time")
		hear(t, other, "in time", 20*ms, 21*ms)
		time.Sleep(time.Second)
		letGo()
		hear(t, conn, "late", 379*ms, 382*ms) // it is sent again 200, 600 and 1400 ms after the first time
		if got := s.heard(); got != "in time, late" {
			t.Errorf("the server heard %q", got)
		}
	})
}

// One connection is lost, and the others are as they were.
func TestLoseOne(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, _ *server) {
		if l.StrandOne(0) || l.BreakOne(0) {
			t.Error("a connection was lost where there is none")
		}
		first, second, third := dial(t, l.Endpoint()), dial(t, l.Endpoint()), dial(t, l.Endpoint())
		if !l.StrandOne(3) || !l.HalfOpen() { // the count begins anew
			t.Error("no connection is half open")
		}
		if !l.BreakOne(0) { // what is half open does not count
			t.Error("no connection was closed")
		}
		say(t, first, "lost")
		hear(t, second, io.EOF.Error(), 0, 21*ms)
		say(t, third, "heard")
		hear(t, third, "heard", 20*ms, 21*ms)
		if err := first.Close(); err != nil || l.HalfOpen() {
			t.Errorf("a connection is half open that was closed: %v", err)
		}
	})
}

// A process that stands still receives nothing and sends nothing until it goes on;
// one that dies then never sends what it was about to.
func TestStand(t *testing.T) {
	for _, dies := range []bool{false, true} {
		in(t, func(t *testing.T, l *network.Link, s *server) {
			e := l.Endpoint()
			conn := dial(t, e)
			say(t, conn, "before")
			e.Stand()
			say(t, conn, "meanwhile")
			time.AfterFunc(time.Minute, func() {
				if dies {
					e.Vanish()
				} else {
					e.GoOn()
				}
			})
			if dies {
				hear(t, conn, net.ErrClosed.Error(), time.Minute, time.Minute+ms)
				time.Sleep(time.Second)
				if got := s.heard(); got != "before, end: EOF" {
					t.Errorf("the server heard %q", got)
				}
				return
			}
			hear(t, conn, "before", time.Minute, time.Minute)
			hear(t, conn, "meanwhile", 20*ms, 21*ms)
		})
	}
}

// A slow link takes its time for every byte, and messages wait for each other; one
// with latency takes that long, within its jitter.
func TestSlow(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, _ *server) {
		conn := dial(t, l.Endpoint())
		free := l.Probe(network.Up, 1000)
		l.Throttle(10) // kilobytes a second
		say(t, conn, strings.Repeat("x", 1000))
		hear(t, conn, strings.Repeat("x", 1000), 220*ms, 221*ms)
		say(t, conn, "a")
		l.Mend()
		hear(t, conn, "a", 20*ms, 21*ms)
		l.Delay(50*ms, 10*ms)
		for range 20 {
			say(t, conn, "a")
			hear(t, conn, "a", 20*ms+80*ms, 20*ms+121*ms)
		}
		if slow := l.Probe(network.Up, 1000); slow-free < 40*ms {
			t.Errorf("a probe takes %v, and took %v before", slow, free)
		}
	})
}

// The same seed gives the same times, another one others, and no two messages take
// the same.
func TestDrawn(t *testing.T) {
	times := func(seed uint64) (all [8]time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{begin: time.Now()}
			l := network.NewLink(seed, sim.Network{Latency: ms}, s)
			defer l.Close()
			e := l.Endpoint()
			for i := range all {
				conn := dial(t, e)
				began := time.Now()
				say(t, conn, "x")
				hear(t, conn, "x", 2*ms, 3*ms)
				all[i] = time.Since(began)
				_ = conn.Close() // it is open
			}
		})
		return all
	}
	a := times(7)
	if b := times(7); a != b {
		t.Errorf("seed 7 gave %v, then %v", a, b)
	}
	if b := times(8); a == b {
		t.Errorf("seeds 7 and 8 both gave %v", a)
	}
	for i, took := range a {
		for _, other := range a[:i] {
			if took == other {
				t.Errorf("two messages took %v", took)
			}
		}
	}
}

// Who looks at the descriptor sees whether the connection is idle, has something
// to read, or has ended.
func TestSyscallConn(t *testing.T) {
	in(t, func(t *testing.T, l *network.Link, _ *server) {
		conn := dial(t, l.Endpoint())
		look := func() (n int, err error) {
			raw, err := conn.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			failed := raw.Read(func(fd uintptr) bool {
				n, _, err = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
				return true
			})
			return n, errors.Join(err, failed)
		}
		if _, err := look(); !errors.Is(err, syscall.EAGAIN) {
			t.Errorf("an idle connection gave %v", err)
		}
		say(t, conn, "x")
		time.Sleep(30 * ms)
		for range 2 { // looking takes nothing
			if n, err := look(); n != 1 || err != nil {
				t.Errorf("one with a byte to read gave %d, %v", n, err)
			}
		}
		hear(t, conn, "x", 0, 0)
		l.Break()
		time.Sleep(30 * ms)
		if n, err := look(); n != 0 || err != nil {
			t.Errorf("one that has ended gave %d, %v", n, err)
		}
	})
}
