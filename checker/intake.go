package checker

import (
	"time"

	"github.com/recount-io/recount/history"
)

// event takes in the next event, and looks whether it fits the form of a
// history. This is the one walk over the events: all that a checker wants to
// know of them is noted here.
func (r *run) event(e *history.Event) {
	if r.broken == nil {
		r.broken = r.ordered(e)
	}
	r.events++
	r.seq = e.Seq
	r.end = max(r.end, e.At)
	if e.Election != "" {
		r.name(e.Election)
	}
	if e.Node != "" && e.Kind != history.Exit {
		r.node(e.Node).latest = e.At
	}
	switch e.Kind {
	case history.Invoke:
		r.invoke(e)
	case history.Ok, history.Fail, history.Info:
		r.complete(e)
	case history.Elected, history.Extended, history.Deposed:
		r.believe(e)
	case history.Audit:
		el := r.at(e.Election)
		el.audits = append(el.audits, audit{
			call: e.Call, node: e.Node, nonce: e.Nonce, try: e.Try, token: e.Token,
			applied: e.Applied != nil && *e.Applied, seq: e.Seq, at: e.At,
		})
	case history.Fault:
		r.fault(e)
	case history.Healed:
		r.heal(e)
	case history.Exit, history.Start:
		r.process(e)
	}
}

// name notes that there is an election of this name. As long as there is one
// only, events that name none are about it.
func (r *run) name(name string) {
	for _, known := range r.named {
		if known == name {
			return
		}
	}
	r.named = append(r.named, name)
	for _, e := range r.elections {
		switch {
		case e.name != "" || r.apart:
		case len(r.named) == 1:
			e.rename(name)
		default:
			r.mixed = true
		}
	}
	if len(r.named) > 1 && r.form.nameless {
		r.mixed = true
	}
}

func (e *election) rename(name string) {
	e.name = name
	for _, b := range e.begun {
		b.term.Election = name
	}
}

// at is the election that an event names.
func (r *run) at(name string) *election {
	if name == "" {
		r.form.nameless = true
		if len(r.named) == 1 && !r.apart {
			name = r.named[0]
		}
	}
	if len(r.elections) > 0 && r.elections[0].name == name {
		return r.elections[0]
	}
	for _, e := range r.elections {
		if e.name == name {
			return e
		}
	}
	e := &election{}
	if n := len(r.spare) - 1; n >= 0 {
		e, r.spare = r.spare[n], r.spare[:n]
	}
	e.name = name
	r.elections = append(r.elections, e)
	return e
}

// node is what is known about a node.
func (r *run) node(name string) *process {
	slot := &r.recent[0]
	if n := len(name); n > 0 {
		slot = &r.recent[(int(name[n-1])+8*n)%len(r.recent)]
	}
	if *slot != nil && (*slot).name == name {
		return *slot
	}
	p := r.nodes[name]
	if p == nil {
		p = &process{name: name, number: len(r.nodes)}
		r.nodes[name] = p
	}
	*slot = p
	return p
}

func (r *run) invoke(e *history.Event) {
	if r.broken == nil {
		r.broken = r.form.invoke(r, e)
	}
	slack := r.slack()
	o := r.slab.next()
	o.id, o.by, o.node, o.call, o.nonce, o.try, o.ttl = e.Op, r.node(e.Node), e.Node, e.Call, e.Nonce, e.Try, e.TTL
	o.token, o.value, o.from, o.to = e.Token, e.Value, e.At-slack, forever
	o.kind, o.invoked = history.Info, e.Seq
	if o.ttl == 0 {
		o.ttl = r.header.Lease
	}
	o.at = r.at(e.Election)
	r.ops.put(e.Op, o)
	r.calls = append(r.calls, o)
	r.unfinished++
	r.pending++
	o.by.pending++
	o.life = o.by.life
	switch el := o.at; {
	case o.call == history.Write:
		el.written = append(el.written, o)
	case o.call == history.Read:
		el.reads = append(el.reads, o)
	case o.call.OnLease():
		el.called = append(el.called, o)
		if o.call == history.Acquire {
			o.by.out = false
		}
	}
}

func (r *run) complete(e *history.Event) {
	switch e.Kind {
	case history.Ok:
		r.counted.Ok++
	case history.Fail:
		r.counted.Fail++
	default:
		r.counted.Info++
	}
	o := r.ops.get(e.Op)
	if r.broken == nil {
		r.broken = r.form.complete(r, e, o)
	}
	if o == nil {
		return
	}
	if o.completed == 0 {
		r.unfinished--
		if o.life == o.by.life {
			r.pending--
			o.by.pending--
		}
	}
	o.kind, o.completed, o.got, o.holder, o.fence, o.err = e.Kind, e.Seq, e.Token, e.Holder, e.Fence, e.Error
	if e.Value != "" {
		o.value = e.Value
	}
	if e.Kind != history.Info { // an unknown outcome may still come later
		o.to = e.At + r.slack()
	}
}

// fault joins the on and off events. A fault that is never taken off lasts to
// the end of time.
func (r *run) fault(e *history.Event) {
	f := r.byID[e.ID]
	if r.broken == nil {
		r.broken = r.form.fault(e, f)
	}
	slack := r.slack()
	if e.Phase == history.On || f == nil {
		f = &fault{id: e.ID, name: e.Fault, on: e.At, since: e.At, off: forever, onSeq: e.Seq, from: e.At - slack, to: forever + slack}
		r.faults = append(r.faults, f)
		r.byID[e.ID] = f
		r.on++
	}
	f.targets = append(f.targets, e.Targets...)
	if e.Shorten != 0 {
		f.shorten = e.Shorten
	}
	f.void = f.void || e.Void
	if e.Phase == history.Off {
		r.on--
		r.calmed = max(r.calmed, e.At+slack)
		f.off, f.to, f.offSeq, f.effect, f.evidence = e.At, e.At+slack, e.Seq, e.Effective, e.Evidence
		if e.Since != nil {
			f.since = *e.Since
		}
	}
}

func (r *run) heal(e *history.Event) {
	if r.broken == nil {
		r.broken = r.form.heal(r, e)
	}
	r.healed = &healing{e.At, e.Seq}
}

// process notes the begin or the end of a process: either ends what its node
// believed.
func (r *run) process(e *history.Event) {
	p := r.node(e.Node)
	for _, el := range r.elections {
		if o := el.opened(p); o != nil {
			o.end(e.At, exitWhy, e.Seq)
			el.open[p.number] = nil
		}
	}
	if e.Kind == history.Start {
		p.out = false
		return
	}
	r.pending -= p.pending
	p.pending, p.life = 0, p.life+1
	p.exited, p.exit, r.anyExit = true, e.At, true
	if e.Why == history.EndOfRun && r.told < 0 {
		r.told = e.At
	}
	if !unbidden(e.Why) {
		p.leave(e.At)
	}
}

// leave notes that the process went, and not by a fault.
func (p *process) leave(t time.Duration) {
	if !p.out {
		p.out, p.outAt = true, t
	}
}

// lossy tells whether a fault may have removed leases, and with them the
// store's own records.
func (r *run) lossy() bool {
	for _, f := range r.faults {
		if f.void {
			return true
		}
	}
	return false
}
