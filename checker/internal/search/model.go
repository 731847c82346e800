package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// leaseState is one state of the sequential model of a lease with expiry. The
// last write of the lease happened at some time in [a, b], and the present is
// at least now. Since only one lease is alive at a time, this is an exact
// projection of all timings that agree with the operations so far, up to
// epsilon.
//
// States are comparable, and one state covers another one if whatever can
// follow the other can follow it too: a step keeps only those that no other
// one covers.
type leaseState struct {
	live   bool
	holder string
	nonce  string
	token  uint64 // 0: not known (yet), but larger than last
	ttl    time.Duration
	last   uint64 // every grant to come has a larger token
	a, b   time.Duration
	now    time.Duration
	longer bool // a fault may have made the lease last longer: b is as if it had been written later

	pending pending
}

// leaseInput is one step of the model: an operation of known outcome, the
// sending of one of unknown outcome, or an act of the environment. Step sees
// no clock, so the times travel here.
type leaseInput struct {
	from, to time.Duration
	op       *index.Op
	took     bool // op took effect, whatever its caller learned
	token    uint64
	sent     []int // the sending of operations of these classes
	fault    *expiry.Fault
	end      *[][]leaseState // the end of a index.Window: collects the states there
	goOn     bool            // end: go on to find all possible ends
}

// leaseModel steps sets of states. See Judge for its source.
type leaseModel struct {
	ctx       context.Context // cuts off a step that takes long: then it is impossible
	tolerance expiry.Tolerance
	classes   []leaseClass
	kinds     map[leaseKind]int
	named     bool // every acquire has a nonce
}

func (m *leaseModel) epsilon(ttl time.Duration) time.Duration { return m.tolerance.Of(ttl) }

// step appends to next every state that one of states can be in after the
// input; none means that the input is impossible, or that the time is up.
func (m *leaseModel) step(next, states []leaseState, in *leaseInput) []leaseState {
	if len(m.classes) > 0 && in.sent == nil {
		states = m.effects(states, in)
	}
	for i := range states {
		next = m.after(next, &states[i], in)
	}
	if len(m.classes) > 0 {
		for i := range next {
			m.prune(&next[i])
		}
	}
	return m.reduce(next)
}

// after appends to next what s can be after the input.
func (m *leaseModel) after(next []leaseState, before *leaseState, in *leaseInput) []leaseState {
	s := *before
	if in.sent != nil { // it is no event of the store, so the present stays what it is
		for _, class := range in.sent {
			s.pending = s.pending.with(class, +1)
		}
		return append(next, s)
	}
	if in.op != nil && !in.took && in.op.Inconclusive() { // it says nothing of the lease, nor when anything happened to it
		return append(next, s)
	}
	lo := max(in.from, before.now)
	if lo > in.to {
		return next
	}
	if in.fault != nil {
		s.now = lo
		return disturb(next, s, in.fault)
	}
	o := in.op
	c := &claimed{o.Node, o.Nonce, o.Token, o.TTL}
	switch {
	case o.Call == history.Acquire && in.took:
		return m.acquire(next, s, o.Node, o.Nonce, in.token, o.TTL, lo, in.to)
	case o.Call == history.Acquire:
		if o.Nonce != "" && s.live && s.holder == o.Node && s.nonce == o.Nonce {
			return next
		}
		return m.seen(next, s, o.Holder, o.Got, lo, in.to)
	case o.Call == history.Observe && o.Holder == "" && o.Got == 0:
		return m.over(next, s, lo, in.to)
	case o.Call == history.Observe:
		return m.seen(next, s, o.Holder, o.Got, lo, in.to)
	case o.Call == history.Renew && in.took:
		return m.renew(next, s, c, lo, in.to)
	case in.took:
		return m.release(next, s, c, lo, in.to)
	default:
		return m.refused(next, s, c, lo, in.to)
	}
}

// disturb is what a fault may do to the lease. A shortened TTL is a write that
// happened earlier. A lease that may have vanished may be over at any time
// from now on, and the store may have lost count of the tokens.
func disturb(next []leaseState, s leaseState, f *expiry.Fault) []leaseState {
	if f.Void {
		s.last = 0
		s.a = -index.Forever
	}
	if f.Shorten == 0 || !s.live {
		return append(next, s)
	}
	if f.Shorten < 0 { // up to so much longer: how much, nobody knows
		s.b -= f.Shorten
		s.longer = true
		return append(next, s)
	}
	if !f.Certain {
		next = append(next, s)
	}
	s.a = max(s.a-f.Shorten, -index.Forever)
	s.b -= f.Shorten
	return append(next, s)
}

