package virtual

import (
	"github.com/recount-io/recount/history"
)

// resource is the protected resource, and the ways to it.
type resource struct {
	run    *run
	random *random
	fence  fencing
	last   string // whose write was accepted last
}

func newResource(r *run) *resource {
	return &resource{run: r, random: newRandom(r.spec.Seed, drawResource)}
}

// hold keeps one write on its way: between the candidate that sent it and the
// resource's decision.
type hold struct {
	write   *write
	arrived signal
}

// write is one write on its way. Its owner has one at a time.
type write struct {
	node     *node
	life     uint64
	owner    writer
	op       history.Event
	atHome   bool // decided: the answer is on its way back
	accepted bool
	fence    uint64 // the largest token that the resource has seen then
}

// writer learns what became of a write.
type writer interface {
	// wrote reports whether the write was accepted, and the largest token that
	// the resource has seen.
	wrote(accepted bool, fence uint64)
}

// send begins w.
func (r *resource) send(w *write, n *node, owner writer, token uint64, value string) {
	w.node, w.life, w.owner, w.atHome = n, n.life, owner, false
	w.op = history.Event{Kind: history.Invoke, Node: n.name, Call: history.Write, Token: token, Value: value}
	r.travel(w)
}

func (r *resource) travel(w *write) {
	took := Delivery/20 + r.random.upTo(Delivery/8)
	if r.random.one(100) {
		took = Delivery/4 + r.random.upTo(Delivery-Delivery/4)
	}
	r.run.plan(r.run.now+took, w, w.life)
}

// act implements actor.
func (w *write) act(life uint64) {
	if w.life != life {
		return
	}
	r := w.node.run.resource
	if !w.atHome {
		r.arrive(w)
		return
	}
	if w.node.life == life && !w.node.defers(w, life) {
		w.owner.wrote(w.accepted, w.fence)
	}
}

// arrive takes in a write, or keeps it waiting.
func (r *resource) arrive(w *write) {
	w.op.Op = r.run.nextOp()
	r.run.add(w.op)
	if h := w.node.hold; h != nil && h.write == nil {
		h.write = w
		h.arrived.fire()
		return
	}
	r.decide(w)
}

// decide accepts or refuses a write and records the decision.
func (r *resource) decide(w *write) {
	e := w.op
	w.accepted, w.fence = r.fence.write(e.Token, e.Value)
	if w.accepted {
		e.Kind, r.last = history.Ok, e.Node
	} else {
		e.Kind, e.Fence = history.Fail, w.fence
	}
	r.run.add(e)
	w.atHome = true
	r.travel(w)
}

// read records a read, which takes no time.
func (r *resource) read(n *node) {
	e := history.Event{Kind: history.Invoke, Node: n.name, Call: history.Read, Op: r.run.nextOp()}
	r.run.add(e)
	e.Kind = history.Ok
	e.Value, e.Token = r.fence.read()
	r.run.add(e)
}
