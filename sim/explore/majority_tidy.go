package explore

import (
	"slices"

	"github.com/recount-io/recount/internal/quorum"
)

// tidy brings the world into its plainest form: what cannot matter any more is
// blank.
func (w *majority) tidy() {
	for i := range w.stores {
		s := &w.stores[i]
		if s.until <= w.now {
			s.until, s.nonce = w.now, ""
		}
		s.withheld = max(s.withheld, w.now)
	}
	least := w.least()
	for i := range w.members {
		if n := &w.members[i]; n.up {
			n.until = max(n.until, w.now)
			n.m.Settle(w.now, n.nonce, least)
		}
	}
}

// least is the smallest of the tokens that the stores handed out last.
func (w *majority) least() uint64 {
	least := w.stores[0].token
	for i := range w.stores {
		least = min(least, w.stores[i].token)
	}
	return least
}

// tidyParcels is the part of tidy that changes what may happen to messages. It
// comes after each action, in the concrete world, too, so that its paths are as
// long.
func (w *majority) tidyParcels() {
	w.ghosts = slices.DeleteFunc(w.ghosts, func(p parcel) bool { w.tidyParcel(&p); return p.stage == coming })
	for i := range w.ghosts {
		w.tidyParcel(&w.ghosts[i])
	}
	for i := range w.members {
		for k := range w.members[i].parcels {
			w.tidyParcel(&w.members[i].parcels[k])
		}
	}
}

// tidyParcel: a floor below what a store hands out anyway is none, an answer says
// nothing but what its machine will use, and what is asked of a lease that is over
// is as good as refused.
func (w *majority) tidyParcel(p *parcel) {
	s := &w.stores[p.store]
	attempt := p.ask == quorum.AskGrant || p.ask == quorum.AskMend
	if p.floor <= s.token || s.lost {
		p.floor = 0
	}
	if p.stage == going && !attempt && !(s.until > w.now && s.nonce == p.nonce && s.token == p.token) {
		p.stage, p.verdict = coming, quorum.No
	}
	if p.stage == coming {
		p.nonce, p.floor = "", 0
		if !attempt {
			p.token = 0
		}
	}
	if p.age = min(p.age, uint8(w.set.Delay)); p.silent && w.set.Delay == Endless {
		p.age = 1
	}
}
