package explore

import "github.com/recount-io/recount/internal/quorum"

// execute lets a request take effect, and makes it its own answer.
func (w *majority) execute(p *parcel) {
	s := &w.stores[p.store]
	mine := s.until > w.now && s.nonce == p.nonce
	p.verdict = quorum.No
	switch {
	case p.ask == quorum.AskGrant || p.ask == quorum.AskMend:
		w.grant(s, p, mine)
	case !mine || s.token != p.token:
	case p.ask == quorum.AskRenew:
		s.until, p.verdict = w.now+w.lease()-rounding, quorum.Yes
	default:
		s.until, p.verdict = w.now, quorum.Yes
	}
	p.stage = coming
}

func (w *majority) grant(s *keeper, p *parcel, mine bool) {
	switch {
	case mine:
	case s.until > w.now:
		p.denied, p.token = true, s.token
		return
	case s.withheld > w.now:
		p.denied, p.token = true, 0
		return
	default:
		if s.lost {
			s.token, s.lost = w.highest(), false
		}
		s.token = max(s.token, p.floor) + 1
		s.nonce = p.nonce
	}
	s.until = w.now + w.lease() - rounding
	p.verdict, p.token = quorum.Yes, s.token
}

func (w *majority) highest() (token uint64) {
	for i := range w.stores {
		token = max(token, w.stores[i].token)
	}
	return token
}

// restart makes a store lose its data. It notices: it withholds the lease for as
// long as one may last that it has forgotten, and counts tokens on by its clock,
// which is ahead of them all.
func (w *majority) restart(s *keeper) {
	*s = keeper{token: s.token, withheld: w.now + w.lease() - rounding, lost: true}
}
