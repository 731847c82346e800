package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// lease is what the calls and returns of the operations alone tell about one
// lease. Times are those of a true clock.
type lease struct {
	holder string
	token  uint64
	nonce  string
	grant  *op   // the first ok acquire; nil if only others saw the lease
	shows  []*op // operations that saw it alive at some moment of theirs
	writes []*op // ok acquires and renewals: it ends a TTL later at the earliest
	maybes []*op // renewals and repeated acquires that may have prolonged it
	ends   []*op // releases, ok or of unknown outcome
	doubts []*op // releases that may have been of this lease, or of another one

	held           window // it certainly was alive then; empty if to <= from
	heldBy, holdBy *op    // what shows that: the begin and the end of held
	could          window // outside of this it certainly was not alive
	overBy         *op    // what shows the end of could

	late, lateAfter *op // a write that came after the end, and the last one before it

	// Of a lease from an earlier piece: what was known of its end there.
	known   *op
	knownTo time.Duration
}

// leases is what the interval checker knows about an election.
type leases struct {
	e       *election
	all     []*lease
	byToken map[uint64][]*lease
	byNode  map[string][]*lease // the ones granted, by holder, in the order of their calls
	unsure  map[string][]*op    // acquires of unknown outcome, by node, in the order of their calls
	held    []*lease            // those with a certain time, by its begin
	faults  []*fault            // those that touch leases
	recent  *lease              // the last one that was found by its token
	alone   [1]*lease           // recent, as a list
	cursor  int                 // in held: see holding
	// unplaced counts the operations of which nobody knows which lease they are
	// about: without tokens after an acquire of unknown outcome, and behind a
	// fault that may have taken the lease away.
	unplaced int
	tolerance

	possibleBy map[string][]window // what possibleOf found
}

// epsilon is how far the true lifetime of a lease may be from its TTL: Redis
// counts whole milliseconds at both ends (2 ms), the server's clock may run
// 100 ppm off the recording one, and two nodes' times differ by the clock
// error. drift_ppm does not belong here: it is what the candidates' clocks may
// do, and no candidate's clock decides when a lease is over.
func (r *run) epsilon() tolerance {
	return tolerance{r.exact, 2*time.Millisecond + 2*r.header.ClockError}
}

// tolerance is an epsilon that is not yet that of a TTL.
type tolerance struct {
	none bool // tests against an oracle that knows no tolerance
	base time.Duration
}

func (x tolerance) of(ttl time.Duration) time.Duration {
	if x.none {
		return 0
	}
	return x.base + ttl/10_000
}

// findLeases collects, election by election, every lease with the times in
// which it certainly was alive and those in which it certainly was not.
func findLeases(r *run) []*leases {
	var out []*leases
	for _, e := range r.elections {
		ls := &leases{e: e, byToken: map[uint64][]*lease{}, byNode: map[string][]*lease{},
			unsure: map[string][]*op{}, possibleBy: map[string][]window{}, faults: r.leaseFaults(), tolerance: r.epsilon()}
		if l := e.past.lease; l != nil {
			ls.add(l.carried())
		}
		ls.collectGrants()
		ls.collectShows()
		ls.collectUnsure()
		for _, l := range ls.all {
			ls.findHeld(l)
			ls.findCould(l)
		}
		ls.boundByTokens(r)
		out = append(out, ls)
	}
	return out
}

// holdings is when the store certainly kept a lease for somebody.
func holdings(all []*leases) []Holding {
	var out []Holding
	for _, ls := range all {
		for _, l := range ls.held {
			out = append(out, Holding{Election: ls.e.name, Node: l.holder, Token: l.token, From: l.held.from, To: l.held.to})
		}
	}
	return out
}

