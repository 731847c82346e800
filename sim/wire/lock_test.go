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

// told are the ends of the operations since the last call, one a line.
func (t *tape) told() string {
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
		p.told()
		p.do("n1", test.line, test.reply)
		if got := p.told(); got != test.want {
			t.Errorf("%s -> %v:\n%s, want\n%s", test.line, test.reply, got, test.want)
		}
	}
}
