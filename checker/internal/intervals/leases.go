package intervals

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// lease is what the calls and returns of the operations alone tell about one
// lease. Times are those of a true clock.
type lease struct {
	holder string
	token  uint64
	nonce  string
	grant  *index.Op   // the first ok acquire; nil if only others saw the lease
	shows  []*index.Op // operations that saw it alive at some moment of theirs
	writes []*index.Op // ok acquires and renewals: it ends a TTL later at the earliest
	maybes []*index.Op // renewals and repeated acquires that may have prolonged it
	ends   []*index.Op // releases, ok or of unknown outcome
	doubts []*index.Op // releases that may have been of this lease, or of another one

	before time.Duration // when the last of the node's grants had returned that were called earlier
	mixed  bool          // the node's grants up to here are not all for the same time

	calm           index.Window // around its grant, without a fault that can have removed it
	held           index.Window // it certainly was alive then; empty if to <= from
	heldBy, holdBy *index.Op    // what shows that: the begin and the end of held
	could          index.Window // outside of this it certainly was not alive
	overBy         *index.Op    // what shows the end of could

	late, lateAfter *index.Op // a write that came after the end, and the last one before it
}

// attempt names what a node did to get one lease.
type attempt struct{ node, nonce string }

// leases is what the interval checker knows about an election.
type leases struct {
	e       *index.Election
	all     []*lease
	byToken map[uint64][]*lease
	byNonce map[attempt][]*lease   // the same, by attempt; made when it is asked for
	byNode  map[string][]*lease    // the ones granted, by holder, in the order of their calls
	others  []*lease               // the ones only seen
	unsure  map[string][]*index.Op // acquires of unknown outcome, by node, in the order of their calls
	held    []*lease               // those with a certain time, by its begin
	faults  []expiry.Fault
	recent  *lease    // the last one that was found by its token
	alone   [1]*lease // recent, as a list
	cursor  int       // in held: see holding
	// unplaced counts the operations of which nobody knows which lease they are
	// about: without tokens after an acquire of unknown outcome, and behind a
	// fault that may have taken the lease away.
	unplaced int
	expiry.Tolerance

	possibleBy map[string][]index.Window // what possibleOf found
	livesBy    map[string]lives          // what livesOf found
}

// findLeases collects, election by election, every lease with the times in
// which it certainly was alive and those in which it certainly was not.
func findLeases(x *index.Index) []*leases {
	var out []*leases
	for _, e := range x.Elections {
		ls := &leases{e: e, byToken: map[uint64][]*lease{}, byNode: map[string][]*lease{},
			unsure: map[string][]*index.Op{}, possibleBy: map[string][]index.Window{}, livesBy: map[string]lives{}, faults: x.LeaseFaults, Tolerance: x.Tolerance}
		ls.collectGrants()
		ls.collectShows()
		ls.collectUnsure()
		for _, l := range ls.all {
			l.calm = ls.undisturbed(l)
			ls.findHeld(l)
			ls.findCould(l)
		}
		ls.boundByTokens()
		out = append(out, ls)
	}
	return out
}

// holdings is when the store certainly kept a lease for somebody.
func holdings(all []*leases) []Holding {
	var out []Holding
	for _, ls := range all {
		for _, l := range ls.held {
			out = append(out, Holding{ls.e, l.holder, l.token, l.held})
		}
	}
	return out
}

// collectGrants makes a lease of every grant; the repetition of an acquire
// belongs to the lease that it returns again.
func (ls *leases) collectGrants() {
	for _, o := range ls.e.Ops {
		if o.Call != history.Acquire {
			continue
		}
		switch o.Kind {
		case history.Info:
			ls.unsure[o.Node] = append(ls.unsure[o.Node], o)
		case history.Ok:
			l := ls.repeated(o)
			if l == nil {
				l = &lease{holder: o.Node, token: o.Got, nonce: o.Nonce, grant: o}
				ls.add(l)
			}
			l.shows, l.writes = append(l.shows, o), append(l.writes, o)
		}
	}
}

func (ls *leases) add(l *lease) {
	ls.all, ls.recent = append(ls.all, l), nil
	if l.token != 0 {
		ls.byToken[l.token] = append(ls.byToken[l.token], l)
	}
	if l.grant != nil {
		earlier := ls.byNode[l.holder]
		if n := len(earlier); n > 0 {
			before := earlier[n-1]
			l.before = max(before.before, before.grant.To)
			l.mixed = before.mixed || before.grant.TTL != l.grant.TTL
		} else {
			l.before = -index.Forever
		}
		ls.byNode[l.holder] = append(earlier, l)
	} else {
		ls.others = append(ls.others, l)
	}
}

// withToken are the leases of the token.
func (ls *leases) withToken(token uint64) []*lease {
	if ls.recent == nil || ls.recent.token != token {
		all := ls.byToken[token]
		if len(all) != 1 {
			ls.recent = nil
			return all
		}
		ls.recent, ls.alone[0] = all[0], all[0]
	}
	return ls.alone[:]
}

