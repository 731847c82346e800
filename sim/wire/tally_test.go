package wire_test

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

// What was read is counted, what was understood as well, and what was not is
// named. The replies that were lost were understood all the same: what their
// requests could do is known.
func TestUnderstandingIsCounted(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock a NX PX 1000", okay)
	p.do("n2", "SET lock b NX PX 1000", nothing)
	p.do("n1", "GET lock", bulk("a"))
	p.send("n1", "PEXPIRE lock 1000").Lose("timeout")
	p.do("n1", "PING", okay)
	for range 2 {
		p.do("n1", "APPEND lock x", number(2))
	}
	p.do("n1", "SET lock a NX PX 1000", wire.Value{Kind: wire.Withheld})
	p.do("n1", "EVALSHA 0123 1 lock a", failure("NOSCRIPT No matching script.")) // which did nothing
	e := p.lock.Understanding()
	if e.Wire == nil || e.Wire.Lock != "lock" || e.Wire.Operations != 8 || e.Wire.Understood != 5 {
		t.Fatalf("%+v", e.Wire)
	}
	want := "of 8 requests on the lock 5 were understood; not understood: 2 × APPEND on the lock, 1 × SET got a reply that cannot be read"
	if e.Kind != history.Note || e.Text != want {
		t.Errorf("%s\nwant\n%s", e.Text, want)
	}
}

// If there is no lock, every write to a key of the election may have been on it.
func TestWritesWithoutALockAreCounted(t *testing.T) {
	for _, o := range []wire.Options{{Prefix: "e1:"}, {Prefix: "e1:", Match: wire.Pattern(":none")}} {
		p := newTape(o)
		p.do("n1", "ZADD e1:queue NX 5 n1", number(1))
		p.do("n1", "ZADD e1:queue GT 6 n1", number(0))
		p.do("n1", "ZRANGE e1:queue 0 0", list(bulk("n1")))
		p.do("n1", "ZADD another NX 5 n1", number(1))
		if p.lock.Puzzled() {
			t.Error("one node alone shares nothing")
		}
		p.do("n2", "ZRANGE e1:queue 0 0", list(bulk("n1")))
		p.conn("n2").Send([]string{"FCALL", "take", "1", "e1:queue", "n2"}).Answer(number(0))
		if !p.lock.Puzzled() {
			t.Error("two nodes share a key, and one writes it")
		}
		e := p.lock.Understanding()
		if e.Wire == nil || e.Wire.Lock != "" || e.Wire.Operations != 3 || e.Wire.Understood != 0 {
			t.Fatalf("%+v", e.Wire)
		}
		if !strings.HasPrefix(e.Text, "no lock was found on the wire") || !strings.HasSuffix(e.Text, "; not understood: 2 × ZADD, 1 × FCALL") {
			t.Error(e.Text)
		}
	}
}

// A lock of which nothing is understood puzzles as soon as two nodes share it.
func TestLockThatIsNotUnderstood(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "ZADD lock NX 5 n1", number(1))
	p.do("n1", "ZRANGE lock 0 0", list(bulk("n1")))
	if p.lock.Puzzled() {
		t.Error("one node alone shares nothing")
	}
	p.do("n2", "ZADD lock NX 5 n2", number(1))
	if !p.lock.Puzzled() {
		t.Error("two nodes share a lock that nobody understands")
	}
	if e := p.lock.Understanding(); e.Wire.Operations != 2 || e.Wire.Understood != 0 {
		t.Errorf("%+v", e.Wire) // a look at the lock is no operation
	}
	p.do("n1", "SET lock a NX PX 1000", okay)
	if p.lock.Puzzled() {
		t.Error("something is understood")
	}
}

// What was written before the lock was found is no part of it.
func TestWritesBeforeTheLockAreForgotten(t *testing.T) {
	p := newTape(wire.Options{Prefix: "e1:"})
	p.do("n1", "SETEX e1:heartbeat 5 x", okay)
	p.do("n2", "SETEX e1:heartbeat 5 x", okay)
	if !p.lock.Puzzled() {
		t.Error("nobody knows yet what the key is")
	}
	p.do("n1", "SET e1:lock a NX PX 1000", okay)
	if e := p.lock.Understanding(); p.lock.Puzzled() || e.Wire.Operations != 1 || e.Wire.Understood != 1 || e.Wire.Lock != "e1:lock" {
		t.Errorf("puzzled %v, %+v", p.lock.Puzzled(), e.Wire)
	}
}

