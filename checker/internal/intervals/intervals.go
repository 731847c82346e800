package intervals

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// Judgement is what the judge came to.
type Judgement struct {
	finding.Finding
	// Unplaced counts the operations of which nobody knows which lease they are
	// about: those of leases without tokens after an acquire of unknown outcome,
	// and those behind a fault that may have taken the lease away. A pass says
	// nothing about these.
	Unplaced int
	Held     []Holding // by election, then begin
}

// Holding is a time in which the store certainly kept the lease for a holder.
type Holding struct {
	Election *index.Election
	Node     string
	Token    uint64
	index.Window
}

// Judge judges the operations on leases. It is unknown if there are none.
func Judge(x *index.Index) Judgement {
	all := findLeases(x)
	j := Judgement{Held: holdings(all)}
	n := 0
	var bad *finding.Finding
	for _, ls := range all {
		n += len(ls.e.Ops)
		j.Unplaced += ls.unplaced
		if f := ls.violation(); f != nil && bad == nil {
			f.Reason += x.In(ls.e)
			bad = f
		}
	}
	switch {
	case bad != nil:
		j.Finding = *bad
	case n == 0:
		j.Finding = finding.Nothing("the history has no operation on a lease")
	default:
		j.Finding = finding.Passed(fmt.Sprintf("no two of %d operations contradict each other", n))
	}
	return j
}

func (ls *leases) violation() *finding.Finding {
	if f := ls.tokenViolation(); f != nil {
		return f
	}
	if f := ls.overlap(); f != nil {
		return f
	}
	for _, l := range ls.all {
		if f := l.outOfTime(); f != nil {
			return f
		}
	}
	if f := ls.chained(); f != nil {
		return f
	}
	possible := ls.possible()
	for _, o := range ls.e.Ops {
		if o.Kind == history.Info {
			continue
		}
		if f := ls.demand(o, possible); f != nil {
			return f
		}
	}
	return nil
}

// tokenViolation finds a token granted twice, and a grant whose token is not
// larger than one that somebody had seen before the grant was asked for.
func (ls *leases) tokenViolation() *finding.Finding {
	for _, epoch := range ls.epochs() {
		if f := grantedTwice(epoch); f != nil {
			return f
		}
		if f := falling(epoch); f != nil {
			return f
		}
	}
	return nil
}

func grantedTwice(epoch []*lease) *finding.Finding {
	granted := make(map[uint64]*lease, len(epoch))
	for _, l := range epoch {
		if l.token == 0 || l.grant == nil {
			continue
		}
		if first := granted[l.token]; first != nil {
			return index.Contradiction(first.grant, l.grant, "token %d was granted twice, to %s and to %s", l.token, first.holder, l.holder)
		}
		granted[l.token] = l
	}
	return nil
}

func falling(epoch []*lease) *finding.Finding {
	known := make([]*lease, 0, len(epoch)) // by the return of the first operation that saw them
	for _, l := range epoch {
		if l.token != 0 && len(l.shows) > 0 {
			known = append(known, l)
		}
	}
	slices.SortStableFunc(known, func(a, b *lease) int { return cmp.Compare(a.held.From, b.held.From) })
	highest := make([]*lease, len(known))
	for i, l := range known {
		highest[i] = l
		if i > 0 && highest[i-1].token > l.token {
			highest[i] = highest[i-1]
		}
	}
	for _, l := range epoch {
		if l.grant == nil || l.token == 0 {
			continue
		}
		i := sort.Search(len(known), func(i int) bool { return known[i].held.From >= l.grant.Asked })
		if i > 0 && highest[i-1].token > l.token {
			h := highest[i-1]
			return index.Contradiction(h.heldBy, l.grant, "%s was granted token %d at %s, after token %d had been seen at %s",
				l.holder, l.token, finding.Moment(l.grant.To), h.token, finding.Moment(h.held.From))
		}
	}
	return nil
}

