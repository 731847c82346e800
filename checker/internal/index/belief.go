package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// Belief is one node's term, with the times in which the node would have
// answered "I lead". Between two spans it had let a deadline pass, or had said
// that it leads no more, and was extended only afterwards.
type Belief struct {
	By       *Node
	Election *Election
	Token    uint64
	From     time.Duration // when it was elected
	To       time.Duration // when the belief ended at last
	Why      string        // history.Why, ExitWhy, or "" if it lasts to the end of the history
	Begin    int64         // seq of the elected event
	End      int64         // seq of the event that ended it; of the last event that set its deadline where it expired by itself
	Spans    []Window
	Claims   []Claim // what it said, in order

	Extended time.Duration // the last extension; -Forever if there was none
	Inferred bool          // nobody reported it: it was read off the wire
	Endless  bool          // it began without a deadline
	Restated bool          // it belongs to an earlier history of the chain
	Late     bool          // it may have ended earlier: it was said so in a line that was stamped by who read it
}

// Claim is one elected or extended event.
type Claim struct {
	At      time.Duration
	Until   time.Duration // Forever if it names no deadline
	Seq     int64
	Arrived bool // stamped by who read it
}

// Window is the time [From, To).
type Window struct{ From, To time.Duration }

// ExitWhy is the Why of a belief that ended with its node's process.
const ExitWhy = "exit"

// Lasts reports whether the term was ended by nobody's wish but the run's.
func (b *Belief) Lasts() bool { return b.Why == "" }

// Graceful reports whether the term was given up on purpose.
func (b *Belief) Graceful() bool {
	return b.Why == string(history.Resigned) || b.Why == string(history.Stopped)
}

// Over is when the node believed no more; Forever if that never comes.
func (b *Belief) Over() time.Duration { return b.Spans[len(b.Spans)-1].To }

// At reports whether the node believed at t, or within patience before.
func (b *Belief) At(t, patience time.Duration) bool {
	return slices.ContainsFunc(b.Spans, func(s Window) bool { return s.From-patience <= t && t <= s.To+patience })
}

// Next is the term to which its node was elected while it believed in this one, which
// that ended; nil if it ended otherwise, or has not.
func (b *Belief) Next() *Belief {
	if b.Why != string(history.Superseded) {
		return nil
	}
	all := b.Election.Beliefs
	i, ok := slices.BinarySearchFunc(all, b.End, func(o *Belief, seq int64) int { return cmp.Compare(o.Begin, seq) })
	if !ok { // the node said so itself
		return nil
	}
	return all[i]
}

// Stands is until when the node believed what its i-th claim says: to the next one, or
// to the end of the belief; Forever if that never comes.
func (b *Belief) Stands(i int) time.Duration {
	at := b.Claims[i].At
	to := at
	for _, s := range b.Spans {
		if s.From <= at && at <= s.To {
			to = s.To
		}
	}
	if i+1 < len(b.Claims) {
		to = min(to, b.Claims[i+1].At)
	}
	return to
}

// open is a belief that has not ended.
type open struct {
	b        *Belief
	from     time.Duration // begin of the current span
	until    time.Duration // its deadline; Forever if there is none
	deadline int64         // seq of the event that set it
}

// end closes the belief at t, or at its own deadline if that came first.
func (o *open) end(t time.Duration, why string, seq int64) {
	to := t
	if o.until <= t {
		to, why, seq = o.until, string(history.Expired), o.deadline
	}
	to = max(to, o.from)
	o.b.Spans = append(o.b.Spans, Window{o.from, to})
	o.b.To, o.b.Why, o.b.End = to, why, seq
}

// believe follows the belief of a node. Its new term ends its earlier one, and
// the end or the start of its process ends them all. Whatever a node says of a
// term to which it was elected it believes, also after it said that the term is
// over.
func (w *walk) believe(e *history.Event) {
	p := w.node(e.Node)
	el := w.at(e.Election)
	w.complain(badBelief(p, el.Name, e))
	if p.gone && e.Arrived && e.Kind != history.Elected {
		return // a last line that was read late
	}
	claim := Claim{At: e.At, Until: deadline(e), Seq: e.Seq, Arrived: e.Arrived}
	switch e.Kind {
	case history.Elected:
		for _, o := range el.openOf(p) {
			o.end(e.At, string(history.Superseded), e.Seq)
			el.shut(o)
		}
		b := &Belief{
			By: p, Election: el, Token: e.Token, From: e.At, To: e.At, Begin: e.Seq, Extended: -Forever,
			Inferred: e.Evidence == history.FromWire, Endless: e.Until == nil, Restated: e.Restated, Late: e.Arrived, Claims: []Claim{claim},
		}
		el.Beliefs = append(el.Beliefs, b)
		o := &open{b: b, from: e.At, until: claim.Until, deadline: e.Seq}
		el.open = append(el.open, o)
		if p.gone && p.started && e.Arrived { // a last line that was read late, too
			o.end(e.At, ExitWhy, e.Seq)
			el.shut(o)
		}
		p.out = false
	case history.Extended:
		b := el.latest(p, e.Token)
		if b == nil {
			return // malformed
		}
		b.Extended = e.At
		b.Claims = append(b.Claims, claim)
		b.Late = b.Late || e.Arrived
		el.extend(b, claim)
	case history.Deposed:
		for _, o := range el.openOf(p) {
			if o.b.Token == e.Token {
				o.b.Late = o.b.Late || e.Arrived
				o.end(e.At, string(e.Why), e.Seq)
				el.shut(o)
			}
		}
		if e.Why == history.Stopped {
			p.leave(e.At, e.Why)
		}
	}
}

