package intervals

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// collectUnsure adds what operations of unknown outcome may have done to the
// leases that are known of, and those of which nobody knows which lease they
// are about. They come last: the lease that one is about may have been seen
// only later.
func (ls *leases) collectUnsure() {
	for _, o := range ls.e.Ops {
		if (o.Call == history.Renew || o.Call == history.Release) && o.Kind != history.Fail && o.Token == 0 && ls.own(o) == nil {
			ls.collectUnplaced(o)
			continue
		}
		if o.Kind != history.Info {
			continue
		}
		switch o.Call {
		case history.Renew:
			if l := ls.own(o); l != nil {
				l.maybes = append(l.maybes, o)
			}
		case history.Release:
			if l := ls.own(o); l != nil {
				ls.finish(l, o)
			}
		case history.Acquire:
			for _, l := range ls.byNode[o.Node] {
				if l.nonce == o.Nonce {
					l.maybes = append(l.maybes, o)
				}
			}
		}
	}
}

// finish adds a release to the lease that it is about. Grants of one attempt
// without a token may all be of one lease, so it may have been about those too.
func (ls *leases) finish(l *lease, o *index.Op) {
	l.ends = append(l.ends, o)
	if l.token != 0 || l.nonce == "" {
		return
	}
	for _, m := range ls.byNode[l.holder] {
		if m != l && m.mayBe(l) && m.grant.From <= o.To {
			m.doubts = append(m.doubts, o)
		}
	}
}

// collectUnplaced adds a renewal or release without a token to each lease that it
// may have been about. Nothing tells which it was, where the node has asked for
// another one and never learned the outcome.
func (ls *leases) collectUnplaced(o *index.Op) {
	ls.unplaced++
	for _, all := range [][]*lease{ls.byNode[o.Node], ls.others} {
		for _, l := range all {
			switch {
			case l.holder != "" && l.holder != o.Node, l.nonce != "" && o.Nonce != "" && l.nonce != o.Nonce:
			case l.grant != nil && l.grant.From > o.To:
			case o.Call == history.Renew:
				l.maybes = append(l.maybes, o)
			default:
				l.doubts = append(l.doubts, o)
			}
		}
	}
}

// named is the lease that a renewal or release is about which names its attempt
// and no token.
func (ls *leases) named(o *index.Op) *lease {
	if ls.byNonce == nil {
		ls.collectNonces()
	}
	a := attempt{o.Node, o.Nonce}
	switch all := ls.byNonce[a]; {
	case len(all) == 0 || slices.ContainsFunc(ls.unsure[o.Node], func(u *index.Op) bool { return u.Nonce == o.Nonce && u.From <= o.To }):
		return nil
	case len(all) > 1 || all[0].token == 0:
		return ls.latest(o)
	case all[0].grant.From > o.To:
		return nil
	default:
		return all[0]
	}
}

// collectNonces sorts the leases that were granted by their attempt.
func (ls *leases) collectNonces() {
	ls.byNonce = make(map[attempt][]*lease, len(ls.all))
	for _, l := range ls.all {
		if l.grant != nil {
			a := attempt{l.holder, l.nonce}
			ls.byNonce[a] = append(ls.byNonce[a], l)
		}
	}
}

// latest is the lease without a token that a node's operation must be about:
// its latest one, unless an acquire of unknown outcome may have brought
// another, or another one may have been granted later that was called earlier.
func (ls *leases) latest(o *index.Op) *lease {
	granted := ls.byNode[o.Node]
	i := len(granted) - 1
	for i >= 0 && granted[i].grant.From > o.To {
		i--
	}
	if i < 0 || granted[i].grant.To > o.From || granted[i].token != 0 || granted[i].before > granted[i].grant.From {
		return nil
	}
	for _, u := range ls.unsure[o.Node] {
		if u.From <= o.To && u.To >= granted[i].grant.From {
			return nil
		}
	}
	return granted[i]
}

// earliestUnsure is the first call that may have brought a lease that no
// recorded grant explains; index.Forever if there is none.
func (ls *leases) earliestUnsure(l *lease) time.Duration {
	first := index.Forever
	for node, ops := range ls.unsure { // any order: the minimum is the same
		if l.holder == "" || node == "" || node == l.holder {
			first = min(first, ops[0].From)
		}
	}
	return first
}

// endUnsure finds when a lease that no recorded grant explains was over at the
// latest. An acquire of unknown outcome brought it by the time at which it was first
// seen; those of the same attempt, and renewals, may each have come last of all and
// have added their TTL to any end.
func (ls *leases) endUnsure(l *lease) {
	unnamed := func(m *lease) bool { return m.token == 0 }
	if l.token == 0 || l.holder == "" || l.held.From >= index.Forever || len(ls.unsure[""]) > 0 || slices.ContainsFunc(ls.byNode[l.holder], unnamed) {
		return // nobody knows which attempts it may be about
	}
	lives, longest := ls.livesOf(l.holder), time.Duration(0)
	for _, o := range ls.unsure[l.holder] { // by call
		if o.From > l.held.From {
			break
		}
		if o.Nonce == "" {
			longest = lives.all // it may be of any attempt
			break
		}
		longest = max(longest, lives.byNonce[o.Nonce]+lives.byNonce[""])
	}
	if longest == 0 {
		return // nobody had asked for it: see outOfTime
	}
	for _, o := range l.maybes {
		longest += ls.life(o)
	}
	end := l.held.From
	for _, w := range l.writes {
		end = max(end, w.To+ls.life(w))
	}
	l.could.To, l.overBy = expiry.Last(ls.faults, l.could.From, end+longest), l.heldBy
}

// lives is for how long all acquires of unknown outcome of a node may make leases
// last, one after the other.
type lives struct {
	all     time.Duration
	byNonce map[string]time.Duration
}

func (ls *leases) livesOf(node string) lives {
	if l, ok := ls.livesBy[node]; ok {
		return l
	}
	l := lives{byNonce: map[string]time.Duration{}}
	for _, o := range ls.unsure[node] {
		l.all += ls.life(o)
		l.byNonce[o.Nonce] += ls.life(o)
	}
	ls.livesBy[node] = l
	return l
}