// A key that was taken first is not the lock if several nodes write another one
// much more often: a mark that something is set up was taken for it.
func TestLockThatIsNone(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes []string
		times int
		uses  int // of what was taken first
		o     wire.Options
		lock  string
	}{
		{"a queue", []string{"n1", "n2"}, 30, 1, wire.Options{Prefix: "e1:"}, ""},
		{"a key of one node", []string{"n1"}, 30, 1, wire.Options{Prefix: "e1:"}, "e1:ready"},
		{"a lock that is used", []string{"n1", "n2"}, 30, 25, wire.Options{Prefix: "e1:"}, "e1:ready"},
		{"a lock that was named", []string{"n1", "n2"}, 30, 1, wire.Options{Prefix: "e1:", Match: wire.Pattern(":ready")}, "e1:ready"},
	} {
		p := newTape(test.o)
		for range test.uses {
			p.do("n1", "SETNX e1:ready 1", number(0))
		}
		for range test.times {
			for _, node := range test.nodes {
				p.do(node, "ZADD e1:queue NX 5 "+node, number(0))
			}
		}
		for _, node := range []string{"n1", "n2"} { // one after the other leads
			for range 100 {
				p.do(node, "SET e1:state x", okay)
			}
		}
		e := p.lock.Understanding()
		if e.Wire.Lock != test.lock || (test.lock == "") != (e.Wire.Understood == 0) || test.lock == "" && !strings.Contains(e.Text, "e1:queue") {
			t.Errorf("%s: %+v: %s", test.name, e.Wire, e.Text)
		}
	}
}

// Where candidates that do not have the first key take another one in the same way, either
// may be the lock: leases of several shards. A leader that has the first key may need a second one.
func TestSeveralLocks(t *testing.T) {
	const take = "if redis.call('GET',KEYS[1])==ARGV[1]or(not redis.call('GET',KEYS[1]))then(redis.call)('SET',KEYS[1],ARGV[1],'PX',1000);return(1);end;return(0)"
	ways := map[string]func(p *tape, node, key string, reply bool){
		"SET": func(p *tape, node, key string, took bool) {
			p.do(node, "SET "+key+" "+node+" NX PX 1000", map[bool]wire.Value{true: okay}[took])
		},
		"script": func(p *tape, node, key string, took bool) {
			p.conn(node).Send([]string{"EVAL", take, "1", key, node}).Answer(number(map[bool]int64{true: 1}[took]))
		},
	}
	for way, ask := range ways {
		for _, test := range []struct {
			name string
			more []string // nodes that take the second key
			o    wire.Options
			lock string
		}{
			{"shards", []string{"n2", "n3"}, wire.Options{Prefix: "e1:"}, ""},
			{"shards, one of which was named", []string{"n2", "n3"}, wire.Options{Prefix: "e1:", Match: wire.Pattern(":0")}, "e1:0"},
			{"a key of another election", []string{"n2", "n3"}, wire.Options{Prefix: "e1:0"}, "e1:0"},
			{"two locks of the leader", []string{"n1", "n1"}, wire.Options{Prefix: "e1:"}, "e1:0"},
			{"a key of one node", []string{"n2", "n2"}, wire.Options{Prefix: "e1:"}, "e1:0"},
		} {
			p := newTape(test.o)
			ask(p, "n1", "e1:0", true)
			for i, node := range test.more {
				ask(p, node, "e1:1", i == 0)
			}
			ask(p, "n2", "e1:0", false)
			e := p.lock.Understanding()
			if e.Wire.Lock != test.lock || (test.lock == "") != (e.Wire.Understood == 0) || test.lock == "" && !strings.Contains(e.Text, `took "e1:1"`) {
				t.Errorf("%s, by %s: %+v: %s", test.name, way, e.Wire, e.Text)
			}
		}
	}
}

// Both ends of an operation say that it was read off the wire.
func TestOperationsAreOfTheWire(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock a NX PX 1000", okay)
	p.send("n1", "DEL lock").Lose("timeout")
	if len(p.events) != 4 {
		t.Fatalf("%+v", p.events)
	}
	for _, e := range p.events {
		if e.Evidence != history.FromWire {
			t.Errorf("%s %s: evidence %q", e.Kind, e.Call, e.Evidence)
		}
	}
}
