package wire

import (
	"slices"
	"strconv"
	"strings"
)

// fewViews is how many executions of one transaction or script are kept apart.
const fewViews = 64

// possible are the executions that the exchange may turn out to be.
func (x *Exchange) possible() []view {
	views := []view{x.before}
	about := false
	for _, cmd := range x.commands {
		var next []view
		for _, v := range views {
			traces, known := x.conn.traces(cmd, &v)
			switch {
			case !known:
				x.obscure = cmd.what()
				return []view{{unclear: x.obscure}}
			case traces == nil: // it is not about the lock
				next = append(next, v)
			}
			for _, t := range traces {
				about = true
				next = append(next, x.conn.replay(v, t))
			}
		}
		if views = next; len(views) > fewViews {
			return []view{{unclear: "a transaction with too many outcomes"}}
		}
	}
	if !about {
		return nil
	}
	return x.doubt(views)
}

// explain are the executions that fit the reply. If a command was not understood when
// it was sent, no operation was reported for it, and nothing is explained later.
func (x *Exchange) explain(reply Value) []view {
	if x.obscure != "" {
		return []view{{unclear: x.obscure}}
	}
	if !x.multi {
		return x.conn.fitting([]view{{}}, x.commands[0], reply)
	}
	if reply.Kind != Array || len(reply.Items) != len(x.commands) {
		return []view{{unclear: "EXEC got a reply that does not fit"}}
	}
	views := []view{x.before}
	for i, cmd := range x.commands {
		views = x.conn.fitting(views, cmd, reply.Items[i])
	}
	for i := range views { // what was read before the transaction its sender knew when it wrote
		v := &views[i]
		v.shown = v.shown || v.wrote && v.known && x.before.before == unsure && !x.scripted()
	}
	return views
}

// fitting continues the views by a command that got the reply.
func (c *Conn) fitting(views []view, cmd command, reply Value) []view {
	traces, known := c.traces(cmd, &view{})
	switch {
	case !known:
		return []view{{unclear: cmd.what()}}
	case traces == nil:
		return views
	case isScript(cmd.name):
		traces = slices.Clone(traces)
		for i := range traces {
			traces[i].revealed, traces[i].reveals = unmask(traces[i].result, reply)
		}
		traces = slices.DeleteFunc(traces, func(t trace) bool { return !t.fits(reply) })
	case reply.Kind == Error:
		return views
	default:
		traces = []trace{{steps: []stepped{{cmd, reply}}}}
	}
	var next []view
	for _, v := range views {
		for _, t := range traces {
			seen := counted(c.replay(v, t), t.result, reply)
			if text, is := reply.text(); is && isScript(cmd.name) {
				seen.shown = seen.shown || seen.wrote && seen.known && seen.held == text
			}
			if next = append(next, seen); len(next) > fewViews {
				return []view{{unclear: "a transaction with too many outcomes"}}
			}
		}
	}
	return next
}

// what says of a command that is not understood what it is.
func (cmd command) what() string {
	switch {
	case cmd.cut:
		return "a very long " + cmd.name
	case cmd.name == "EVALSHA" || cmd.name == "EVALSHA_RO":
		return cmd.name + " of " + cmd.args[1] + ", a script whose text was never seen, or that does what nobody can foresee"
	case cmd.name == "FCALL" || cmd.name == "FCALL_RO":
		return cmd.name + " of " + cmd.args[1] + ", a function whose library was never seen, or that does what nobody can foresee"
	case isScript(cmd.name):
		return cmd.name + " of a script that does what nobody can foresee"
	default:
		return cmd.name + " on the lock"
	}
}

// trace is one execution of a command: what it did, step by step, and what it
// answers.
type trace struct {
	steps      []stepped
	candidates []string // values that a script can tell apart
	result     Value
	reveals    bool   // the reply tells the value that the script did not know
	revealed   string // that value
	timed      bool   // the script asked what time it is
}

