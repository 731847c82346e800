// Package crosscheck tries package checker from outside, by its exported names
// alone: with generated histories, of which an oracle that shares no code with
// the checkers knows what is right, and with real histories that were changed
// after the fact, in ways that must be convicted and in ways that must not.
package crosscheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// The oracle tries every order of the operations on a lease. It knows the
// history's format, and one lease with expiry: a lease that was written at t
// for a ttl is over at one moment in [t+ttl-tolerance, t+ttl+tolerance], which
// nobody chooses. An order is one if there are moments for all operations, each
// between its call and its return, and an end for each lease, that explain the
// answers.
//
// What the moments may be is kept as the differences that are possible between
// three of them: the origin, the present, and the end of the lease that is
// alive. That is all that the future can ask about, so of two ways that led to
// the same differences, lease and rest one is enough.

// answerable is what the oracle makes of one history.
type answerable int

const (
	undecided  answerable = iota // too many orders
	possible                     // some order explains all answers
	impossible                   // none does
)

func (a answerable) String() string { return [...]string{"undecided", "possible", "impossible"}[a] }

// reading is how the oracle takes what the format leaves open. What is possible
// by the narrow reading is certainly right, and what is impossible by the wide
// one certainly wrong.
type reading struct {
	wide   bool // the tolerance a microsecond more instead of less, and every doubt in favour of the store
	record bool // the store's own record counts
}

// item is an operation on the lease, or a fault that touches leases.
type item struct {
	op           int64
	node, nonce  string
	call         history.Call
	try          uint64
	lo, hi       int64
	ttl          int64
	token        uint64 // of the invocation
	got          uint64
	holder       string
	kind         history.Kind // Ok, Fail, or Info
	entry        int          // place in the store's own record; -1: none
	idle         bool         // it was sent, and the record says that it changed nothing
	fault        bool
	shorten      int64
	void, surely bool
	err          string
	optional     bool // it may never have happened
}

const infinite = int64(1) << 60

// differences holds, for the origin, the present and the lease's end, by how
// much the one may exceed the other.
type differences [3][3]int64

const (
	origin = iota
	present
	end
	moment // of the operation at hand
)

// lease is what is known of the lease but for its times.
type lease struct {
	live          bool
	holder, nonce string
	token, last   uint64
}

type place struct {
	done  uint64
	lease lease
	times differences
}

// search tries the orders of one election.
type search struct {
	items     []item
	how       reading
	tolerance func(ttl int64) int64
	entries   int // of the record
	tokens    []uint64
	loose     bool // without entry although the record goes on: possible here
	seen      map[place]struct{}
	budget    int
	ended     bool // the budget is used up
}

// ask asks whether the history's answers have an order, election by election.
func ask(h *history.History, how reading, budget int) answerable {
	all, fits := elections(h, how.record)
	if !fits {
		return impossible
	}
	verdict := possible
	for _, items := range all {
		s := newSearch(h, items, how, budget)
		if s == nil {
			return undecided
		}
		start := place{times: differences{{0, infinite, infinite}, {infinite, 0, infinite}, {infinite, infinite, 0}}}
		if s.from(start) {
			continue
		}
		if !s.ended {
			return impossible
		}
		verdict = undecided
	}
	return verdict
}

const most = 64 // items that a search can hold

func newSearch(h *history.History, items []item, how reading, budget int) *search {
	s := &search{how: how, budget: budget, seen: map[place]struct{}{}}
	clocks := int64(h.Header.ClockError)
	s.tolerance = func(ttl int64) int64 {
		t := int64(2*time.Millisecond) + 2*clocks + ttl/10_000
		if how.wide {
			return t + int64(time.Microsecond)
		}
		return t - int64(time.Microsecond)
	}
	for _, x := range items {
		s.loose = s.loose || x.void && how.wide
		for _, t := range []uint64{x.token, x.got} {
			if t != 0 && !slices.Contains(s.tokens, t) {
				s.tokens = append(s.tokens, t)
			}
		}
		if x.fault || x.kind != history.Info || x.call != history.Observe {
			s.items = append(s.items, x)
		}
		s.entries = max(s.entries, x.entry+1)
	}
	slices.Sort(s.tokens)
	for i := range s.items {
		s.items[i].optional = s.isOptional(&s.items[i])
	}
	// What nobody answered and nobody recorded needs no place.
	s.items = slices.DeleteFunc(s.items, func(x item) bool { return x.idle && !how.record })
	if len(s.items) > most {
		return nil
	}
	return s
}