// collectGrants makes a lease of every grant; the repetition of an acquire
// belongs to the lease that it returns again.
func (ls *leases) collectGrants() {
	for _, o := range ls.e.ops {
		if o.call != history.Acquire {
			continue
		}
		switch o.kind {
		case history.Info:
			ls.unsure[o.node] = append(ls.unsure[o.node], o)
		case history.Ok:
			l := ls.repeated(o)
			if l == nil {
				l = &lease{holder: o.node, token: o.got, nonce: o.nonce, grant: o}
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
		ls.byNode[l.holder] = append(ls.byNode[l.holder], l)
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
func (ls *leases) repeated(o *op) *lease {
	if o.got == 0 {
		return nil
	}
	for _, l := range ls.withToken(o.got) {
		if l.holder == o.node && l.nonce == o.nonce {
			return l
		}
	}
	return nil
}

// collectShows adds what the other operations that saw a lease tell about it.
func (ls *leases) collectShows() {
	for _, o := range ls.e.ops {
		switch {
		case o.call == history.Renew || o.call == history.Release:
			if o.kind != history.Ok {
				continue
			}
			l := ls.own(o)
			if l == nil {
				continue
			}
			l.shows = append(l.shows, o)
			if o.call == history.Release {
				ls.finish(l, o)
			} else {
				l.writes = append(l.writes, o)
			}
		case o.saw():
			if l := ls.seen(o); l != nil {
				l.shows = append(l.shows, o)
			}
		}
	}
}

// saw tells whether the operation found a lease of a known holder or token
// that is not its own.
func (o *op) saw() bool {
	if o.holder == "" && o.got == 0 {
		return false
	}
	return o.call == history.Observe && o.kind == history.Ok || o.call == history.Acquire && o.kind == history.Fail
}

// own is the lease that a renewal or release is about; nil if that is not
// certain.
func (ls *leases) own(o *op) *lease {
	if o.token != 0 {
		var match *lease
		for _, l := range ls.withToken(o.token) {
			if l.holder != o.node && l.holder != "" || o.nonce != "" && l.nonce != "" && l.nonce != o.nonce {
				continue
			}
			if match != nil {
				return nil
			}
			match = l
		}
		if match == nil && len(ls.withToken(o.token)) == 0 && o.kind == history.Ok {
			match = &lease{holder: o.node, token: o.token, nonce: o.nonce}
			ls.add(match)
		}
		return match
	}
	return ls.latest(o)
}

// seen is the lease that an observation names; nil if that is not certain.
func (ls *leases) seen(o *op) *lease {
	if o.got == 0 {
		return nil
	}
	candidates := ls.withToken(o.got)
	if len(candidates) == 0 {
		l := &lease{holder: o.holder, token: o.got}
		ls.add(l)
		return l
	}
	if len(candidates) > 1 || !ls.undisturbed(candidates[0]).holds(o) {
		return nil
	}
	l := candidates[0]
	if l.holder == "" {
		l.holder = o.holder
	}
	if o.holder != "" && o.holder != l.holder {
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
	l.held = window{forever, -forever}
	one := ls.undisturbed(l)
	for _, o := range l.shows {
		if !one.holds(o) {
			ls.unplaced++
			continue
		}
		if o.to < l.held.from {
			l.held.from, l.heldBy = o.to, o
		}
		if o.from > l.held.to {
			l.held.to, l.holdBy = o.from, o
		}
	}
	cut := forever
	for _, o := range l.ends {
		cut = min(cut, o.from)
	}
	for _, o := range l.doubts {
		cut = min(cut, o.from)
	}
	for _, w := range l.writes {
		if !one.holds(w) {
			continue
		}
		end := min(cut, ls.certainEnd(w.from, l.leastEnd(w)-ls.of(w.ttl)))
		if end > l.held.to {
			l.held.to, l.holdBy = end, w
		}
	}
	if l.held.from < l.held.to {
		ls.held = append(ls.held, l)
	}
}

// leastEnd is when the lease is over at the earliest for all that w did: a
// later write may have given it less time.
func (l *lease) leastEnd(w *op) time.Duration {
	end := w.from + w.ttl
	for _, ops := range [][]*op{l.writes, l.maybes} {
		for _, o := range ops {
			if o.ttl < w.ttl && o.to > w.from {
				end = min(end, max(o.from, w.from)+o.ttl)
			}
		}
	}
	return end
}

// undisturbed is the time around the lease's grant, or the first operation that
// saw it, in which no fault can have removed it.
func (ls *leases) undisturbed(l *lease) window {
	first, w := l.grant, window{-forever, forever}
	if first == nil && len(l.shows) > 0 {
		first = l.shows[0]
	}
	if first == nil {
		return w
	}
	for _, f := range ls.faults {
		switch {
		case !f.void:
		case f.to < first.from:
			w.from = max(w.from, f.to)
		case f.from > first.to:
			w.to = min(w.to, f.from)
		default: // before or after its effect, nobody knows
			w = window{max(w.from, first.from), min(w.to, first.to)}
		}
	}
	return w
}

// holds tells whether all of the operation is in the window.
func (w window) holds(o *op) bool { return w.from <= o.from && o.to <= w.to }

// certainEnd is when a lease may be over at the earliest that was written at
// or after t and would last until end without faults.
func (ls *leases) certainEnd(t, end time.Duration) time.Duration {
	for _, f := range ls.faults {
		if f.to < t || f.from >= end {
			continue
		}
		if f.void {
			end = f.from
		}
		if f.shorten > 0 {
			end = max(f.from, end-f.shorten)
		}
	}
	return end
}

// findCould finds the time outside of which the lease certainly was not alive,
// and the first write that came when it was over already. A write may have
// happened as late as its return, but not after the end of what it extends;
// one of unknown outcome may have come last of all and have added its TTL to
// any end.
func (ls *leases) findCould(l *lease) {
	l.could = window{-forever, forever}
	if l.grant == nil {
		l.could.from = ls.earliestUnsure(l)
		return
	}
	l.could.from = l.grant.asked
	if ls.lengthened() {
		return
	}
	byCall(l.writes)
	life := func(o *op) time.Duration { return o.ttl + ls.of(o.ttl) }
	maybe := func(until time.Duration) (sum time.Duration) {
		for _, o := range l.maybes {
			if o.from <= until {
				sum += life(o)
			}
		}
		return sum
	}
	end := l.granted() + life(l.grant)
	l.overBy = l.grant
	if l.known != nil {
		end, l.overBy = l.knownTo, l.known
	}
	for _, w := range l.writes {
		if w == l.grant || w.old {
			continue
		}
		last := end + maybe(w.to)
		if w.from > last && l.late == nil {
			l.late, l.lateAfter = w, l.overBy
		}
		if t := min(w.to, last) + life(w); t > end {
			end, l.overBy = t, w
		}
	}
	end += maybe(forever)
	for _, o := range l.ends {
		if o.kind == history.Ok && o.to < end {
			end, l.overBy = o.to, o
		}
	}
	l.could.to = end
}

// byCall sorts operations; mostly they are in order.
func byCall(ops []*op) {
	compare := func(a, b *op) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(ops, compare) {
		slices.SortStableFunc(ops, compare)
	}
}

// granted is when the grant had taken effect at the latest: by its return, or
// earlier, if somebody saw the lease and no repetition of the same attempt can
// have brought it.
func (l *lease) granted() time.Duration {
	for _, ops := range [][]*op{l.writes, l.maybes} {
		for _, o := range ops {
			if o.call == history.Acquire && o != l.grant {
				return l.grant.to
			}
		}
	}
	return min(l.grant.to, l.held.from)
}

// lengthened tells whether a fault set the store's clock back: then nothing is
// certain about the end of a lease.
func (ls *leases) lengthened() bool {
	return slices.ContainsFunc(ls.faults, func(f *fault) bool { return f.shorten < 0 })
}

// boundByTokens ends every lease at the latest when a larger token was seen,
// and orders the certain times.
func (ls *leases) boundByTokens(r *run) {
	slices.SortStableFunc(ls.held, func(a, b *lease) int { return cmp.Compare(a.held.from, b.held.from) })
	if r.lossy() {
		return // tokens may have started again
	}
	ordered := slices.Clone(ls.all)
	slices.SortStableFunc(ordered, func(a, b *lease) int { return cmp.Compare(b.token, a.token) })
	var first *lease // of those with a larger token, the one seen first
	for i := 0; i < len(ordered) && ordered[i].token != 0; {
		j := i
		for ; j < len(ordered) && ordered[j].token == ordered[i].token; j++ {
			if l := ordered[j]; first != nil && first.held.from < l.could.to {
				l.could.to, l.overBy = first.held.from, first.heldBy
			}
		}
		for ; i < j; i++ {
			if l := ordered[i]; len(l.shows) > 0 && (first == nil || l.held.from < first.held.from) {
				first = l
			}
		}
	}
}
