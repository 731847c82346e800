package redismodel

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// got is what the key holds, for tests that ask for nothing else.
func (s *Server) got(now time.Duration, key string) string { return s.Do(now, "GET", key).String() }

// dump is all that a keyspace holds.
func dump(k keyspace) string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(k.entries)) {
		e := k.entries[key]
		text += fmt.Sprintf("%q: %v %q %q %d\n", key, e.kind, e.text, e.items, e.expires)
	}
	return text
}

// What is there after a crash depends on the persistence, and on when the
// server crashed.
func TestCrash(t *testing.T) {
	second := time.Second
	for _, test := range []struct {
		what    string
		o       Options
		writes  []time.Duration // each writes its own number
		restart time.Duration
		keep    bool
		want    string
	}{
		{"nothing is kept", Options{}, []time.Duration{0}, second, true, "(nil)"},
		{"everything", Options{Persistence: Always}, []time.Duration{0, 1}, second, true, `"1"`},
		{"the disk is lost", Options{Persistence: Always}, []time.Duration{0, 1}, second, false, "(nil)"},
		{"the second has not ended", Options{Persistence: EverySecond}, []time.Duration{100 * time.Millisecond, 900 * time.Millisecond}, 5 * second, true, "(nil)"},
		{"the second has ended", Options{Persistence: EverySecond}, []time.Duration{900 * time.Millisecond, second}, 5 * second, true, `"0"`},
		{"each second", Options{Persistence: EverySecond}, []time.Duration{0, second, 2500 * time.Millisecond, 2600 * time.Millisecond}, 5 * second, true, `"1"`},
		{"a second of the clock, not since the last one", Options{Persistence: EverySecond}, []time.Duration{0, 1900 * time.Millisecond, 2100 * time.Millisecond}, 5 * second, true, `"1"`},
		{"a step back holds up the disk", Options{Persistence: EverySecond}, []time.Duration{5 * second, 6 * second, 3 * second, 4 * second, 5 * second}, 9 * second, true, `"0"`},
		{"the last snapshot", Options{Persistence: Snapshots, SnapshotEvery: 10 * second}, []time.Duration{3 * second, 12 * second, 13 * second, 22 * second}, 99 * second, true, `"1"`},
		{"a minute by default", Options{Persistence: Snapshots}, []time.Duration{0, 59 * second, 60 * second}, 99 * second, true, `"1"`},
		{"no snapshot yet", Options{Persistence: Snapshots, SnapshotEvery: 10 * second}, []time.Duration{3 * second, 12 * second}, 99 * second, true, "(nil)"},
	} {
		s := New(test.o)
		for i, at := range test.writes {
			s.Do(benchNow+at, "SET", "k", string(rune('0'+i)))
		}
		s.Crash()
		s.Restart(benchNow+test.restart, test.keep)
		if got := s.got(benchNow+test.restart, "k"); got != test.want {
			t.Errorf("%s: after the crash the key is %s, want %s", test.what, got, test.want)
		}
	}
}

// All kinds of data come back as they were on disk, and nothing of what came
// later is mixed with it, not even after a second crash.
func TestRestart(t *testing.T) {
	s := New(Options{Persistence: EverySecond})
	do := func(at time.Duration, args ...string) { s.Do(benchNow+at, args...) }
	do(0, "SET", "string", "1", "PX", "60000")
	do(0, "HSET", "hash", "f", "1", "g", "2")
	do(0, "RPUSH", "list", "a", "b")
	do(0, "SET", "short", "1", "PX", "3000")
	do(0, "SET", "gone", "1")
	do(0, "DEL", "gone")
	do(0, "SET", "kept", "1", "PX", "5")
	do(0, "PERSIST", "kept")
	do(time.Second, "PING")
	for range 2 {
		do(time.Second, "INCR", "string")
		do(time.Second, "HDEL", "hash", "f", "g")
		do(time.Second, "LPUSH", "list", "c")
		do(time.Second, "HSET", "new", "f", "1")
		s.Crash()
		s.Restart(benchNow+4*time.Second, true)
		now := benchNow + 4*time.Second
		got := Reply{Kind: Array, Items: []Reply{s.Do(now, "GET", "string"), s.Do(now, "PTTL", "string"), s.Do(now, "DBSIZE"), s.Do(now, "HGET", "hash", "g"), s.Do(now, "LLEN", "list"), s.Do(now, "TTL", "kept")}}
		if want := `["1" (integer) 56000 (integer) 4 "2" (integer) 2 (integer) -1]`; got.String() != want {
			t.Errorf("after the crash there is %v, want %s", got, want)
		}
		s.Crash()
		s.Restart(benchNow+time.Second, true)
	}
	s.Do(benchNow+time.Second, "FLUSHALL")
	s.Do(benchNow+2*time.Second, "PING")
	s.Crash()
	s.Restart(benchNow+2*time.Second, true)
	if got := s.Do(benchNow+2*time.Second, "DBSIZE"); got.Int != 0 {
		t.Errorf("after FLUSHALL and a crash there are %v keys", got)
	}
}