func (s *search) isOptional(x *item) bool {
	if x.fault {
		return false
	}
	return x.kind == history.Info && (!s.how.record || x.entry < 0)
}

// from reports whether the rest can follow.
func (s *search) from(p place) bool {
	if _, ok := s.seen[p]; ok {
		return false
	}
	if len(s.seen) >= s.budget {
		s.ended = true
		return false
	}
	s.seen[p] = struct{}{}
	left, soonest, entry := false, infinite, s.entries
	for i := range s.items {
		x := &s.items[i]
		if p.done&(1<<i) != 0 {
			continue
		}
		if x.entry >= 0 {
			entry = min(entry, x.entry)
		}
		if !x.optional {
			left = true
			soonest = min(soonest, x.hi)
		}
	}
	if !left {
		return true
	}
	for i := range s.items {
		x := &s.items[i]
		if p.done&(1<<i) != 0 || x.lo > soonest || s.outOfRecord(x, entry) {
			continue
		}
		for _, next := range s.after(&p, x) {
			next.done = p.done | 1<<i
			if s.from(next) {
				return true
			}
		}
	}
	return false
}

// outOfRecord reports whether the store's own record has the item elsewhere. The
// record may end early: what is not in it came after all that is.
func (s *search) outOfRecord(x *item, entry int) bool {
	switch {
	case !s.how.record || s.entries == 0 || x.fault || x.call == history.Observe:
		return false
	case x.entry >= 0:
		return x.entry != entry
	case x.kind == history.Fail && s.how.wide, s.loose:
		return false
	default:
		return entry < s.entries
	}
}

// after is what can be once the item happened.
func (s *search) after(p *place, x *item) []place {
	if x.fault {
		return s.disturbed(p, x)
	}
	l := &p.lease
	switch {
	case x.idle:
		return anyway(p, x)
	case x.call == history.Observe && x.holder == "" && x.got == 0:
		return over(p, x)
	case x.call == history.Observe:
		return alive(p, x, x.holder, x.got)
	case x.call == history.Acquire && x.kind == history.Fail:
		if x.err != "" && x.holder == "" && x.got == 0 {
			return anyway(p, x)
		}
		again := l.live && x.nonce != "" && l.nonce == x.nonce && l.holder == x.node
		if again && !s.how.wide {
			return nil
		}
		return alive(p, x, x.holder, x.got)
	case x.call == history.Acquire:
		return s.acquired(p, x)
	case x.kind == history.Fail:
		return refused(p, x)
	default:
		return s.kept(p, x)
	}
}

// at is the differences with the moment of the item among them, and the demands
// that it makes: the moment before the end of the lease (-1), after it (+1), or
// either (0).
func at(p *place, x *item, demand int) (d [4][4]int64, ok bool) {
	for i := range d {
		for j := range d {
			switch {
			case i < 3 && j < 3:
				d[i][j] = p.times[i][j]
			case i != j:
				d[i][j] = infinite
			}
		}
	}
	d[origin][moment] = -x.lo // origin - moment <= -lo
	if x.hi < infinite {
		d[moment][origin] = x.hi
	}
	d[present][moment] = 0
	switch demand {
	case -1:
		d[moment][end] = 0
	case +1:
		d[end][moment] = 0
	}
	for k := range d {
		for i := range d {
			for j := range d {
				if d[i][k] < infinite && d[k][j] < infinite {
					d[i][j] = min(d[i][j], d[i][k]+d[k][j])
				}
			}
		}
	}
	for i := range d {
		if d[i][i] < 0 {
			return d, false
		}
	}
	return d, true
}

// now makes the item's moment the present, and keeps the lease's end.
func now(p *place, d *[4][4]int64) place {
	next := *p
	names := [3]int{origin, moment, end}
	for i := range names {
		for j := range names {
			next.times[i][j] = d[names[i]][names[j]]
		}
	}
	return next
}

