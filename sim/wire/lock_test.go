package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

var (
	nothing = wire.Value{}
	okay    = wire.Value{Kind: wire.Status, Text: "OK"}
)

func number(n int64) wire.Value   { return wire.Value{Kind: wire.Int, Int: n} }
func bulk(text string) wire.Value { return wire.Value{Kind: wire.Bulk, Text: text} }
func failure(text string) wire.Value {
	return wire.Value{Kind: wire.Error, Text: text}
}

// tape collects what a lock tells.
type tape struct {
	lock   *wire.Lock
	events []history.Event
	op     int64
	conns  map[string]*wire.Conn
}

func newTape(o wire.Options) *tape {
	return &tape{lock: wire.NewLock(o), conns: map[string]*wire.Conn{}}
}

func (t *tape) conn(node string) *wire.Conn {
	if t.conns[node] == nil {
		tell := func(e history.Event) { t.events = append(t.events, e) }
		t.conns[node] = t.lock.Conn(node, tell, func() int64 { t.op++; return t.op })
	}
	return t.conns[node]
}

func (t *tape) send(node, line string) *wire.Exchange {
	return t.conn(node).Send(strings.Fields(line))
}

func (t *tape) do(node, line string, reply wire.Value) { t.send(node, line).Answer(reply) }

// ends are the ends of the operations since the last call, one a line.
func (t *tape) ends() string {
	var lines []string
	for _, e := range t.events {
		switch e.Kind {
		case history.Invoke, history.Note:
			continue
		}
		line := fmt.Sprintf("%s %s %s", e.Node, e.Call, e.Kind)
		if e.Holder != "" {
			line += " holder " + e.Holder
		}
		if e.TTL != 0 {
			line += fmt.Sprintf(" %v", e.TTL)
		}
		if e.Error != "" {
			line += ": " + e.Error
		}
		lines = append(lines, line)
	}
	t.events = nil
	return strings.Join(lines, "\n")
}

// Each command on the lock becomes the operation that it is, by its reply.
func TestCommandsAreOperations(t *testing.T) {
	tests := []struct {
		line  string
		reply wire.Value
		want  string
	}{
		{"SET lock a NX PX 2000", okay, "n1 acquire ok 2s"},
		{"set lock a ex 2 nx", okay, "n1 acquire ok 2s"},
		{"SET lock a NX PX 2000", nothing, "n1 acquire fail 2s"},
		{"SETNX lock a", number(1), "n1 acquire ok 240h0m0s"},
		{"SETNX lock a", number(0), "n1 acquire fail 240h0m0s"},
		{"SET lock a XX PX 2000", okay, "n1 renew ok 2s"},
		{"SET lock a XX PX 2000", nothing, "n1 renew fail 2s"},
		{"SET lock a PX 2000", okay, "n1 acquire ok 2s"},
		{"SETEX lock 2 a", okay, "n1 acquire ok 2s"},
		{"EXPIRE lock 2", number(1), "n1 renew ok 2s"},
		{"EXPIRE lock 2", number(0), "n1 renew fail 2s"},
		{"PEXPIRE lock 1500", number(1), "n1 renew ok 1.5s"},
		{"EXPIRE lock 2 XX", number(0), "n1 renew fail 2s: nothing was written"},
		{"EXPIRE lock 0", number(1), "n1 release ok"},
		{"PERSIST lock", number(1), "n1 renew ok 240h0m0s"},
		{"DEL lock", number(1), "n1 release ok"},
		{"DEL lock", number(0), "n1 release fail"},
		{"UNLINK lock other", number(2), "n1 release ok"},
		{"GETDEL lock", bulk("a"), "n1 release ok"},
		{"GET lock", nothing, "n1 observe ok"},
		{"GET lock", bulk("mine"), "n1 observe ok holder n1"},
		{"GET lock", bulk("theirs"), "n1 observe ok holder n2"},
		{"GET lock", bulk("?"), "n1 observe info: who holds the lock is not known"},
		{"PTTL lock", number(-2), "n1 observe ok"},
		{"EXPIRE lock 2", failure("READONLY You can't write against a read only replica."),
			"n1 renew fail 2s: the store answered with an error: READONLY You can't write against a read only replica."},
		{"GET else", nothing, ""},
		{"SETEX else 5 a", okay, ""},
		{"PING", wire.Value{Kind: wire.Status, Text: "PONG"}, ""},
	}
	for _, test := range tests {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n2", "SET lock theirs NX PX 1", okay)
		p.do("n1", "SET lock mine NX PX 1", okay)
		p.ends()
		p.do("n1", test.line, test.reply)
		if got := p.ends(); got != test.want {
			t.Errorf("%s -> %v:\n%s, want\n%s", test.line, test.reply, got, test.want)
		}
	}
}

