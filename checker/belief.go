package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// belief is one node's term, with the times in which the node would have
// answered "I lead". Between two spans it had let a deadline pass and was
// extended only afterwards.
type belief struct {
	by       *process
	term     Term
	spans    []window
	extended time.Duration // the last extension; -forever if there was none
	old      bool          // it began in an earlier piece
	inferred bool          // nobody reported it: it was read off the wire
	endless  bool          // it began without a deadline
}

// window is the time [from, to).
type window struct{ from, to time.Duration }

// exitWhy is the Term.Why of a term that ended with its node's process.
const exitWhy = "exit"

// open is a belief under construction.
type open struct {
	b        *belief
	from     time.Duration // begin of the current span
	until    time.Duration // its deadline; forever if there is none
	deadline int64         // seq of the event that set it
}

// end closes the belief at t, or at its own deadline if that came first.
func (o *open) end(t time.Duration, why string, seq int64) {
	to := t
	if o.until <= t {
		to, why, seq = o.until, string(history.Expired), o.deadline
	}
	o.b.spans = append(o.b.spans, window{o.from, max(to, o.from)})
	o.b.term.To, o.b.term.Why, o.b.term.End = max(to, o.from), why, seq
}

// extend gives the belief a new deadline from t on.
func (o *open) extend(t, until time.Duration, seq int64) {
	if o.until < t {
		o.b.spans = append(o.b.spans, window{o.from, o.until})
		o.from = t
	}
	o.until, o.deadline = until, seq
}

// believe follows the belief of a node. Its new term ends its earlier one, and
// the end or the start of its process ends them all.
func (r *run) believe(e *history.Event) {
	p := r.node(e.Node)
	if r.broken == nil {
		r.broken = r.form.belief(p, e)
	}
	el := r.at(e.Election)
	o := el.opened(p)
	switch e.Kind {
	case history.Elected:
		if o != nil {
			o.end(e.At, string(history.Superseded), e.Seq)
		}
		b := &belief{by: p, extended: -forever, inferred: e.Evidence == history.FromWire, endless: e.Until == nil, term: Term{Election: el.name, Node: e.Node, Token: e.Token, From: e.At, Begin: e.Seq}}
		el.begun = append(el.begun, b)
		for len(el.open) <= p.number {
			el.open = append(el.open, nil)
		}
		el.open[p.number] = &open{b: b, from: e.At, until: deadline(e), deadline: e.Seq}
		p.out = false
	case history.Extended:
		if o != nil && o.b.term.Token == e.Token {
			o.b.extended = e.At
			o.extend(e.At, deadline(e), e.Seq)
		}
	case history.Deposed:
		if o != nil && o.b.term.Token == e.Token {
			o.end(e.At, string(e.Why), e.Seq)
			el.open[p.number] = nil
		}
		if e.Why == history.Stopped {
			p.leave(e.At)
		}
	}
}

// opened is the belief of the node that has not ended, if there is one.
func (e *election) opened(p *process) *open {
	if p.number < len(e.open) {
		return e.open[p.number]
	}
	return nil
}

// closeBeliefs ends the beliefs that the events so far leave open. They stay
// open for the events that may follow.
func (r *run) closeBeliefs() {
	horizon := r.end
	for _, e := range r.elections {
		for _, o := range e.open {
			if o != nil && o.until < forever {
				horizon = max(horizon, o.until)
			}
		}
	}
	for _, e := range r.elections {
		e.beliefs = append(e.beliefs[:0], e.begun...)
		for _, o := range e.open {
			if o == nil {
				continue
			}
			b := *o.b
			b.spans = slices.Clip(b.spans)
			closed := *o
			closed.b = &b
			closed.close(r.end, horizon)
			for i := len(e.beliefs) - 1; i >= 0; i-- {
				if e.beliefs[i] == o.b {
					e.beliefs[i] = &b
					break
				}
			}
		}
	}
}

// close ends a belief that the history leaves open. Its term lasts to the end
// of the history; the belief itself to its deadline, as nothing took it back,
// and one without a deadline to the horizon.
func (o *open) close(end, horizon time.Duration) {
	if o.until <= end {
		o.end(end, "", 0)
		return
	}
	o.b.spans = append(o.b.spans, window{o.from, min(o.until, horizon)})
	o.b.term.To = max(end, o.from)
}

func deadline(e *history.Event) time.Duration {
	if e.Until == nil {
		return forever
	}
	return *e.Until
}

// terms are all terms of the run.
func terms(r *run) []Term {
	var out []Term
	for _, e := range r.elections {
		for _, b := range e.beliefs {
			out = append(out, b.term)
		}
	}
	return out
}

// findCurtain finds the moment from which the end of the run, and no elector,
// decides who leads: the harness stops the candidates one by one, and the next
// one may still be elected for a blink. It is the first of the last exits
// (or graceful stops) that follow each other, up to the end of the history,
// within one lease. An exit that says itself that it was the end of the run
// needs no such guess: on a busy machine a killed process may take seconds to
// go, and those that went before it were ended by the same hand.
func (r *run) findCurtain() {
	r.curtain = r.end
	if r.told >= 0 {
		r.curtain = r.told
		return
	}
	var exits []time.Duration
	for _, p := range r.nodes { // any order: they are sorted
		if p.out {
			exits = append(exits, p.outAt)
		}
	}
	slices.Sort(exits)
	for _, t := range slices.Backward(exits) {
		if t+r.header.Lease < r.curtain {
			break
		}
		if !slices.ContainsFunc(r.faults, func(f *fault) bool { return f.on <= t && t <= f.off && f.offSeq != 0 }) {
			r.curtain = t
		}
	}
}

// unbidden tells of an exit that it was not the end of the run that caused it.
func unbidden(w history.Why) bool {
	return w == history.Killed || w == history.Dismissed || w == history.ByItself
}

// availability sums over the elections the time in which nobody believed,
// from the first term to the end, and the whole of that time.
func availability(r *run) (leaderless, whole time.Duration) {
	for _, e := range r.elections {
		if len(e.beliefs) == 0 {
			continue
		}
		begin := max(e.beliefs[0].term.From, r.since)
		whole += r.end - begin
		leaderless += r.end - begin
		for _, w := range merge(e.spans()) {
			leaderless -= max(0, min(w.to, r.end)-max(w.from, begin))
		}
	}
	return leaderless, whole
}

// share is the part of the whole in which somebody believed.
func share(leaderless, whole time.Duration) float64 {
	if whole == 0 {
		return 0
	}
	return 1 - float64(leaderless)/float64(whole)
}

// spans are all times in which somebody believed.
func (e *election) spans() []window {
	var all []window
	for _, b := range e.beliefs {
		all = append(all, b.spans...)
	}
	return all
}

// merge unites windows that overlap or touch.
func merge(all []window) []window {
	slices.SortFunc(all, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	out := all[:0]
	for _, w := range all {
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}