// written gives the lease an end a ttl from the present on.
func (s *search) written(p place, ttl int64) place {
	eps := s.tolerance(ttl)
	t := &p.times
	t[end][present], t[present][end] = ttl+eps, -(ttl - eps)
	t[end][origin] = sum(t[end][present], t[present][origin])
	t[origin][end] = sum(t[origin][present], t[present][end])
	return p
}

func sum(a, b int64) int64 {
	if a >= infinite || b >= infinite {
		return infinite
	}
	return a + b
}

// free forgets the lease and its end.
func free(p place) place {
	p.lease = lease{last: p.lease.last}
	t := &p.times
	for i := range t {
		if i != end {
			t[i][end], t[end][i] = infinite, infinite
		}
	}
	return p
}

// anyway is the item's moment without any demand.
func anyway(p *place, x *item) []place {
	if d, ok := at(p, x, 0); ok {
		return []place{now(p, &d)}
	}
	return nil
}

// over: nobody holds the lease.
func over(p *place, x *item) []place {
	demand := 0
	if p.lease.live {
		demand = +1
	}
	d, ok := at(p, x, demand)
	if !ok {
		return nil
	}
	return []place{free(now(p, &d))}
}

// alive: the lease is held, by the holder with the token where they are named.
func alive(p *place, x *item, holder string, token uint64) []place {
	l := &p.lease
	if !l.live || holder != "" && holder != l.holder || token != 0 && token != l.token {
		return nil
	}
	if d, ok := at(p, x, -1); ok {
		return []place{now(p, &d)}
	}
	return nil
}

func (s *search) acquired(p *place, x *item) []place {
	var out []place
	for _, q := range over(p, x) {
		for _, token := range s.grantable(x, q.lease.last) {
			g := q
			g.lease = lease{true, x.node, x.nonce, token, max(q.lease.last, token)}
			out = append(out, s.written(g, x.ttl))
		}
	}
	l := &p.lease
	if l.live && l.holder == x.node && l.nonce == x.nonce && (x.nonce != "" || s.how.wide) && (x.got == 0 || x.got == l.token) {
		for _, q := range alive(p, x, "", 0) {
			out = append(out, s.written(q, x.ttl))
		}
	}
	return out
}

// grantable are the tokens that a grant may have had. All that nobody names
// are alike, and the smallest one leaves the most to those that follow.
func (s *search) grantable(x *item, last uint64) []uint64 {
	switch {
	case x.got != 0 && x.got <= last:
		return nil
	case x.got != 0:
		return []uint64{x.got}
	case len(s.tokens) == 0 || x.kind == history.Ok:
		return []uint64{0}
	}
	var out []uint64
	for _, t := range s.tokens {
		if t > last {
			out = append(out, t)
		}
	}
	unnamed := last + 1
	for slices.Contains(s.tokens, unnamed) {
		unnamed++
	}
	return append(out, unnamed)
}

// mine reports whether a renewal or release is about the lease.
func (l *lease) mine(x *item) bool {
	return l.live && l.holder == x.node && (x.token == 0 || x.token == l.token) && (x.nonce == "" || l.nonce == "" || x.nonce == l.nonce)
}

// kept: a renewal or release took effect.
func (s *search) kept(p *place, x *item) []place {
	if !p.lease.mine(x) {
		return nil
	}
	var out []place
	for _, q := range alive(p, x, "", 0) {
		if x.call == history.Release {
			out = append(out, free(q))
		} else {
			out = append(out, s.written(q, x.ttl))
		}
	}
	return out
}

func refused(p *place, x *item) []place {
	if x.err != "" || !p.lease.mine(x) {
		return anyway(p, x)
	}
	return over(p, x)
}