// A refusal shows that a node does not hold the lock where it was refused all values
// under which the node may hold it: not those of attempts that were refused
// themselves, or of leases that are over.
func TestRefusedUnderFreshValues(t *testing.T) {
	eval := func(script string, args ...string) []string {
		return append([]string{"EVAL", script, "1", "lock"}, args...)
	}
	take := func(value string) []string { return []string{"SET", "lock", value, "NX", "PX", "2000"} }
	type step struct {
		node  string
		args  []string
		reply any // nil: none comes
		want  string
	}
	for name, steps := range map[string][]step{
		"a fresh value for each attempt to take it": {
			{"n2", take("b"), okay, "n2 acquire ok 2s"},
			{"n1", take("a1"), nothing, "n1 acquire fail 2s"},
			{"n1", take("a2"), failure("BUSY"), "n1 acquire fail 2s: the store answered with an error: BUSY"},
			{"n1", take("a3"), okay, "n1 acquire ok 2s"},
			{"n1", eval(renewOwn, "a3", "2000"), number(1), "n1 renew ok 2s"},
			{"n1", eval(renewOwn, "a3", "2000"), number(0), "n1 renew fail 2s"},
			{"n1", take("a4"), okay, "n1 acquire ok 2s"},
			{"n1", eval(releaseOwn, "a4"), number(0), "n1 release fail"},
			{"n1", take("a5"), okay, "n1 acquire ok 2s"},
			{"n1", eval(takeOrRenew, "a5", "2000"), number(0), "n1 acquire fail 2s"},
		},
		"an attempt that may have taken it": {
			{"n1", take("a1"), nil, "n1 acquire info 2s: timeout"},
			{"n1", take("a2"), okay, "n1 acquire ok 2s"},
			{"n1", eval(renewOwn, "a2", "2000"), number(0), "n1 renew fail 2s: nothing was written"},
		},
		"a fresh value for each renewal": {
			{"n1", take("a1"), okay, "n1 acquire ok 2s"},
			{"n1", eval(swapOwn, "a1", "a2", "2000"), number(1), "n1 renew ok 2s"},
			{"n1", eval(swapOwn, "a2", "a3", "2000"), number(0), "n1 renew fail 2s"},
		},
		"a renewal that may have changed it": {
			{"n1", take("a1"), okay, "n1 acquire ok 2s"},
			{"n1", eval(swapOwn, "a1", "a2", "2000"), nil, "n1 renew info 2s: timeout"},
			{"n1", eval(renewOwn, "a1", "2000"), number(0), "n1 renew fail 2s: nothing was written"},
			{"n1", eval(swapOwn, "a2", "a3", "2000"), number(0), "n1 renew fail 2s: nothing was written"},
		},
		"a fresh value for each renewal, without a script": {
			{"n1", take("a1"), okay, "n1 acquire ok 2s"},
			{"n1", strings.Fields("SET lock a2 IFEQ a1 PX 2000"), okay, "n1 renew ok 2s"},
			{"n1", strings.Fields("SET lock a3 IFEQ a2 PX 2000"), nothing, "n1 renew fail 2s"},
			{"n1", take("a4"), okay, "n1 acquire ok 2s"},
			{"n1", strings.Fields("DELEX lock IFEQ a4"), number(0), "n1 release fail"},
		},
	} {
		p := newTape(wire.Options{Key: "lock"})
		for i, s := range steps {
			x := p.conn(s.node).Send(s.args)
			if reply, came := s.reply.(wire.Value); came {
				x.Answer(reply)
			} else {
				x.Lose("timeout")
			}
			if got := p.ends(); got != s.want {
				t.Errorf("%s, step %d: %s\nwant %s", name, i+1, got, s.want)
			}
		}
	}
}