// alive is s if its lease is alive at some time in [lo, hi].
func (m *leaseModel) alive(s leaseState, lo, hi time.Duration) (leaseState, bool) {
	s.a = max(s.a, lo-s.ttl-m.epsilon(s.ttl)+1)
	if !s.longer {
		s.b = min(s.b, hi)
	}
	s.now = lo
	return s, s.live && s.a <= s.b
}

// over appends s without a lease, if it can be over at some time in [lo, hi].
func (m *leaseModel) over(next []leaseState, s leaseState, lo, hi time.Duration) []leaseState {
	s.now = lo
	if s.live {
		s.now = max(lo, s.a+s.ttl-m.epsilon(s.ttl))
	}
	if s.now > hi {
		return next
	}
	return append(next, s.free())
}

// free is s without its lease. A token that nobody ever saw is used up.
func (s leaseState) free() leaseState {
	last := s.last
	if s.live && s.token == 0 {
		last++
	}
	return leaseState{last: last, now: s.now, pending: s.pending}
}

// resolve fills in what an answer tells about the holder and the token, and
// reports whether it can be about this lease.
func (s *leaseState) resolve(holder string, token uint64) bool {
	if holder != "" && s.holder != "" && holder != s.holder {
		return false
	}
	if s.holder == "" {
		s.holder = holder
	}
	switch {
	case token == 0 || token == s.token:
		return true
	case s.token != 0 || token <= s.last:
		return false
	}
	s.token, s.last = token, token
	return true
}

func (m *leaseModel) acquire(next []leaseState, s leaseState, node, nonce string, token uint64, ttl, lo, hi time.Duration) []leaseState {
	next = m.grant(next, s, node, nonce, token, ttl, lo, hi)
	return m.again(next, s, node, nonce, token, ttl, lo, hi)
}

// grant appends s with a new lease, if it can be without one at some time in
// [lo, hi].
func (m *leaseModel) grant(next []leaseState, s leaseState, node, nonce string, token uint64, ttl, lo, hi time.Duration) []leaseState {
	var room [1]leaseState
	for _, g := range m.over(room[:0], s, lo, hi) {
		if token != 0 && token <= g.last {
			continue
		}
		g.live, g.holder, g.nonce, g.token, g.ttl = true, node, nonce, token, ttl
		g.last = max(g.last, token)
		g.a, g.b = g.now, hi // free forgot the rest
		next = append(next, g)
	}
	return next
}

// again appends s with its lease written again by the attempt that brought it.
func (m *leaseModel) again(next []leaseState, s leaseState, node, nonce string, token uint64, ttl, lo, hi time.Duration) []leaseState {
	if s.live && s.nonce == nonce && nonce != lonelyNonce && s.holder == node && s.resolve(node, token) {
		next = m.extend(next, s, ttl, lo, hi)
	}
	return next
}

// extend appends s with its lease written again, at a time when it was alive.
func (m *leaseModel) extend(next []leaseState, s leaseState, ttl, lo, hi time.Duration) []leaseState {
	s, ok := m.alive(s, lo, hi)
	if !ok {
		return next
	}
	s.b = min(hi, s.b+s.ttl+m.epsilon(s.ttl)-1)
	s.a, s.ttl, s.longer = lo, ttl, false
	if s.a > s.b {
		return next
	}
	return append(next, s)
}

// claimed is what a renewal or release says about its lease.
type claimed struct {
	node, nonce string
	token       uint64
	ttl         time.Duration
}

// mine reports whether the lease can be the one that c names, and fills in what
// that tells about it.
func (s *leaseState) mine(c *claimed) bool {
	if !s.live || s.nonce != "" && c.nonce != "" && s.nonce != c.nonce {
		return false
	}
	return s.resolve(c.node, c.token)
}

func (m *leaseModel) renew(next []leaseState, s leaseState, c *claimed, lo, hi time.Duration) []leaseState {
	if !s.mine(c) {
		return next
	}
	return m.extend(next, s, c.ttl, lo, hi)
}

