package index

import (
	"regexp"
	"strconv"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/history"
)

// walk is the one walk over the events: all that a check wants to know of them
// is noted here.
type walk struct {
	*Index
	form

	ops    opTable
	room   []Op
	record []Entry // room for the entries of the first election that has any
	nodes  map[string]*Node
	recent [64]*Node // the nodes asked for last
	faults map[string]*Fault
	name   string // of the one election that has one; events that name none are about it
}

func newWalk(h *history.History) *walk {
	x := &Index{Header: h.Header, RunEnd: -1, Tolerance: expiry.NewTolerance(h.Header.ClockError)}
	invoked, noted, names, longest := 0, 0, "", time.Duration(0)
	several := false
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Invoke:
			invoked++
			longest = max(longest, e.TTL)
		case history.Audit:
			noted++
		}
		if e.Election != "" && e.Election != names {
			several = several || names != ""
			names = e.Election
		}
	}
	if several {
		names = ""
	}
	if x.Header.Lease <= 0 { // what was asked for tells as well how long one lasts
		x.Header.Lease = longest
	}
	x.memory = newMemory(invoked, noted)
	x.Calls = x.memory.calls[:0]
	return &walk{Index: x, ops: opTable{dense: x.memory.dense[:0]}, room: x.memory.room, record: x.memory.entries, nodes: map[string]*Node{}, faults: map[string]*Fault{}, name: names}
}

// event takes in the next event, and looks whether it fits the form of a
// history.
func (w *walk) event(e *history.Event) {
	w.complain(w.ordered(w.Events, e))
	if w.Events++; e.Restated {
		w.Since = e.At
		w.Restated++
	}
	w.End = max(w.End, e.At)
	if e.Node != "" && e.Kind != history.Exit {
		w.node(e.Node).latest = e.At
	}
	switch e.Kind {
	case history.Invoke:
		w.invoke(e)
	case history.Ok, history.Fail, history.Info:
		w.complete(e)
	case history.Elected, history.Extended, history.Deposed:
		w.believe(e)
	case history.Audit:
		el := w.at(e.Election)
		if el.Entries == nil {
			el.Entries, w.record = w.record, nil
		}
		el.Entries = append(el.Entries, Entry{
			Call: e.Call, Node: e.Node, Nonce: e.Nonce, Try: e.Try, Token: e.Token,
			Applied: e.Applied != nil && *e.Applied, Seq: e.Seq, At: e.At,
		})
	case history.Fault:
		w.fault(e)
	case history.Healed:
		w.complain(badHealed(w.Healed, w.Faults, e))
		w.Healed = &Healing{e.At, e.Seq}
	case history.Exit, history.Start:
		w.process(e)
	case history.Note:
		w.note(e)
	}
}

// complain keeps the first complaint about the form.
func (w *walk) complain(f *finding.Finding) {
	if w.Broken == nil {
		w.Broken = f
	}
}

// note takes in what the run says about itself.
func (w *walk) note(e *history.Event) {
	if e.Wire != nil {
		w.Wire = append(w.Wire, e.Wire)
	}
	if e.Text == history.EndOfRunNote && e.Node == "" && e.Usage == nil && w.RunEnd < 0 {
		w.RunEnd = e.At
	}
}

// at is the election that an event names.
func (w *walk) at(name string) *Election {
	if name == "" {
		name = w.name
	}
	for _, e := range w.Elections {
		if e.Name == name {
			return e
		}
	}
	e := &Election{Name: name}
	w.Elections = append(w.Elections, e)
	return e
}

// node is what is known about a node.
func (w *walk) node(name string) *Node {
	slot := &w.recent[0]
	if n := len(name); n > 0 {
		slot = &w.recent[(int(name[n-1])+8*n)%len(w.recent)]
	}
	if *slot != nil && (*slot).Name == name {
		return *slot
	}
	p := w.nodes[name]
	if p == nil {
		p = &Node{Name: name, number: len(w.nodes)}
		w.nodes[name] = p
		w.Nodes = append(w.Nodes, p)
	}
	*slot = p
	return p
}

