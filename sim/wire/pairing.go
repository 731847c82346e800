package wire

import (
	"errors"
	"strings"
)

// waiting is a command whose reply is still to come.
type waiting struct {
	x     *Exchange
	name  string
	mode  string // of a subscription: the name of its confirmations
	count int    // of those that are still to come; -1: one for each subscription
}

// pairing finds out which reply is the answer to which command of one
// connection. Its methods must not run at the same time.
type pairing struct {
	conn    *Conn
	pending []waiting
	off     bool                       // CLIENT REPLY OFF
	skip    int                        // so many commands get no reply
	open    map[string]map[string]bool // subscriptions, by the name of their confirmation
	watch   func(args []string)        // gets each command; may be nil
}

// maxPending is how many commands may wait for their replies.
const maxPending = 100_000

var (
	errFlood       = errors.New("wire: too many commands wait for their replies")
	errReplication = errors.New("wire: the connection became one of replication")
	errUnasked     = errors.New("wire: a reply came that nobody asked for")
)

// request takes in a command that is about to be sent.
func (p *pairing) request(r request) error {
	name := upper(r.args[0])
	if p.watch != nil {
		p.watch(r.args)
	}
	if name == "SYNC" || name == "PSYNC" {
		return errReplication
	}
	if len(p.pending) >= maxPending {
		return errFlood
	}
	x := p.conn.send(r.args, r.cut)
	w := waiting{x: x, name: name}
	if mode, kind := strings.ToLower(name), subscriptions[name]; kind {
		w.mode, w.count = mode, len(r.args)-1
		if w.count == 0 {
			w.count = -1
		}
	}
	if p.silent(name, r.args) {
		x.Lose("no reply was asked for")
		return nil
	}
	p.pending = append(p.pending, w)
	return nil
}

// silent reports whether the command gets no reply.
func (p *pairing) silent(name string, args []string) bool {
	if name == "CLIENT" && len(args) == 3 && upper(args[1]) == "REPLY" {
		switch upper(args[2]) {
		case "OFF":
			p.off = true
			return true
		case "SKIP":
			if !p.off {
				p.skip = 1
			}
			return true
		case "ON":
			p.off, p.skip = false, 0
			return false
		}
	}
	if name == "RESET" { // which is answered in any mode
		p.off, p.skip = false, 0
		return false
	}
	if p.off {
		return true
	}
	if p.skip > 0 {
		p.skip--
		return true
	}
	return false
}

// subscriptions are the commands that are answered by confirmations.
var subscriptions = map[string]bool{
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SUNSUBSCRIBE": true,
}

// messages are what a subscriber gets.
var messages = map[string]int{"message": 3, "pmessage": 4, "smessage": 3}

// reply takes in a value that came from the server.
func (p *pairing) reply(v Value) error {
	first := ""
	if (v.Kind == Array || v.Kind == Push) && len(v.Items) > 0 {
		first, _ = v.Items[0].text()
	}
	switch {
	case p.confirms(v, first), v.Kind == Push, isMonitored(v):
		return nil
	case v.Kind == Array && len(v.Items) == messages[first] && p.subscribed() && messages[first] > 0:
		return nil
	case len(p.pending) == 0 && v.Kind == Error: // the server's last words
		return nil
	case len(p.pending) == 0:
		return errUnasked
	}
	head := p.pending[0]
	p.drop()
	if head.name == "RESET" && v.Kind == Status {
		p.open, p.off, p.skip = nil, false, 0
	}
	head.x.Answer(v)
	return nil
}

func (p *pairing) drop() {
	p.pending[0] = waiting{}
	if p.pending = p.pending[1:]; len(p.pending) == 0 {
		p.pending = nil // the memory of the past
	}
}

// confirms reports whether the value confirms a subscription, or its end.
func (p *pairing) confirms(v Value, first string) bool {
	if v.Kind != Array && v.Kind != Push || len(v.Items) != 3 || !subscriptions[upper(first)] {
		return false
	}
	kind := strings.Replace(first, "un", "", 1)
	if p.open == nil {
		p.open = map[string]map[string]bool{}
	}
	if p.open[kind] == nil {
		p.open[kind] = map[string]bool{}
	}
	waits := len(p.pending) > 0 && p.pending[0].mode == first
	if waits && p.pending[0].count < 0 {
		p.pending[0].count = max(1, len(p.open[kind]))
	}
	channel, _ := v.Items[1].text()
	if kind == first {
		p.open[kind][channel] = true
	} else {
		delete(p.open[kind], channel)
	}
	if waits {
		if p.pending[0].count--; p.pending[0].count == 0 {
			p.pending[0].x.Answer(v)
			p.drop()
		}
	}
	return true
}

func (p *pairing) subscribed() bool {
	for _, channels := range p.open { // any order: one is enough
		if len(channels) > 0 {
			return true
		}
	}
	return false
}

// isMonitored reports whether the value is a line of MONITOR: a time, and a
// database and an address in brackets.
func isMonitored(v Value) bool {
	if v.Kind != Status {
		return false
	}
	stamp, rest, found := strings.Cut(v.Text, " [")
	return found && strings.Contains(rest, "]") && len(stamp) > 7 && strings.Trim(stamp, "0123456789.") == ""
}

// end loses all that has no reply yet.
func (p *pairing) end(why string) {
	for _, w := range p.pending {
		w.x.Lose(why)
	}
	p.pending = nil
}
