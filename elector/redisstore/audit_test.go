package redisstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// The audit has every call in the order of execution, applied or not, with
// what joins it to its request; reading it empties it; without the option
// there is none.
func TestAudit(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Audit: true})
		a := attempt("n1", "no nce\n%{}")
		a.Request = 1<<64 - 1
		b := attempt("n2", "b")
		before := time.Now().Add(-time.Second)
		g := mustAcquire(t, r, s, a)
		mustAcquire(t, r, s, a)
		_ = mustRefuse(t, r, s, b)
		l := lease(a, g.Token)
		late := lease(b, 9)
		check := func(err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Fatalf("%v, want %v", err, want)
			}
		}
		check(s.Renew(r.ctx, l), nil)
		check(s.Renew(r.ctx, late), store.ErrNotHeld)
		check(s.Release(r.ctx, late), store.ErrNotHeld)
		check(s.Release(r.ctx, l), nil)
		r.do(t, "SET", leaseKey, "foreign", "PX", 60000)
		_ = mustRefuse(t, r, s, b)
		want := []AuditEntry{
			{Call: "acquire", Nonce: a.Nonce, Request: a.Request, Token: g.Token, Applied: true},
			{Call: "acquire", Nonce: a.Nonce, Request: a.Request, Token: g.Token, Applied: true},
			{Call: "acquire", Nonce: "b", Request: 1, Token: g.Token},
			{Call: "renew", Nonce: a.Nonce, Request: l.Request, Token: g.Token, Applied: true},
			{Call: "renew", Nonce: "b", Request: 2, Token: 9},
			{Call: "release", Nonce: "b", Request: 2, Token: 9},
			{Call: "release", Nonce: a.Nonce, Request: l.Request, Token: g.Token, Applied: true},
			{Call: "acquire", Nonce: "b", Request: 1, Token: 0},
		}
		got, err := s.DrainAudit(r.ctx, "billing")
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d entries, %v; want %d", len(got), err, len(want))
		}
		last := before
		for i := range got {
			if got[i].Time.Before(last) || got[i].Time.After(time.Now().Add(time.Second)) {
				t.Errorf("entry %d is of %v, the one before of %v", i, got[i].Time, last)
			}
			last = got[i].Time
			got[i].Time = time.Time{}
			if got[i] != want[i] {
				t.Errorf("entry %d is %+v, want %+v", i, got[i], want[i])
			}
		}
		if got, err := s.DrainAudit(r.ctx, "billing"); err != nil || len(got) != 0 {
			t.Errorf("drained again: %v, %v", got, err)
		}
		without := r.open(t, Options{})
		_ = mustRefuse(t, r, without, b)
		if n := r.do(t, "EXISTS", s.keys("billing").audit()); n != int64(0) {
			t.Error("a store without audit left one")
		}
	})
}

// lossy is a connection that loses the next list that the server answers with, but for the
// one that answers HELLO, when
// it is told to.
type lossy struct {
	net.Conn
	lose *atomic.Bool
}

func (c lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && b[0] == '*' && !bytes.HasPrefix(b, []byte("*14\r\n")) && c.lose.CompareAndSwap(true, false) {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// openLossy opens the server by a way that loses an answer when it is told to.
func (r *server) openLossy(t *testing.T) (s *Store, lose *atomic.Bool) {
	lose = &atomic.Bool{}
	return openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		return lossy{conn, lose}, err
	}}, Options{Audit: true, Unprotected: true}), lose
}

// fill makes the server write so many lines into the audit, and returns the requests'
// numbers.
func (r *server) fill(t *testing.T, s *Store, from, lines uint64) (requests []uint64) {
	t.Helper()
	for n := from; n < from+lines; n++ {
		l := lease(attempt("n1", "x"), 7)
		l.Request = n
		if err := s.Renew(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
			t.Fatal(err)
		}
		requests = append(requests, n)
	}
	return requests
}

func requestsOf(entries []AuditEntry) (requests []uint64) {
	for _, e := range entries {
		requests = append(requests, e.Request)
	}
	return requests
}

// Whichever answer is lost on its way, no entry is; those whose removal did not
// succeed, or is not known to have, may come again.
func TestDrainLosesNothingWithAnAnswer(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s, lose := r.openLossy(t)
		want := r.fill(t, s, 1, drainAtOnce+3)
		got := map[uint64]bool{}
		for calls := 0; len(got) < len(want); calls++ {
			if calls == 10 {
				t.Fatalf("%d of %d entries came", len(got), len(want))
			}
			lose.Store(calls < 3)
			entries, err := s.DrainAudit(r.ctx, "billing")
			if calls < 3 && err == nil {
				t.Error("an answer was lost, and there is no error")
			}
			for _, n := range requestsOf(entries) {
				got[n] = true
			}
		}
		if left, err := s.DrainAudit(r.ctx, "billing"); err != nil || len(left) != 0 {
			t.Errorf("drained to the end, %d are left, %v", len(left), err)
		}
	})
}