func (w *walk) invoke(e *history.Event) {
	w.complain(badInvocation(&w.ops, e))
	w.complain(w.neverStood(e))
	slack := w.Slack()
	o := &w.room[len(w.Calls)]
	*o = Op{
		ID: e.Op, By: w.node(e.Node), Node: e.Node, Call: e.Call, Nonce: e.Nonce, Try: e.Try, TTL: e.TTL,
		Token: e.Token, Value: e.Value, From: e.At - slack, To: Forever, Kind: history.Info, Invoked: e.Seq,
		At: w.at(e.Election), Wire: e.Evidence == history.FromWire, ByWriter: e.Evidence == history.FromWriter, Restated: e.Restated,
	}
	if o.TTL == 0 {
		o.TTL = w.Header.Lease
	}
	if e.Since != nil { // it was asked for then, and refused, and is granted now
		o.From, o.Stood = *e.Since-slack, true
	}
	o.Stated = o.From
	if e.Arrived && e.Call.OnLease() { // the line may have been read when all was over
		o.From -= w.Patience()
	}
	w.ops.put(e.Op, o)
	w.Calls = append(w.Calls, o)
	switch el := o.At; {
	case o.Call == history.Write:
		el.Writes = append(el.Writes, o)
	case o.Call == history.Read:
		el.Reads = append(el.Reads, o)
	case o.Call.OnLease():
		el.Ops = append(el.Ops, o)
		for i := len(el.Ops) - 1; i > 0 && el.Ops[i-1].From > o.From; i-- { // by call
			el.Ops[i-1], el.Ops[i] = el.Ops[i], el.Ops[i-1]
		}
		if o.Call == history.Acquire {
			o.By.out = false
		}
	}
}

func (w *walk) complete(e *history.Event) {
	switch {
	case e.Restated:
	case e.Kind == history.Ok:
		w.Counted.Ok++
	case e.Kind == history.Fail:
		w.Counted.Fail++
	default:
		w.Counted.Info++
	}
	o := w.ops.get(e.Op)
	w.complain(badCompletion(o, e))
	if o == nil {
		return
	}
	o.Kind, o.Completed, o.Got, o.Holder, o.Fence, o.Err, o.Stands = e.Kind, e.Seq, e.Token, e.Holder, e.Fence, e.Error, e.Stands
	o.Returned = e.At + w.Slack()
	if e.Value != "" {
		o.Value = e.Value
	}
	if e.Kind != history.Info { // an unknown outcome may still come later
		o.To = e.At + w.Slack()
	}
}

// process notes the begin or the end of a process: either ends what its node
// believed.
func (w *walk) process(e *history.Event) {
	p := w.node(e.Node)
	for _, el := range w.Elections {
		el.endAll(p, e.At, e.Seq)
	}
	if e.Kind == history.Start {
		if p.gone {
			p.downs[len(p.downs)-1].To = e.At
		}
		p.out, p.gone, p.started = false, false, true
		return
	}
	if !p.gone {
		p.downs = append(p.downs, Window{e.At, Forever})
	}
	p.exited, p.gone = true, true
	if e.Why == history.Panicked {
		w.Panics = append(w.Panics, *e)
	}
	if e.Why == history.EndOfRun && w.RunEnd < 0 {
		w.RunEnd, w.endedByExit = e.At, true
	}
	if !unbidden(e.Why) {
		p.leave(e.At, e.Why)
	}
}

// unbidden tells of an exit that it was not the end of the run that caused it.
func unbidden(why history.Why) bool {
	switch why {
	case history.Killed, history.Dismissed, history.ByItself, history.Panicked:
		return true
	default:
		return false
	}
}

// leave notes that the process went, and not by a fault.
func (n *Node) leave(t time.Duration, why history.Why) {
	if !n.out {
		n.out, n.outAt, n.outWhy = true, t, why
	}
}

// opTable finds operations by their numbers, which mostly are dense.
type opTable struct {
	base   int64
	dense  []*Op
	sparse map[int64]*Op
}

func (t *opTable) get(id int64) *Op {
	if i := id - t.base; i >= 0 && i < int64(len(t.dense)) {
		return t.dense[i]
	}
	return t.sparse[id]
}

func (t *opTable) put(id int64, o *Op) {
	if len(t.dense) == 0 {
		t.base = id
	}
	i := id - t.base
	switch n := int64(len(t.dense)); {
	case i == n:
		t.dense = append(t.dense, o)
	case i >= 0 && i < n:
		t.dense[i] = o
	case i > n && i < 2*n+64 && t.sparse == nil:
		t.dense = append(t.dense, make([]*Op, i-n)...)
		t.dense = append(t.dense, o)
	default:
		if t.sparse == nil {
			t.sparse = map[int64]*Op{}
		}
		t.sparse[id] = o
	}
}

func quoted(name string) string { return strconv.Quote(name) }

// aboutHolding tells of an error's text that it is about holding the lease: a
// word of it, or of a name in camel case, begins so, and it is not a database's own
// about kinds of keys or rights to a table.
func aboutHolding(text string) bool {
	return holding.MatchString(ownWords.ReplaceAllString(text, ""))
}

var ownWords = regexp.MustCompile(`(?i)holding the wrong kind of value|must be owner of`)

var holding = regexp.MustCompile(`(^|[^a-zA-Z])(?i:held|hold|owner|owned)|(Held|Hold|Owner|Owned)|(HELD|OWNER|OWNED)`)
