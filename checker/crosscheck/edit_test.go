package crosscheck

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// edit is a history that is being changed. Its events are in order, and get new
// numbers when all is done.
type edit struct {
	*history.History
	broken bool // the numbers and times stay as they are: they are what is changed
}

func edited(h *history.History) *edit {
	c := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	return &edit{History: c}
}

// finish gives every event its number.
func (e *edit) finish() *history.History {
	if !e.broken {
		slices.SortStableFunc(e.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
		for i := range e.Events {
			e.Events[i].Seq = int64(i) + 1
		}
	}
	return e.History
}

// add puts events into the history, each behind all of its time.
func (e *edit) add(events ...history.Event) {
	for _, x := range events {
		i := len(e.Events)
		for i > 0 && e.Events[i-1].At > x.At {
			i--
		}
		e.Events = slices.Insert(e.Events, i, x)
	}
}

// drop leaves events out.
func (e *edit) drop(which func(x *history.Event) bool) {
	e.Events = slices.DeleteFunc(e.Events, func(x history.Event) bool { return which(&x) })
}

// each changes events.
func (e *edit) each(change func(x *history.Event)) {
	for i := range e.Events {
		change(&e.Events[i])
	}
}

// ask adds a call with its answer.
func (e *edit) ask(from, to time.Duration, in, out history.Event) {
	in.Kind, in.At, out.At = history.Invoke, from, to
	in.Op = e.freshOp()
	out.Op, out.Call, out.Node, out.Election = in.Op, in.Call, in.Node, in.Election
	e.add(in, out)
}

func (e *edit) freshOp() (op int64) {
	for i := range e.Events {
		op = max(op, e.Events[i].Op)
	}
	return op + 1
}

func (e *edit) freshToken() (token uint64) {
	for i := range e.Events {
		token = max(token, e.Events[i].Token, e.Events[i].Fence)
	}
	return token + 1
}

// call is an operation: its invocation and its completion, which may be
// missing, by their places in the history.
type call struct {
	in, out  history.Event
	i, j     int // j is -1 if it never completed
	from, to time.Duration
}

func (c *call) token() uint64 { return max(c.in.Token, c.out.Token) }

// term is a belief from its elected to what ended it.
type term struct {
	node, election string
	token          uint64
	begin          int   // the elected event
	extensions     []int // the extended ones
	end            int   // the deposed or exit event; -1: it ended at its deadline, or not at all
	from, until    time.Duration
	to             time.Duration // when it ended
}

// index is what the changes want to know of a history.
type index struct {
	h       *history.History
	calls   []*call
	terms   []*term
	ends    time.Duration // of the run, from where on nothing counts
	healed  time.Duration
	error   time.Duration
	epsilon time.Duration
	windows []holding
	looked  bool
	entry   map[recordKey]int
	called  map[int]*call // by the place of the entry
}

// recordKey joins a call with its entry in the store's own record.
type recordKey struct {
	call  history.Call
	nonce string
	try   uint64

	applied bool
}

func indexed(h *history.History) *index {
	x := &index{h: h, error: h.Header.ClockError, ends: h.Events[len(h.Events)-1].At, healed: time.Duration(infinite)}
	x.epsilon = 2*ms + 2*x.error + h.Header.Lease/10_000
	byOp := map[int64]*call{}
	open := map[string]*term{}
	for i := range h.Events {
		e := h.Events[i]
		switch e.Kind {
		case history.Invoke:
			c := &call{in: e, i: i, j: -1, from: e.At, to: time.Duration(infinite)}
			byOp[e.Op] = c
			x.calls = append(x.calls, c)
		case history.Ok, history.Fail, history.Info:
			if c := byOp[e.Op]; c != nil {
				c.out, c.j, c.to = e, i, e.At
			}
		case history.Healed:
			x.healed = e.At
		case history.Note:
			if e.Text == history.EndOfRunNote {
				x.ends = min(x.ends, e.At)
			}
		default:
			x.believe(open, i, &e)
		}
	}
	x.join()
	for _, t := range x.terms {
		if t.end < 0 {
			t.to = min(t.until, x.h.Events[len(x.h.Events)-1].At)
		}
	}
	return x
}

func (x *index) believe(open map[string]*term, i int, e *history.Event) {
	key := e.Node + " " + e.Election
	t := open[key]
	until := time.Duration(infinite)
	if e.Until != nil {
		until = *e.Until
	}
	switch e.Kind {
	case history.Elected:
		t = &term{node: e.Node, election: e.Election, token: e.Token, begin: i, end: -1, from: e.At, until: until}
		x.terms = append(x.terms, t)
		open[key] = t
	case history.Extended:
		if t != nil && t.token == e.Token {
			t.extensions, t.until = append(t.extensions, i), until
		}
	case history.Deposed:
		if t != nil && t.token == e.Token {
			t.end, t.to = i, min(e.At, t.until)
			delete(open, key)
		}
	case history.Exit:
		for key, t := range open { // any order: each is closed by itself
			if t.node == e.Node {
				t.end, t.to = i, min(e.At, t.until)
				delete(open, key)
			}
		}
	}
}

// having are the calls of which all is true.
func (x *index) having(all ...func(c *call) bool) (out []*call) {
	for _, c := range x.calls {
		if c.from < x.ends && !slices.ContainsFunc(all, func(is func(c *call) bool) bool { return !is(c) }) {
			out = append(out, c)
		}
	}
	return out
}

func of(name history.Call) func(c *call) bool { return func(c *call) bool { return c.in.Call == name } }

func as(kind history.Kind) func(c *call) bool {
	return func(c *call) bool { return c.j >= 0 && c.out.Kind == kind }
}

func tokened(c *call) bool { return c.token() != 0 }

// grants are the grants of which the token is known, by their returns.
func (x *index) grants() []*call { return x.having(of(history.Acquire), as(history.Ok), tokened) }

// fresh reports whether no other call has the nonce of this one's attempt.
func (x *index) fresh(c *call) bool {
	return c.in.Nonce != "" && !slices.ContainsFunc(x.calls, func(d *call) bool {
		return d != c && d.in.Call == history.Acquire && d.in.Nonce == c.in.Nonce
	})
}

// term is the belief in a token, and its successor by another node in the same
// election.
func (x *index) next(t *term) *term {
	for _, u := range x.terms {
		if u.election == t.election && u.from >= t.from && u.node != t.node {
			return u
		}
	}
	return nil
}

// heldWindows are the times in which a lease was certainly held, by the answers
// alone. A fault that touches leases anywhere means that there are none.
func (x *index) heldWindows() []holding {
	if x.looked {
		return x.windows
	}
	x.looked = true
	for i := range x.h.Events {
		if e := &x.h.Events[i]; e.Void || e.Shorten != 0 {
			return nil
		}
	}
	for _, w := range certainlyHeld(x.h) {
		if w.to = min(w.to, x.ends); w.to-w.from > 2*ms {
			x.windows = append(x.windows, w)
		}
	}
	return x.windows
}

// other is a node of the history that is not this one.
func (x *index) other(node string) string {
	for _, n := range x.h.Header.Nodes {
		if n != node {
			return n
		}
	}
	return "n0"
}

// join finds the entries of the calls.
func (x *index) join() {
	x.entry, x.called = map[recordKey]int{}, map[int]*call{}
	for i := range x.h.Events {
		e := &x.h.Events[i]
		k := recordKey{e.Call, e.Nonce, e.Try, e.Applied != nil && *e.Applied}
		if _, ok := x.entry[k]; e.Kind == history.Audit && e.Nonce != "" && !ok {
			x.entry[k] = i
		}
	}
	for _, c := range x.calls {
		if n := x.entryOf(c); n >= 0 && c.j >= 0 && c.out.Kind == history.Ok {
			x.called[n] = c
		}
	}
}

// entryOf is the place of the call's entry in the store's own record; -1 if
// there is none.
func (x *index) entryOf(c *call) int {
	for _, applied := range []bool{true, false} { // of one that stood there may be both
		if n, ok := x.entry[recordKey{c.in.Call, c.in.Nonce, c.in.Try, applied}]; ok && c.mayHave(applied) {
			return n
		}
	}
	return -1
}

// mayHave reports whether the call may be one that changed the lease, or did not.
func (c *call) mayHave(applied bool) bool {
	return c.out.Kind == history.Info || applied == (c.out.Kind == history.Ok)
}

// callOf is the call of an entry, if its caller knows that it took effect.
func (x *index) callOf(entry int) *call { return x.called[entry] }

// without drops a call and its entry.
func (e *edit) without(c *call) {
	e.drop(func(y *history.Event) bool {
		return y.Op == c.in.Op || y.Kind == history.Audit && y.Call == c.in.Call && y.Nonce == c.in.Nonce && y.Try == c.in.Try && c.mayHave(y.Applied != nil && *y.Applied)
	})
}
