package explore

import (
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// bid is the attempt that the store refused last.
type bid struct {
	owner, nonce string // empty: there is none
	number       uint64 // of the request
	floor        uint64
	arrived      time.Duration // by the store's clock
}

func (b *bid) is(nonce string, number uint64) bool { return b.nonce == nonce && b.number == number }

// stand makes a bid of a request that is refused because somebody else holds the
// lease. A bid whose process is gone is as good as none, for nobody listens there.
func (w *world) stand(r *message) {
	switch {
	case !w.set.Bids:
	case r.orphan:
		w.store.bid = bid{}
	default:
		w.store.bid = bid{r.owner, r.nonce, r.number, r.floor, w.now}
	}
}

// freshFor is for how long a bid is one.
func (w *world) freshFor() time.Duration { return w.lease() * 3 / 4 }

// pass passes a lease that is given back on to the bid, if there is one that may
// have it and the store is sure of what it knows.
func (w *world) pass(r *message) bool {
	s := &w.store
	b := s.bid
	age := w.now - b.arrived
	switch {
	case b.nonce == "" || b.owner == r.owner && !w.plant.toReleaser:
		return false
	case (s.behind || s.withheld > w.now || s.seed) && !w.plant.trusts:
		return false
	case s.reserved > w.now && s.to != b.owner || r.to != "" && r.to != b.owner:
		return false
	case age < 0 || age > w.freshFor():
		return false
	}
	w.grant(b.owner, b.nonce, b.floor)
	if w.plant.fromArrival {
		s.until -= age
	}
	s.bid = bid{}
	for i := range w.nodes {
		if n := &w.nodes[i]; n.id == b.owner {
			w.origin.touch(uint8(i))
			n.hint(hint{kind: machine.HintPassed, token: s.token, nonce: b.nonce, number: b.number}, w.set.Hints)
		}
	}
	w.announce(hint{kind: machine.HintGranted, token: s.token, remaining: w.lease()})
	return true
}

// withdraw takes a bid back, and reports whether the lease was passed on to it before.
func (w *world) withdraw(r *message) {
	s := &w.store
	if s.bid.nonce == r.nonce {
		s.bid = bid{}
	}
	r.result = machine.NotHeld
	if s.held(w.now) && s.nonce == r.nonce {
		r.result, r.token = machine.Held, s.token
	}
}

// leave ends what the store has of a process that is gone: nobody listens any more
// where its bids say.
func (w *world) leave(id string) {
	for _, b := range []*bid{&w.store.bid, &w.store.saved.bid} {
		if b.owner == id {
			*b = bid{}
		}
	}
	for i := range w.ghosts {
		if g := &w.ghosts[i]; g.owner == id {
			g.orphan = true
		}
	}
}

// jump sets the store's clock: what it knows of the future is nearer or further
// away, and what it knows of the past longer or less long ago.
func (w *world) jump(by time.Duration) {
	w.spend(Jumps)
	s := &w.store
	for _, end := range []*time.Duration{&s.until, &s.reserved, &s.withheld} {
		if *end > w.now { // else it has come, and what it ended is gone
			*end -= by
		}
	}
	s.bid.arrived -= by
}

// mayJump reports whether nobody believes in the store's lease, or may do so yet. A
// clock that jumps ahead ends leases early, and no store is proof against that.
func (w *world) mayJump() bool {
	s := &w.store
	if s.withheld > w.now {
		return false
	}
	for i := range w.nodes {
		if w.nodes[i].believes() {
			return false
		}
	}
	return !s.held(w.now) || slices.ContainsFunc(w.nodes, func(n node) bool {
		return slices.ContainsFunc(n.messages, func(m message) bool {
			return m.call == machine.Release && m.stage == going && s.is(w.now, m.nonce, m.token)
		})
	})
}

// tidyBid: a bid that is too old is none, unless the clock may jump back.
func (w *world) tidyBid(b *bid) {
	oldest := w.now - w.freshFor()
	if b.nonce != "" && b.arrived < oldest {
		b.arrived = max(b.arrived, oldest-ticks(1+int(w.left[Jumps])))
		if w.left[Jumps] == 0 {
			*b = bid{}
		}
	}
	if b.nonce == "" {
		*b = bid{}
	}
	b.floor = w.tidyFloor(b.floor)
}

func (w *world) node(id string) *node {
	return &w.nodes[slices.IndexFunc(w.nodes, func(n node) bool { return n.id == id })]
}

// reference is how a state names the request that a ghost is.
func (w *world) reference(g *message) byte {
	if g.orphan {
		return 0
	}
	return w.node(g.owner).m.Reference(g.number)
}

// forget makes a machine forget what nothing that is on its way to it, or may be
// yet, can name.
func (w *world) forget(n *node) {
	named := func(nonce string, number uint64) bool {
		return w.store.bid.is(nonce, number) || w.store.saved.bid.is(nonce, number) ||
			slices.ContainsFunc(n.hints, func(h hint) bool { return h.nonce == nonce && h.number == number }) ||
			slices.ContainsFunc(w.ghosts, func(g message) bool { return g.nonce == nonce && g.number == number })
	}
	announced := func(nonce string, token uint64) bool {
		return slices.ContainsFunc(n.hints, func(h hint) bool { return h.nonce == nonce && h.token == token })
	}
	n.m.Forget(n.now, named, announced, w.left[Stops]+w.left[Refusals] > 0 || w.set.Once)
}