// A crash ends subscriptions and makes the server forget its scripts; so does
// SCRIPT FLUSH for the scripts alone.
func TestCrashForgets(t *testing.T) {
	s := New(Options{Persistence: Always})
	s.Subscribe(channel)
	a := acquireBy("n1", "x", "0", "0")
	run := func() string { return outcome(s.Run(benchNow, a.script, a.keys, a.args)) }
	if got := run(); got != "NOSCRIPT" {
		t.Errorf("a new server knows the script: %s", got)
	}
	s.Load(Acquire)
	if got := run(); got != `[1 "1" 1]` {
		t.Errorf("with the script it says %s", got)
	}
	s.Crash()
	s.Restart(benchNow, true)
	if got := run(); got != "NOSCRIPT" {
		t.Errorf("after a crash: %s", got)
	}
	if got := outcome(s.Eval(benchNow, a.script, a.keys, a.args)); got != `[1 "1" 0]` {
		t.Errorf("the same attempt, after a crash: %s", got)
	}
	s.FlushScripts()
	if got := run(); got != "NOSCRIPT" {
		t.Errorf("after SCRIPT FLUSH: %s", got)
	}
}

// A full server does what its policy says, before a command and not after it.
func TestEviction(t *testing.T) {
	for _, test := range []struct {
		policy Policy
		want   string // which keys are there, and the reply to the last one's SET
	}{
		{NoEviction, "abcd OOM"},
		{AllKeysLRU, "acde OK"},
		{VolatileLRU, "abde OK"},
		{VolatileTTL, "bcde OK"},
	} {
		s := New(Options{MaxKeys: 3, Policy: test.policy})
		s.Do(benchNow, "SET", "a", "1", "PX", "2000")
		s.Do(benchNow, "SET", "b", "1")
		s.Do(benchNow, "SET", "c", "1", "PX", "9000")
		s.Do(benchNow, "GET", "a")
		s.Do(benchNow, "SET", "d", "1", "PX", "3000")
		reply := s.Do(benchNow, "SET", "e", "1")
		got := ""
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			if s.data.entries[key] != nil {
				got += key
			}
		}
		if got += " " + outcome(reply); got != test.want {
			t.Errorf("policy %d: %s, want %s", test.policy, got, test.want)
		}
	}
}

// A server that is full and evicts nothing still reads, deletes and lets keys
// expire; a script may finish what it has begun to write.
func TestNoMemory(t *testing.T) {
	s := New(Options{MaxKeys: 2})
	for _, key := range []string{leaseKey, "b", "c"} {
		s.Do(benchNow, "SET", key, "1")
	}
	if got := s.Do(benchNow, "INCR", "b").Text; got != errMemory {
		t.Errorf("a full server counts: %q", got)
	}
	a := acquireBy("n1", "x", "0", "0")
	if got := outcome(s.Eval(benchNow, a.script, a.keys, a.args)); got != `[0 "0" "1" 3000 0 1]` {
		t.Errorf("what repairs a lease without end may also write the audit: %s", got)
	}
	s.Do(benchNow, "DEL", leaseKey, auditKey)
	s.Do(benchNow, "SET", "d", "1")
	if got := outcome(s.Eval(benchNow, a.script, a.keys, a.args)); got != "OOM" {
		t.Errorf("a full server grants a lease: %s", got)
	}
	if got := s.Do(benchNow, "PEXPIRE", "b", "1").Int; got != 1 {
		t.Error("a full server refuses PEXPIRE")
	}
	if got := outcome(s.Eval(benchNow+time.Second, a.script, a.keys, a.args)); got != `[1 "1" 0]` {
		t.Errorf("with room again: %s", got)
	}
	if !s.Evict(leaseKey) || s.Evict(leaseKey) || s.got(benchNow, leaseKey) != "(nil)" {
		t.Error("an evicted lease is there")
	}
}

