package checker

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// checkIntervals is the first checker of LeaseLinearizable: from the calls, the
// returns and the TTL it follows when a candidate certainly held the lease and
// when it certainly could not, and finds operations that contradict that.
//
// It is sound (what it reports is certain: no order of the operations explains
// the answers) but not complete: it places every operation on its own and
// never two against each other. It needs O(n log n) and no search, and its
// counterexamples are two events. The method is the interval reasoning behind
// linearizability (Herlihy and Wing, "Linearizability: a correctness condition
// for concurrent objects", 1990): an operation takes effect at one moment
// between its call and its return.
func checkIntervals(r *run, all []*leases, t *tally) *Finding {
	for _, ls := range all {
		for _, o := range ls.e.ops {
			if !o.old {
				t.leaseOps++
			}
		}
		t.unplaced += ls.unplaced
		if f := ls.violation(r); f != nil {
			f.Reason += r.in(ls.e)
			return f
		}
	}
	return nil
}

func leaseFail(a, b *op, format string, args ...any) *Finding {
	var seqs []int64
	for _, o := range []*op{a, b} {
		if o != nil {
			seqs = append(seqs, o.seq())
		}
	}
	f := fail(LeaseLinearizable, fmt.Sprintf(format, args...), seqs...)
	return &f
}