// repeated is the lease that an ok acquire returns again: same node, same
// nonce, same token.
func (ls *leases) repeated(o *index.Op) *lease {
	if o.Got == 0 {
		return nil
	}
	for _, l := range ls.withToken(o.Got) {
		if l.holder == o.Node && l.nonce == o.Nonce {
			return l
		}
	}
	return nil
}

// collectShows adds what the other operations that saw a lease tell about it.
func (ls *leases) collectShows() {
	for _, o := range ls.e.Ops {
		switch {
		case o.Call == history.Renew || o.Call == history.Release:
			if o.Kind != history.Ok {
				continue
			}
			l := ls.own(o)
			if l == nil {
				continue
			}
			l.shows = append(l.shows, o)
			if o.Call == history.Release {
				ls.finish(l, o)
			} else {
				l.writes = append(l.writes, o)
			}
		case o.Saw():
			if l := ls.seen(o); l != nil {
				l.shows = append(l.shows, o)
			}
		}
	}
}

// own is the lease that a renewal or release is about; nil if that is not
// certain.
func (ls *leases) own(o *index.Op) *lease {
	if o.Token != 0 {
		var match *lease
		for _, l := range ls.withToken(o.Token) {
			if l.holder != o.Node && l.holder != "" || o.Nonce != "" && l.nonce != "" && l.nonce != o.Nonce {
				continue
			}
			if match != nil {
				return nil
			}
			match = l
		}
		if match == nil && len(ls.withToken(o.Token)) == 0 && o.Kind == history.Ok {
			match = &lease{holder: o.Node, token: o.Token, nonce: o.Nonce}
			ls.add(match)
		}
		return match
	}
	if o.Nonce != "" {
		return ls.named(o)
	}
	return ls.latest(o)
}

// seen is the lease that an observation names; nil if that is not certain.
func (ls *leases) seen(o *index.Op) *lease {
	if o.Got == 0 {
		return nil
	}
	candidates := ls.withToken(o.Got)
	if len(candidates) == 0 {
		l := &lease{holder: o.Holder, token: o.Got}
		ls.add(l)
		return l
	}
	if len(candidates) > 1 || !within(o, ls.undisturbed(candidates[0])) {
		return nil
	}
	l := candidates[0]
	if l.holder == "" {
		l.holder = o.Holder
	}
	if o.Holder != "" && o.Holder != l.holder {
		return nil
	}
	return l
}

// findHeld finds the time in which the lease certainly was alive. Two
// operations that saw it alive prove everything between them, because nothing
// but its expiry or release ends a lease and neither can be undone. After the
// last one, a TTL must pass since the call of the last write, unless a release
// was sent or a fault took something away.
//
// A store that forgets its leases may forget its count of tokens as well, and
// give the same one again: what lies on two sides of such a fault may be about
// two leases.
func (ls *leases) findHeld(l *lease) {
	if len(l.shows) == 0 {
		return
	}
	l.held = index.Window{From: index.Forever, To: -index.Forever}
	one := l.calm
	for _, o := range l.shows {
		if !within(o, one) {
			ls.unplaced++
			continue
		}
		if o.To < l.held.From {
			l.held.From, l.heldBy = o.To, o
		}
		if o.From > l.held.To {
			l.held.To, l.holdBy = o.From, o
		}
	}
	cut := index.Forever
	for _, o := range l.ends {
		cut = min(cut, o.From)
	}
	for _, o := range l.doubts {
		cut = min(cut, o.From)
	}
	cut = min(cut, ls.rewritten(l))
	for _, w := range l.writes {
		if !within(w, one) {
			continue
		}
		end := min(cut, expiry.First(ls.faults, w.From, l.leastEnd(w)-ls.Of(w.TTL)))
		if end > l.held.To {
			l.held.To, l.holdBy = end, w
		}
	}
	if l.held.From < l.held.To {
		ls.held = append(ls.held, l)
	}
}

// rewritten is when another grant may have been of this lease, and may have given
// it less time, or another one may have been what renewed it: an attempt that got
// no token, nor asks for the same time always.
func (ls *leases) rewritten(l *lease) time.Duration {
	first := index.Forever
	if l.token != 0 || l.grant == nil {
		return first
	}
	all := ls.byNode[l.holder]
	if !all[len(all)-1].mixed {
		return first
	}
	for _, m := range all {
		if m != l && m.mayBe(l) && m.grant.To > l.grant.From {
			first = min(first, m.grant.From)
		}
	}
	return first
}

// leastEnd is when the lease is over at the earliest for all that w did: a
// later write may have given it less time.
func (l *lease) leastEnd(w *index.Op) time.Duration {
	end := w.From + w.TTL
	for _, ops := range [][]*index.Op{l.writes, l.maybes} {
		for _, o := range ops {
			if o.TTL < w.TTL && o.To > w.From {
				end = min(end, max(o.From, w.From)+o.TTL)
			}
		}
	}
	return end
}