// The wall clock may be set. Forward, keys end early, for good; back, they
// last longer, and what had expired and was not deleted yet is valid again.
func TestClockJumps(t *testing.T) {
	begin := func() *Server {
		s := New(Options{})
		s.Do(benchNow, "SET", "k", "v", "PX", "1000")
		return s
	}
	s := begin()
	if got := s.got(benchNow+time.Hour, "k"); got != "(nil)" {
		t.Errorf("an hour ahead the key is %s", got)
	}
	if got := s.got(benchNow, "k"); got != "(nil)" {
		t.Errorf("it was deleted, and is %s when the clock is set back", got)
	}
	s = begin()
	if got := s.Do(benchNow-time.Hour, "PTTL", "k"); got.Int != 3_601_000 {
		t.Errorf("an hour back, it has %v left", got)
	}
	if got := s.Do(benchNow-time.Hour, "PEXPIRE", "k", "1000"); got.Int != 1 || s.got(benchNow-time.Hour+1001*time.Millisecond, "k") != "(nil)" {
		t.Error("what is given a time after that does not end by the clock as it is now")
	}
	s = begin()
	s.Do(benchNow+950*time.Millisecond, "PING")
	if got := s.Do(benchNow+1020*time.Millisecond, "DBSIZE"); got.Int != 0 {
		t.Errorf("100 ms after the last look, expired keys are not deleted: %v", got)
	}
	s = begin()
	s.Do(benchNow+time.Second, "SET", "other", "v", "PX", "1")
	s.Do(benchNow+1010*time.Millisecond, "PING") // k and other are deleted
	s.Do(benchNow+1010*time.Millisecond, "SET", "k", "v", "PX", "1")
	if got := s.Do(benchNow+1020*time.Millisecond, "DBSIZE"); got.Int != 1 {
		t.Errorf("10 ms after the last look, %v keys are there, want the one that expired meanwhile", got)
	}
	if got := s.got(benchNow+1011*time.Millisecond, "k"); got != `"v"` {
		t.Errorf("the clock goes back before the server looks: the key is %s", got)
	}
}

// What has expired is deleted when it is accessed, or when the server looks for
// it, which it goes on to do after a step back of the clock.
func TestDeletion(t *testing.T) {
	s := New(Options{})
	ms := func(n int) time.Duration { return benchNow + time.Duration(n)*time.Millisecond }
	left := func(now time.Duration, want int64) {
		t.Helper()
		if got := s.Do(now, "DBSIZE"); got.Int != want {
			t.Errorf("%v after the beginning %v keys are there, want %d", now-benchNow, got, want)
		}
	}
	s.Do(ms(0), "SET", "a", "1", "PX", "10")
	s.Do(ms(0), "SET", "b", "1", "PX", "10")
	s.Do(ms(0), "SET", "c", "1", "PX", "150")
	left(ms(20), 3)
	s.Do(ms(20), "GET", "a")
	left(ms(20), 2)
	if got := s.got(ms(5), "a") + s.got(ms(5), "b"); got != `(nil)"1"` {
		t.Errorf("one was accessed after its end; when the clock goes back they are %s", got)
	}
	left(ms(120), 1)
	left(ms(260), 0)
	s.Do(ms(-5000), "SET", "d", "1", "PX", "10")
	left(ms(-4800), 0)
	touch := &Script{Name: "touch", Run: func(c *Call) Reply { return truth(c.PExpire(c.Keys[0], 1000)) }}
	s.Do(ms(0), "SET", "e", "1", "PX", "10")
	s.Do(ms(0), "SET", "f", "1", "PX", "1")
	left(ms(5), 1) // so it does not look again soon
	if got := s.Eval(ms(20), touch, []string{"e"}, nil); got.Int != 0 {
		t.Error("a script brings back what has expired")
	}
}

// The server must not be called while it is down, nor started twice.
func TestDown(t *testing.T) {
	s := New(Options{})
	panics := func(what string, do func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		do()
	}
	panics("a restart of a server that is up", func() { s.Restart(benchNow, true) })
	panics("a subscription that nobody has", func() { s.Unsubscribe(channel) })
	panics("its own replica", func() { s.Follow(s, 0) })
	s.Crash()
	panics("a command for a server that is down", func() { s.Do(benchNow, "PING") })
	panics("a script that it does not know, for a server that is down", func() { s.Run(benchNow, Leader, []string{leaseKey}, nil) })
	panics("a script for a server that is down", func() { s.Eval(benchNow, Leader, []string{leaseKey}, nil) })
}

// Every run of a server has a name of its own, and so has every server: the
// guard's memory of who granted last is no other's.
func TestRunsHaveNames(t *testing.T) {
	s, replica := New(Options{Persistence: Always, Name: "a"}), New(Options{Name: "b"})
	replica.Follow(s, 0)
	a := acquireBy("n1", "x", "0", "1")
	ask := func(s *Server, at time.Duration) string { return outcome(s.Eval(benchNow+at, Acquire, a.keys, a.args)) }
	const lost = `[0 "0" "" 3000 0 2]`
	if got := ask(s, 0); got != lost {
		t.Errorf("a new server: %s", got)
	}
	replica.Receive(benchNow)
	replica.Promote()
	if got := ask(replica, 4*time.Second); got != lost {
		t.Errorf("a replica that was promoted: %s", got)
	}
	s.Crash()
	s.Restart(benchNow+5*time.Second, true)
	if got := ask(s, 6*time.Second); got != lost {
		t.Errorf("a server that was restarted: %s", got)
	}
}