// fits reports whether the reply can be that of the execution.
func (t *trace) fits(reply Value) bool {
	return fits(t.result, reply) && !(t.reveals && slices.Contains(t.candidates, t.revealed))
}

type stepped struct {
	cmd   command
	reply Value
}

// traces are the executions that a command may turn out to be, after what
// happened before in the same transaction. None: it is not
// about the lock. Not known: it may be, and nobody can say what it does.
func (c *Conn) traces(cmd command, before *view) (list []trace, known bool) {
	switch {
	case cmd.cut && c.lock.found && !keyless[cmd.name]:
		return []trace{{}}, false
	case isScript(cmd.name):
		return c.scriptTraces(cmd)
	}
	k := c.call(cmd, nil)
	if k == nil || readOnly[cmd.name] {
		return nil, true
	}
	replies := k.guesses(before)
	switch {
	case replies == nil && reads(cmd):
		return nil, true
	case replies == nil:
		return []trace{{}}, false
	}
	for _, reply := range replies {
		list = append(list, trace{steps: []stepped{{cmd, reply}}})
	}
	return list, true
}

// replay notes in a copy of the view what the trace shows and does.
func (c *Conn) replay(v view, t trace) view {
	for _, s := range t.steps {
		if k := c.call(s.cmd, t.candidates); k != nil && v.unclear == "" {
			if t.reveals {
				s.reply = reveal(s.reply, t.revealed)
			}
			k.step(&v, s.reply)
			v.clocked = v.clocked || t.timed
		}
	}
	return v
}

// call is the command as one on the lock's key, nil if it is not.
func (c *Conn) call(cmd command, candidates []string) *call {
	takes := takesFree(cmd)
	for _, i := range keysOf(cmd) {
		at := place{cmd.db, cmd.args[i]}
		if c.lock.is(at, takes, c, cmd.name) {
			return c.onKey(cmd, at, candidates)
		}
	}
	return nil
}

// onKey is the command as one on that key.
func (c *Conn) onKey(cmd command, at place, candidates []string) *call {
	m := c.lock.member(c.node)
	k := &call{
		name: cmd.name, args: cmd.args, key: at, sent: cmd.sent, candidates: candidates,
		own:   func(value string) bool { return c.lock.owns(c.node, value) },
		owned: func(value string) bool { return c.lock.owners[value] != nil },
		slots: c.lock.slots, lock: c.lock, node: c.node,
	}
	if candidates == nil && k.tells() {
		k.mine = m.holds.names()
		k.mine = k.mine[max(0, len(k.mine)-maxOwn):]
	}
	return k
}

// takesFree reports whether a command takes a key only if nobody has it.
func takesFree(cmd command) bool {
	switch cmd.name {
	case "SETNX", "HSETNX":
		return true
	case "SET":
		return len(cmd.args) > 3 && slices.ContainsFunc(cmd.args[3:], func(s string) bool { return upper(s) == "NX" })
	default:
		return false
	}
}

// configure notes what a command changes about the connection.
func (c *Conn) configure(x *Exchange, cmd command) {
	if cmd.name == "SELECT" && len(cmd.args) == 2 {
		if n, err := strconv.Atoi(cmd.args[1]); err == nil {
			x.was, c.db = c.db, n
		}
	}
}

// configured takes that back if the reply says that it did not.
func (x *Exchange) configured(v Value) {
	if x.was >= 0 && (v.Kind == Error || x.multi && v.Kind == Nil) {
		x.conn.db = x.was
	}
}

// harmless tells of an error reply that nothing took effect. That of a script
// may have come in the middle of it.
func (x *Exchange) harmless(text string) bool {
	if len(x.commands) != 1 || x.multi || !isScript(x.commands[0].name) {
		return true
	}
	if strings.HasPrefix(text, "ERR Function not found") {
		return true
	}
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "NOSCRIPT", "NOAUTH", "NOPERM", "LOADING", "BUSY", "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT", "CLUSTERDOWN", "MASTERDOWN":
		return true
	default:
		return false
	}
}