// extend gives the belief a new deadline, or lets it begin again.
func (e *Election) extend(b *Belief, c Claim) {
	for _, o := range e.open {
		if o.b != b {
			continue
		}
		if o.until < c.At {
			b.Spans = append(b.Spans, Window{o.from, o.until})
			o.from = c.At
		}
		o.until, o.deadline = c.Until, c.Seq
		return
	}
	e.open = append(e.open, &open{b: b, from: c.At, until: c.Until, deadline: c.Seq})
}

// openOf are the beliefs of the node that have not ended: one, mostly.
func (e *Election) openOf(p *Node) []*open {
	var all []*open
	for _, o := range e.open {
		if o.b.By == p {
			all = append(all, o)
		}
	}
	return all
}

func (e *Election) shut(o *open) {
	e.open = slices.DeleteFunc(e.open, func(other *open) bool { return other == o })
}

func (e *Election) endAll(p *Node, t time.Duration, seq int64) {
	for _, o := range e.openOf(p) {
		o.end(t, ExitWhy, seq)
		e.shut(o)
	}
}

// latest is the last term of the node with the token.
func (e *Election) latest(p *Node, token uint64) *Belief {
	for _, b := range slices.Backward(e.Beliefs) {
		if b.By == p && b.Token == token {
			return b
		}
	}
	return nil
}

// closeBeliefs ends the beliefs that the history leaves open. Such a term lasts
// to the end of the history; the belief itself to its deadline, as nothing took
// it back, and one without a deadline for ever.
func (x *Index) closeBeliefs() {
	for _, e := range x.Elections {
		for _, o := range e.open {
			if o.until <= x.End {
				o.end(x.End, "", 0)
				continue
			}
			o.b.Spans = append(o.b.Spans, Window{o.from, o.until})
			o.b.To, o.b.Why, o.b.End = max(x.End, o.from), "", 0
		}
		e.open = nil
	}
}

// findTerms finds the beliefs that are one term: without tokens a program may say in
// each round that it was elected, and has neither ended a term nor begun one.
func (e *Election) findTerms() {
	if !slices.ContainsFunc(e.Beliefs, (*Belief).again) {
		e.Terms = e.Beliefs
		return
	}
	whole := map[*Belief]*Belief{} // what a belief goes on with
	for _, b := range e.Beliefs {
		term := whole[b]
		switch {
		case term != nil:
			term.goOn(b)
		case b.again():
			term = b.clone()
			e.Terms = append(e.Terms, term)
		default:
			e.Terms = append(e.Terms, b)
		}
		if b.again() {
			whole[b.Next()] = term
		}
	}
}

// again reports whether what follows the belief is the same, reported once more.
func (b *Belief) again() bool {
	next := b.Next()
	return next != nil && b.Token == 0 && next.Token == 0
}

func (b *Belief) clone() *Belief {
	c := *b
	c.Spans, c.Claims = slices.Clone(b.Spans), slices.Clone(b.Claims)
	return &c
}

// goOn lets the term go on with what its node reported next.
func (b *Belief) goOn(next *Belief) {
	b.To, b.Why, b.End = next.To, next.Why, next.End
	b.Spans = Merge(append(b.Spans, next.Spans...))
	b.Claims = append(b.Claims, next.Claims...)
	b.Extended = max(b.Extended, next.Extended)
	if !b.Endless {
		b.Extended = max(b.Extended, next.From)
	}
	b.Late = b.Late || next.Late
}

func deadline(e *history.Event) time.Duration {
	if e.Until == nil {
		return Forever
	}
	return *e.Until
}

// Merge unites windows that overlap or touch. It reorders all.
func Merge(all []Window) []Window {
	slices.SortFunc(all, func(a, b Window) int { return cmp.Compare(a.From, b.From) })
	out := all[:0]
	for _, w := range all {
		if n := len(out); n > 0 && w.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, w.To)
			continue
		}
		out = append(out, w)
	}
	return out
}