// undisturbed is the time around the lease's grant, or the first operation that
// saw it, in which no fault can have removed it.
func (ls *leases) undisturbed(l *lease) index.Window {
	first, w := l.grant, index.Window{From: -index.Forever, To: index.Forever}
	if first == nil && len(l.shows) > 0 {
		first = l.shows[0]
	}
	if first == nil {
		return w
	}
	for _, f := range ls.faults {
		switch {
		case !f.Void:
		case f.To < first.From:
			w.From = max(w.From, f.To)
		case f.From > first.To:
			w.To = min(w.To, f.From)
		default: // before or after its effect, nobody knows
			w = index.Window{From: max(w.From, first.From), To: min(w.To, first.To)}
		}
	}
	return w
}

// findCould finds the time outside of which the lease certainly was not alive,
// and the first write that came when it was over already. A write may have
// happened as late as its return, but not after the end of what it extends;
// one of unknown outcome may have come last of all and have added its TTL to
// any end.
func (ls *leases) findCould(l *lease) {
	l.could = index.Window{From: -index.Forever, To: index.Forever}
	if l.grant == nil {
		l.could.From = ls.earliestUnsure(l)
		ls.endUnsure(l)
		return
	}
	l.could.From = l.grant.Asked
	last := func(end time.Duration) time.Duration { return expiry.Last(ls.faults, l.grant.Asked, end) }
	byCall(l.writes)
	life := ls.life
	maybe := func(until time.Duration) (sum time.Duration) {
		for _, o := range l.maybes {
			if o.From <= until {
				sum += life(o)
			}
		}
		return sum
	}
	end := l.granted() + life(l.grant)
	l.overBy = l.grant
	before, returned := end, l.grant.To // before the writes that overlap in time
	var together []*index.Op            // those, by return: each may be the last one
	for _, w := range l.writes {
		if w == l.grant {
			continue
		}
		if over := last(end + maybe(w.From)); w.From > over && l.late == nil {
			l.late, l.lateAfter = w, l.overBy
		}
		if w.From > returned {
			before, together = end, together[:0]
		}
		returned = max(returned, w.To)
		i, _ := slices.BinarySearchFunc(together, w.To, func(o *index.Op, t time.Duration) int { return cmp.Compare(o.To, t) })
		together = slices.Insert(together, i, w)
		end = before
		for _, o := range together {
			if t := min(o.To, last(end+maybe(o.To))) + life(o); t > end {
				end, l.overBy = t, o
			}
		}
	}
	end = last(end + maybe(index.Forever))
	for _, o := range l.ends {
		if o.Kind == history.Ok && o.To < end {
			end, l.overBy = o.To, o
		}
	}
	l.could.To = end
}

// life is how long a lease may last for what the operation did.
func (ls *leases) life(o *index.Op) time.Duration { return o.TTL + ls.Of(o.TTL) }

// byCall sorts operations; mostly they are in order.
func byCall(ops []*index.Op) {
	compare := func(a, b *index.Op) int { return cmp.Compare(a.From, b.From) }
	if !slices.IsSortedFunc(ops, compare) {
		slices.SortStableFunc(ops, compare)
	}
}

// granted is when the grant had taken effect at the latest: by its return, or
// earlier, if somebody saw the lease and no repetition of the same attempt can
// have brought it.
func (l *lease) granted() time.Duration {
	for _, ops := range [][]*index.Op{l.writes, l.maybes} {
		for _, o := range ops {
			if o.Call == history.Acquire && o != l.grant {
				return l.grant.To
			}
		}
	}
	return min(l.grant.To, l.held.From)
}

// boundByTokens ends every lease at the latest when a larger token was seen,
// and orders the certain times.
func (ls *leases) boundByTokens() {
	slices.SortStableFunc(ls.held, func(a, b *lease) int { return cmp.Compare(a.held.From, b.held.From) })
	for _, epoch := range ls.epochs() {
		boundByTokens(epoch)
	}
}

// epochs are the leases between which no fault can have made the store forget
// how far it had counted: what tokens say of each other holds within one.
func (ls *leases) epochs() [][]*lease {
	if !slices.ContainsFunc(ls.faults, func(f expiry.Fault) bool { return f.Void }) {
		return [][]*lease{ls.all}
	}
	var out [][]*lease
	number := map[index.Window]int{}
	for _, l := range ls.all {
		n, known := number[l.calm]
		if !known {
			n = len(out)
			number[l.calm] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], l)
	}
	return out
}

func boundByTokens(epoch []*lease) {
	ordered := slices.Clone(epoch)
	slices.SortStableFunc(ordered, func(a, b *lease) int { return cmp.Compare(b.token, a.token) })
	var first *lease // of those with a larger token, the one seen first
	for i := 0; i < len(ordered) && ordered[i].token != 0; {
		j := i
		for ; j < len(ordered) && ordered[j].token == ordered[i].token; j++ {
			if l := ordered[j]; first != nil && first.held.From < l.could.To {
				l.could.To, l.overBy = first.held.From, first.heldBy
			}
		}
		for ; i < j; i++ {
			if l := ordered[i]; len(l.shows) > 0 && (first == nil || l.held.From < first.held.From) {
				first = l
			}
		}
	}
}

// within reports whether all of the operation is in the window.
func within(o *index.Op, w index.Window) bool { return w.From <= o.From && o.To <= w.To }