// disturbed is what a fault may do, in one moment between its on and off.
func (s *search) disturbed(p *place, x *item) []place {
	d, ok := at(p, x, 0)
	if !ok {
		return nil
	}
	q := now(p, &d)
	if x.void {
		q.lease.last = 0
	}
	out := []place{}
	if x.void && q.lease.live {
		out = append(out, free(q))
		if s.how.wide { // or a little later
			w := q
			w.times[origin][end], w.times[present][end] = infinite, infinite
			out = append(out, w)
		}
	}
	if x.shorten == 0 || !q.lease.live || !x.surely {
		out = append(out, q)
	}
	if x.shorten == 0 || !q.lease.live {
		return out
	}
	if x.shorten < 0 && !s.how.wide { // what is over does not come back
		out = append(out, over(p, x)...)
		if d, ok = at(p, x, -1); !ok {
			return out
		}
		q = now(p, &d)
	}
	t := &q.times
	for _, i := range []int{origin, present} {
		if t[end][i] < infinite {
			t[end][i] -= x.shorten
		}
		if t[i][end] < infinite && x.shorten > 0 {
			t[i][end] += x.shorten
		}
	}
	return append(out, q)
}

// elections collects the items of each election, and reports whether the store's
// own record, if it counts, can be about them.
func elections(h *history.History, record bool) (all [][]item, fits bool) {
	fits = true
	var names []string
	entries := map[string]int{}
	index := map[int64][2]int{}
	group := func(name string) int {
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, all = append(names, name), append(all, nil)
		}
		return i
	}
	slack := int64(h.Header.ClockError+1) / 2
	var faults []item
	byID := map[string]int{}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Invoke:
			if !e.Call.OnLease() {
				continue
			}
			g := group(e.Election)
			ttl := e.TTL
			if ttl == 0 {
				ttl = h.Header.Lease
			}
			index[e.Op] = [2]int{g, len(all[g])}
			all[g] = append(all[g], item{
				op: e.Op, node: e.Node, nonce: e.Nonce, call: e.Call, try: e.Try, lo: int64(e.At) - slack, hi: infinite,
				ttl: int64(ttl), token: e.Token, kind: history.Info, entry: -1,
			})
		case history.Ok, history.Fail, history.Info:
			at, ok := index[e.Op]
			if !ok {
				continue
			}
			x := &all[at[0]][at[1]]
			x.kind, x.got, x.holder, x.err = e.Kind, e.Token, e.Holder, e.Error
			if x.call == history.Renew || x.call == history.Release {
				x.got, x.holder = 0, ""
			}
			if e.Kind != history.Info {
				x.hi = int64(e.At) + slack
			}
		case history.Fault:
			if n, ok := byID[e.ID]; ok {
				faults[n].hi = int64(e.At) + slack
				faults[n].surely = e.Effective != nil && *e.Effective
			} else if e.Shorten != 0 || e.Void {
				byID[e.ID] = len(faults)
				faults = append(faults, item{fault: true, lo: int64(e.At) - slack, hi: infinite, shorten: int64(e.Shorten), void: e.Void, entry: -1})
			}
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; record && e.Kind == history.Audit {
			g := group(e.Election)
			fits = enter(all[g], e, entries[e.Election], int64(h.Events[len(h.Events)-1].At)+slack) && fits
			entries[e.Election]++
		}
	}
	for g := range all {
		all[g] = append(all[g], faults...)
	}
	return all, fits
}

// enter gives an entry of the store's own record to the operation that it is
// about, and reports whether it fits. The operation took effect before the history
// ended at last, or it would not be in it.
func enter(items []item, e *history.Event, n int, last int64) bool {
	i := slices.IndexFunc(items, func(x item) bool {
		return x.call == e.Call && x.nonce == e.Nonce && x.try == e.Try && x.entry < 0
	})
	if i < 0 {
		return false
	}
	x := &items[i]
	applied := e.Applied != nil && *e.Applied
	x.entry = n
	x.hi = min(x.hi, last)
	if x.kind == history.Info {
		x.idle = !applied
		if applied && x.call == history.Acquire {
			x.got = e.Token
		}
		return true
	}
	return applied == (x.kind == history.Ok) && (x.call != history.Acquire || !applied || x.got == e.Token)
}

func (x item) String() string {
	return fmt.Sprintf("%s %s by %s nonce %q token %d got %d holder %q [%d, %d] entry %d", x.kind, x.call, x.node, x.nonce, x.token, x.got, x.holder, x.lo, x.hi, x.entry)
}