func (m *leaseModel) release(next []leaseState, s leaseState, c *claimed, lo, hi time.Duration) []leaseState {
	if !s.mine(c) {
		return next
	}
	s, ok := m.alive(s, lo, hi)
	if !ok {
		return next
	}
	return append(next, s.free())
}

// refused is the answer to a renewal or release: not mine, or mine and over.
func (m *leaseModel) refused(next []leaseState, s leaseState, c *claimed, lo, hi time.Duration) []leaseState {
	own, other := s, s
	other.now = lo
	if !own.mine(c) {
		return append(next, other)
	}
	if s.token == 0 && c.token != 0 { // perhaps another's
		next = other.exceptToken(next, c.token)
	}
	return m.over(next, own, lo, hi)
}

// fewTokens is how many values of a token that nobody saw are kept apart.
const fewTokens = 8

// exceptToken appends s, whose token nobody saw, with any token but this one:
// it is a larger one, or one of the smaller ones. Where those are many it stays
// unknown, which allows too much.
func (s leaseState) exceptToken(next []leaseState, token uint64) []leaseState {
	if token-s.last > fewTokens {
		return append(next, s)
	}
	for smaller := s.last + 1; smaller < token; smaller++ {
		t := s
		t.token, t.last = smaller, smaller
		next = append(next, t)
	}
	s.last = token
	return append(next, s)
}

// seen is an answer that tells that a lease is alive, perhaps whose.
func (m *leaseModel) seen(next []leaseState, s leaseState, holder string, token uint64, lo, hi time.Duration) []leaseState {
	if !s.live || !s.resolve(holder, token) {
		return next
	}
	if s, ok := m.alive(s, lo, hi); ok {
		return append(next, s)
	}
	return next
}

// covers reports whether all that can follow t can follow s.
func (m *leaseModel) covers(s, t *leaseState) bool {
	if s.live != t.live || s.holder != t.holder || s.nonce != t.nonce || s.token != t.token || s.ttl != t.ttl || s.longer != t.longer {
		return false
	}
	if s.last > t.last || s.now > t.now || s.a > t.a || s.b < t.b {
		return false
	}
	return s.pending.covers(t.pending) || m.packs(s, t.pending)
}

// reduce drops the states that others cover, unites those that differ only in
// adjacent times of their last write, and orders the rest.
func (m *leaseModel) reduce(states []leaseState) []leaseState {
	if len(states) < 2 {
		return states
	}
	slices.SortFunc(states, compareStates)
	united := states[:1]
	for i := 1; i < len(states); i++ {
		if last := &united[len(united)-1]; !last.unite(&states[i]) {
			united = append(united, states[i])
		}
	}
	gone := 0
	for i := range united {
		if i%breath == breath-1 && m.ctx.Err() != nil {
			return nil
		}
		// Two may cover each other: what is gone covers nothing.
		for j := range united {
			if i != j && m.covers(&united[j], &united[i]) {
				united[i].now = never
				gone++
				break
			}
		}
	}
	if gone == 0 {
		return united
	}
	out := united[:0]
	for i := range united {
		if united[i].now < never {
			out = append(out, united[i])
		}
	}
	return out
}

// unite makes s both states, if they are equal or t begins where s ends: the
// last write happened at some time of either.
func (s *leaseState) unite(t *leaseState) bool {
	if t.a > s.b+1 || compareKinds(s, t) != 0 {
		return false
	}
	s.b = max(s.b, t.b)
	return true
}

// compareStates orders states that are alike by the time of the last write.
func compareStates(s, t leaseState) int {
	if c := compareKinds(&s, &t); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(s.a, t.a), cmp.Compare(s.b, t.b))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func compareKinds(s, t *leaseState) int {
	switch {
	case s.live != t.live:
		return compareBools(s.live, t.live)
	case s.longer != t.longer:
		return compareBools(s.longer, t.longer)
	case s.now != t.now:
		return cmp.Compare(s.now, t.now)
	case s.token != t.token:
		return cmp.Compare(s.token, t.token)
	case s.last != t.last:
		return cmp.Compare(s.last, t.last)
	case s.ttl != t.ttl:
		return cmp.Compare(s.ttl, t.ttl)
	case s.holder != t.holder:
		return strings.Compare(s.holder, t.holder)
	case s.nonce != t.nonce:
		return strings.Compare(s.nonce, t.nonce)
	default:
		return strings.Compare(string(s.pending), string(t.pending))
	}
}