// overlap finds two leases that both certainly were alive at one time.
func (ls *leases) overlap() *finding.Finding {
	var last *lease
	for _, l := range ls.held {
		if last != nil && l.held.From < last.held.To && !last.mayBe(l) {
			return index.Contradiction(last.holdBy, l.heldBy, "the store kept the lease for %s and for %s at one time, for %s from %s on",
				finding.Who(last.holder, last.token), finding.Who(l.holder, l.token),
				finding.Span(min(l.held.To, last.held.To)-l.held.From), finding.Moment(l.held.From))
		}
		if last == nil || l.held.To > last.held.To {
			last = l
		}
	}
	return nil
}

// mayBe reports whether the two may be one lease: an elector without tokens and
// nonces does not say whether it acquired or extended.
func (l *lease) mayBe(m *lease) bool {
	return l == m || l.token == m.token && l.token == 0 && l.holder == m.holder && l.nonce == m.nonce
}

// outOfTime finds an operation that saw the lease alive when it was not yet
// granted or certainly over.
func (l *lease) outOfTime() *finding.Finding {
	if l.late != nil {
		return index.Contradiction(l.lateAfter, l.late, "%s renewed at %s at the earliest, but its lease, written before %s, was over",
			finding.Who(l.holder, l.token), finding.Moment(l.late.From), finding.Moment(l.lateAfter.To))
	}
	for _, o := range l.shows {
		switch {
		case o.To < l.could.From && l.could.From == index.Forever:
			return index.Contradiction(nil, o, "%s of %s found the lease of %s, which nobody had asked for",
				o.Call, o.Node, finding.Who(l.holder, l.token))
		case o.To < l.could.From:
			return index.Contradiction(l.grant, o, "%s of %s found the lease of %s at %s, before it was asked for at %s",
				o.Call, o.Node, finding.Who(l.holder, l.token), finding.Moment(o.To), finding.Moment(l.could.From))
		case o.From > l.could.To:
			return index.Contradiction(l.overBy, o, "%s of %s found the lease of %s at %s, but it was over by %s",
				o.Call, o.Node, finding.Who(l.holder, l.token), finding.Moment(o.From), finding.Moment(l.could.To))
		}
	}
	return nil
}

// possible is when any lease may have been alive.
func (ls *leases) possible() []index.Window {
	var all []index.Window
	for _, l := range ls.all {
		all = append(all, l.could)
	}
	for _, ops := range ls.unsure { // any order: the windows are merged
		all = append(all, index.Window{From: ops[0].From, To: index.Forever})
	}
	return index.Merge(all)
}

// demand finds a lease, certainly alive from the call to the return of an
// operation, that the operation's answer excludes.
func (ls *leases) demand(o *index.Op, possible []index.Window) *finding.Finding {
	l := ls.holding(o)
	switch {
	case o.Call == history.Acquire && o.Kind == history.Ok:
		if l != nil && !(l.holder == o.Node && l.nonce == o.Nonce && (l.token == o.Got || l.nonce == "" && l.token == 0)) {
			return index.Contradiction(l.holdBy, o, "%s was granted the lease at %s although %s certainly held it until %s",
				finding.Who(o.Node, o.Got), finding.Moment(o.To), finding.Who(l.holder, l.token), finding.Moment(l.held.To))
		}
	case o.Kind == history.Fail && o.Inconclusive():
	case o.Call == history.Acquire:
		return ls.refusal(o, l, possible)
	case o.Call == history.Observe:
		return ls.observation(o, l)
	case o.Kind == history.Ok:
		if l != nil && !l.is(o.Node, o.Token) {
			return index.Contradiction(l.holdBy, o, "%s of %s succeeded at %s although %s certainly held the lease until %s",
				o.Call, finding.Who(o.Node, o.Token), finding.Moment(o.To), finding.Who(l.holder, l.token), finding.Moment(l.held.To))
		}
	default:
		if l != nil && l.is(o.Node, o.Token) && (o.Token != 0 || o.Nonce == "" || o.Nonce == l.nonce) && l == ls.own(o) {
			return index.Contradiction(l.holdBy, o, "%s of %s was refused at %s although it certainly held the lease until %s",
				o.Call, finding.Who(o.Node, o.Token), finding.Moment(o.To), finding.Moment(l.held.To))
		}
	}
	return nil
}