// What is not the audit that was read is not removed: a store that was emptied, or
// came back with other data, between the reading and the removal.
func TestDrainRemovesOnlyWhatItRead(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Audit: true, Unprotected: true})
		key := s.keys("billing").audit()
		read := func(had int, last string) []any {
			t.Helper()
			reply, err := s.run(r.ctx, &s.scripts.drain, []string{key}, had, last, drainAtOnce)
			lines, ok := reply.([]any)
			if err != nil || !ok {
				t.Fatalf("%v, %v", reply, err)
			}
			return lines
		}
		r.fill(t, s, 1, 3)
		first := read(0, "")
		last := first[2].(string)

		r.do(t, "DEL", key) // emptied, and filled anew
		r.fill(t, s, 4, 5)
		if lines := read(3, last); len(lines) != 0 {
			t.Errorf("of another audit %v were returned", lines)
		}
		if left := read(0, ""); len(left) != 5 {
			t.Errorf("%d entries are left, 5 were not read", len(left))
		}

		r.do(t, "DEL", key) // older: the end of what was read is missing
		r.do(t, "RPUSH", key, first[0], first[1])
		if lines := read(3, last); len(lines) != 0 || r.do(t, "LLEN", key) != int64(2) {
			t.Errorf("of an older audit %v were returned, %v are left", lines, r.do(t, "LLEN", key))
		}

		r.do(t, "DEL", key) // two drain at one time, and more comes
		r.do(t, "RPUSH", key, first[0], first[1], first[2])
		r.fill(t, s, 9, 2)
		if lines := read(3, last); len(lines) != 2 {
			t.Errorf("%v follow, want 2 entries", lines)
		}
		if lines := read(3, last); len(lines) != 0 || r.do(t, "LLEN", key) != int64(2) {
			t.Errorf("the second of two removed what it had not read: %v are left", r.do(t, "LLEN", key))
		}
	})
}

// The server gives the time in two numbers; the second one has no leading
// zeros, which must not be lost.
func TestAuditTime(t *testing.T) {
	r := startMini(t)
	for _, at := range []time.Time{time.UnixMicro(1_700_000_000_000_042), time.UnixMicro(1_700_000_001_000_000), time.UnixMicro(1_700_000_002_999_999)} {
		a := attempt("n1", "a")
		s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}}, Options{Audit: true, Prefix: strconv.FormatInt(at.UnixMicro(), 10) + ":"})
		r.mini.SetTime(at.Add(-a.TTL))
		_ = mustRefuse(t, r, s, a) // a server that remembers nothing waits
		r.mini.SetTime(at)
		_, _ = s.DrainAudit(r.ctx, a.Election)
		g := mustAcquire(t, r, s, a)
		if g.Token != uint64(at.UnixMicro())+1 {
			t.Errorf("the first token at %d is %d", at.UnixMicro(), g.Token)
		}
		if got, err := s.DrainAudit(r.ctx, a.Election); err != nil || len(got) != 1 || !got[0].Time.Equal(at) {
			t.Errorf("the audit has %v, %v, want %v", got, err, at)
		}
	}
}

// A damaged line is an error that shows it.
func TestParseAudit(t *testing.T) {
	for _, line := range []string{
		"", "1 acquire n 1 1", "1 acquire n 1 1 1 1", "x acquire n 1 1 1", "1 steal n 1 1 1", "1 renew %zz 1 1 1",
		"1 renew n -1 1 1", "1 renew n 1 x 1", "1 renew n 1 1 2", "1  acquire n 1 1 1", "1 renew n 1 18446744073709551616 1",
	} {
		if e, err := ParseAudit(line); err == nil {
			t.Errorf("%q gave %+v", line, e)
		}
	}
}

// FuzzNames: what is escaped has no separators in it, is different for
// different texts, and comes back as it was.
func FuzzNames(f *testing.F) {
	f.Add("a b", "a%20b")
	f.Add("{}\n", "\x00\xff")
	f.Fuzz(func(t *testing.T, one, other string) {
		escaped := escape(one)
		for i := range len(escaped) {
			if c := escaped[i]; c <= ' ' || c == 0x7f || c == '{' || c == '}' {
				t.Fatalf("%q became %q", one, escaped)
			}
		}
		if back, err := unescape(escaped); err != nil || back != one {
			t.Fatalf("%q became %q and %q again, %v", one, escaped, back, err)
		}
		if (escaped == escape(other)) != (one == other) {
			t.Fatalf("%q and %q became %q and %q", one, other, escaped, escape(other))
		}
	})
}

// FuzzParseAudit: no line makes it panic, and what it reads is in range.
func FuzzParseAudit(f *testing.F) {
	f.Add("1700000000000000 acquire n%201 7 42 1")
	f.Add("x")
	f.Fuzz(func(t *testing.T, line string) {
		if e, err := ParseAudit(line); err == nil && e.Call != "acquire" && e.Call != "renew" && e.Call != "release" {
			t.Fatalf("%q gave %+v", line, e)
		}
	})
}

// FuzzParseHint: no message makes it panic, and a hint has a kind.
func FuzzParseHint(f *testing.F) {
	f.Add("granted 7 1500")
	f.Add("released 7")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if h, ok := parseHint(text); ok && h.Kind != store.HintGranted && h.Kind != store.HintReleased {
			t.Fatalf("%q gave %+v", text, h)
		}
	})
}