func (ls *leases) violation(r *run) *Finding {
	if !r.lossy() {
		if f := ls.tokenViolation(); f != nil {
			return f
		}
	}
	if f := ls.overlap(); f != nil {
		return f
	}
	for _, l := range ls.all {
		if f := l.outOfTime(); f != nil {
			return f
		}
	}
	possible := ls.possible()
	for _, o := range ls.e.ops {
		if o.kind == history.Info {
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
func (ls *leases) tokenViolation() *Finding {
	known := make([]*lease, 0, len(ls.all)) // by the return of the first operation that saw them
	for _, l := range ls.all {
		if l.token == 0 {
			continue
		}
		if same := ls.byToken[l.token]; l.grant != nil && same[0] != l && same[0].grant != nil {
			return leaseFail(same[0].grant, l.grant, "token %d was granted twice, to %s and to %s",
				l.token, same[0].holder, l.holder)
		}
		if len(l.shows) > 0 {
			known = append(known, l)
		}
	}
	sort.SliceStable(known, func(i, j int) bool { return known[i].held.from < known[j].held.from })
	highest := make([]*lease, len(known))
	for i, l := range known {
		highest[i] = l
		if i > 0 && highest[i-1].token > l.token {
			highest[i] = highest[i-1]
		}
	}
	for _, l := range ls.all {
		if l.grant == nil || l.token == 0 {
			continue
		}
		i := sort.Search(len(known), func(i int) bool { return known[i].held.from >= l.grant.asked })
		if i > 0 && highest[i-1].token > l.token {
			h := highest[i-1]
			return leaseFail(h.heldBy, l.grant, "%s was granted token %d at %s, after token %d had been seen at %s",
				l.holder, l.token, moment(l.grant.to), h.token, moment(h.held.from))
		}
	}
	return nil
}

// overlap finds two leases that both certainly were alive at one time.
func (ls *leases) overlap() *Finding {
	var last *lease
	for _, l := range ls.held {
		if last != nil && l.held.from < last.held.to && !last.mayBe(l) {
			return leaseFail(last.holdBy, l.heldBy, "the store kept the lease for %s and for %s at one time, for %s from %s on",
				who(last.holder, last.token), who(l.holder, l.token),
				span(min(l.held.to, last.held.to)-l.held.from), moment(l.held.from))
		}
		if last == nil || l.held.to > last.held.to {
			last = l
		}
	}
	return nil
}

// mayBe tells whether the two may be one lease: an elector without tokens and
// nonces does not say whether it acquired or extended.
func (l *lease) mayBe(m *lease) bool {
	return l == m || l.token == m.token && l.token == 0 && l.holder == m.holder && l.nonce == m.nonce
}

// outOfTime finds an operation that saw the lease alive when it was not yet
// granted or certainly over.
func (l *lease) outOfTime() *Finding {
	if l.late != nil {
		return leaseFail(l.lateAfter, l.late, "%s renewed at %s at the earliest, but its lease, written before %s, was over",
			who(l.holder, l.token), moment(l.late.from), moment(l.lateAfter.to))
	}
	for _, o := range l.shows {
		switch {
		case o.to < l.could.from && l.could.from == forever:
			return leaseFail(nil, o, "%s of %s found the lease of %s, which nobody had asked for",
				o.call, o.node, who(l.holder, l.token))
		case o.to < l.could.from:
			return leaseFail(l.grant, o, "%s of %s found the lease of %s at %s, before it was asked for at %s",
				o.call, o.node, who(l.holder, l.token), moment(o.to), moment(l.could.from))
		case o.from > l.could.to:
			return leaseFail(l.overBy, o, "%s of %s found the lease of %s at %s, but it was over by %s",
				o.call, o.node, who(l.holder, l.token), moment(o.from), moment(l.could.to))
		}
	}
	return nil
}

// possible is when any lease may have been alive.
func (ls *leases) possible() []window {
	var all []window
	for _, l := range ls.all {
		all = append(all, l.could)
	}
	for _, ops := range ls.unsure { // any order: the windows are merged
		all = append(all, window{ops[0].from, forever})
	}
	return merge(all)
}

// demand finds a lease, certainly alive from the call to the return of an
// operation, that the operation's answer excludes.
func (ls *leases) demand(o *op, possible []window) *Finding {
	l := ls.holding(o)
	switch {
	case o.call == history.Acquire && o.kind == history.Ok:
		if l != nil && !(l.holder == o.node && l.nonce == o.nonce && (l.token == o.got || l.nonce == "" && l.token == 0)) {
			return leaseFail(l.holdBy, o, "%s was granted the lease at %s although %s certainly held it until %s",
				who(o.node, o.got), moment(o.to), who(l.holder, l.token), moment(l.held.to))
		}
	case o.kind == history.Fail && o.otherReason():
	case o.call == history.Acquire:
		return ls.refusal(o, l, possible)
	case o.call == history.Observe:
		return ls.observation(o, l)
	case o.kind == history.Ok:
		if l != nil && !l.is(o.node, o.token) {
			return leaseFail(l.holdBy, o, "%s of %s succeeded at %s although %s certainly held the lease until %s",
				o.call, who(o.node, o.token), moment(o.to), who(l.holder, l.token), moment(l.held.to))
		}
	default:
		if l != nil && l.is(o.node, o.token) && (o.token != 0 || o.nonce == "" || o.nonce == l.nonce) && l == ls.own(o) {
			return leaseFail(l.holdBy, o, "%s of %s was refused at %s although it certainly held the lease until %s",
				o.call, who(o.node, o.token), moment(o.to), moment(l.held.to))
		}
	}
	return nil
}

// otherReason tells of a failed operation that it failed for another reason
// than the state of the lease (no rights, say), so that it shows nothing.
func (o *op) otherReason() bool {
	if o.call == history.Acquire {
		return o.err != "" && o.holder == "" && o.got == 0
	}
	return o.err != "" && !containsHeld(o.err)
}

// is tells whether an answer that names node and token may be about the lease;
// zero values name nobody and exclude nothing.
func (l *lease) is(node string, token uint64) bool {
	return (node == "" || l.holder == "" || l.holder == node) && (token == 0 || l.token == 0 || l.token == token)
}

// holding is the lease that certainly was alive from the call to the return
// of the operation, if there is one.
func (ls *leases) holding(o *op) *lease {
	for ls.cursor < len(ls.held) && ls.held[ls.cursor].held.from < o.from {
		ls.cursor++
	}
	for ls.cursor > 0 && ls.held[ls.cursor-1].held.from >= o.from {
		ls.cursor--
	}
	for i := ls.cursor - 1; i >= 0; i-- {
		if l := ls.held[i]; l.held.to > o.to {
			return l
		}
		if i > 0 && ls.held[i-1].held.to <= ls.held[i].held.from { // the usual case: they do not overlap
			break
		}
	}
	return nil
}

func (ls *leases) refusal(o *op, l *lease, possible []window) *Finding {
	if l != nil && !l.is(o.holder, o.got) {
		return leaseFail(l.holdBy, o, "%s was refused at %s in favour of %s although %s certainly held the lease until %s",
			o.node, moment(o.to), who(o.holder, o.got), who(l.holder, l.token), moment(l.held.to))
	}
	if l != nil && l.holder == o.node && l.nonce == o.nonce && o.nonce != "" {
		return leaseFail(l.holdBy, o, "%s was refused at %s although it held the lease itself by the same nonce",
			o.node, moment(o.to))
	}
	if o.got == 0 && o.holder != "" {
		possible = ls.possibleOf(o.holder)
	}
	if !touches(possible, o.from, o.to) {
		return leaseFail(nil, o, "%s was refused at %s in favour of %s although nobody could hold the lease",
			o.node, moment(o.to), who(o.holder, o.got))
	}
	return nil
}

func (ls *leases) observation(o *op, l *lease) *Finding {
	nobody := o.holder == "" && o.got == 0
	switch {
	case l != nil && nobody:
		return leaseFail(l.holdBy, o, "%s saw no leader at %s although %s certainly held the lease until %s",
			o.node, moment(o.to), who(l.holder, l.token), moment(l.held.to))
	case l != nil && !l.is(o.holder, o.got):
		return leaseFail(l.holdBy, o, "%s saw %s lead at %s although %s certainly held the lease until %s",
			o.node, who(o.holder, o.got), moment(o.to), who(l.holder, l.token), moment(l.held.to))
	case !nobody && o.got == 0 && !touches(ls.possibleOf(o.holder), o.from, o.to):
		return leaseFail(nil, o, "%s saw %s lead at %s although it could not hold the lease", o.node, o.holder, moment(o.to))
	}
	return nil
}

// possibleOf is when a lease of the holder may have been alive.
func (ls *leases) possibleOf(holder string) []window {
	if w, ok := ls.possibleBy[holder]; ok {
		return w
	}
	var all []window
	for _, l := range ls.all {
		if l.holder == holder || l.holder == "" {
			all = append(all, l.could)
		}
	}
	for _, node := range []string{holder, ""} {
		if ops := ls.unsure[node]; len(ops) > 0 {
			all = append(all, window{ops[0].from, forever})
		}
	}
	w := merge(all)
	ls.possibleBy[holder] = w
	return w
}

// touches tells whether a window of the sorted, disjoint list meets [from, to].
func touches(sorted []window, from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(sorted, from, func(w window, t time.Duration) int {
		if w.to < t {
			return -1
		}
		return 1
	})
	return i < len(sorted) && sorted[i].from <= to
}

// containsHeld tells of an error text that it is about holding the lease.
func containsHeld(text string) bool { return strings.Contains(text, "held") }