// is reports whether an answer that names node and token may be about the lease;
// zero values name nobody and exclude nothing.
func (l *lease) is(node string, token uint64) bool {
	return (node == "" || l.holder == "" || l.holder == node) && (token == 0 || l.token == 0 || l.token == token)
}

// holding is the lease that certainly was alive from the call to the return
// of the operation, if there is one.
func (ls *leases) holding(o *index.Op) *lease {
	for ls.cursor < len(ls.held) && ls.held[ls.cursor].held.From < o.From {
		ls.cursor++
	}
	for ls.cursor > 0 && ls.held[ls.cursor-1].held.From >= o.From {
		ls.cursor--
	}
	for i := ls.cursor - 1; i >= 0; i-- {
		if l := ls.held[i]; l.held.To > o.To {
			return l
		}
		if i > 0 && ls.held[i-1].held.To <= ls.held[i].held.From { // the usual case: they do not overlap
			break
		}
	}
	return nil
}

func (ls *leases) refusal(o *index.Op, l *lease, possible []index.Window) *finding.Finding {
	if l != nil && !l.is(o.Holder, o.Got) {
		return index.Contradiction(l.holdBy, o, "%s was refused at %s in favour of %s although %s certainly held the lease until %s",
			o.Node, finding.Moment(o.To), finding.Who(o.Holder, o.Got), finding.Who(l.holder, l.token), finding.Moment(l.held.To))
	}
	if l != nil && l.holder == o.Node && l.nonce == o.Nonce && o.Nonce != "" {
		return index.Contradiction(l.holdBy, o, "%s was refused at %s although it held the lease itself by the same nonce",
			o.Node, finding.Moment(o.To))
	}
	if o.Got == 0 && o.Holder != "" {
		possible = ls.possibleOf(o.Holder)
	}
	if !touches(possible, o.From, o.To) {
		return index.Contradiction(nil, o, "%s was refused at %s in favour of %s although nobody could hold the lease",
			o.Node, finding.Moment(o.To), finding.Who(o.Holder, o.Got))
	}
	return nil
}

func (ls *leases) observation(o *index.Op, l *lease) *finding.Finding {
	nobody := o.Holder == "" && o.Got == 0
	switch {
	case l != nil && nobody:
		return index.Contradiction(l.holdBy, o, "%s saw no leader at %s although %s certainly held the lease until %s",
			o.Node, finding.Moment(o.To), finding.Who(l.holder, l.token), finding.Moment(l.held.To))
	case l != nil && !l.is(o.Holder, o.Got):
		return index.Contradiction(l.holdBy, o, "%s saw %s lead at %s although %s certainly held the lease until %s",
			o.Node, finding.Who(o.Holder, o.Got), finding.Moment(o.To), finding.Who(l.holder, l.token), finding.Moment(l.held.To))
	case !nobody && o.Got == 0 && !touches(ls.possibleOf(o.Holder), o.From, o.To):
		return index.Contradiction(nil, o, "%s saw %s lead at %s although it could not hold the lease", o.Node, o.Holder, finding.Moment(o.To))
	}
	return nil
}

// possibleOf is when a lease of the holder may have been alive.
func (ls *leases) possibleOf(holder string) []index.Window {
	if w, ok := ls.possibleBy[holder]; ok {
		return w
	}
	var all []index.Window
	for _, l := range ls.all {
		if l.holder == holder || l.holder == "" {
			all = append(all, l.could)
		}
	}
	for _, node := range []string{holder, ""} {
		if ops := ls.unsure[node]; len(ops) > 0 {
			all = append(all, index.Window{From: ops[0].From, To: index.Forever})
		}
	}
	w := index.Merge(all)
	ls.possibleBy[holder] = w
	return w
}

// touches reports whether a index.Window of the sorted, disjoint list meets [from, to].
func touches(sorted []index.Window, from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(sorted, from, func(w index.Window, t time.Duration) int {
		if w.To < t {
			return -1
		}
		return 1
	})
	return i < len(sorted) && sorted[i].From <= to
}
