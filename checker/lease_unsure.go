package checker

import (
	"time"

	"github.com/recount-io/recount/history"
)

// collectUnsure adds what operations of unknown outcome may have done to the
// leases that are known of, and those of which nobody knows which lease they
// are about. They come last: the lease that one is about may have been seen
// only later.
func (ls *leases) collectUnsure() {
	for _, o := range ls.e.ops {
		if (o.call == history.Renew || o.call == history.Release) && o.kind != history.Fail && o.token == 0 && ls.own(o) == nil {
			ls.collectUnplaced(o)
			continue
		}
		if o.kind != history.Info {
			continue
		}
		switch o.call {
		case history.Renew:
			if l := ls.own(o); l != nil {
				l.maybes = append(l.maybes, o)
			}
		case history.Release:
			if l := ls.own(o); l != nil {
				ls.finish(l, o)
			}
		case history.Acquire:
			for _, l := range ls.byNode[o.node] {
				if l.nonce == o.nonce {
					l.maybes = append(l.maybes, o)
				}
			}
		}
	}
}

// finish adds a release to the lease that it is about. Grants of one attempt
// without a token may all be of one lease, so it may have been about those too.
func (ls *leases) finish(l *lease, o *op) {
	l.ends = append(l.ends, o)
	if l.token != 0 || l.nonce == "" {
		return
	}
	for _, m := range ls.byNode[l.holder] {
		if m != l && m.mayBe(l) && m.grant.from <= o.to {
			m.doubts = append(m.doubts, o)
		}
	}
}

// collectUnplaced adds a renewal or release to each lease without a token that
// it may have been about. Nothing tells which it was, where the node has asked
// for another one and never learned the outcome.
func (ls *leases) collectUnplaced(o *op) {
	ls.unplaced++
	for _, l := range ls.byNode[o.node] {
		switch {
		case l.token != 0 || l.grant.from > o.to:
		case o.call == history.Renew:
			l.maybes = append(l.maybes, o)
		default:
			l.doubts = append(l.doubts, o)
		}
	}
}

// latest is the lease without a token that a node's operation must be about:
// its latest one, unless an acquire of unknown outcome may have brought
// another.
func (ls *leases) latest(o *op) *lease {
	granted := ls.byNode[o.node]
	i := len(granted) - 1
	for i >= 0 && granted[i].grant.from > o.to {
		i--
	}
	if i < 0 || granted[i].grant.to > o.from || granted[i].token != 0 {
		return nil
	}
	for _, u := range ls.unsure[o.node] {
		if u.from <= o.to && u.to >= granted[i].grant.from {
			return nil
		}
	}
	return granted[i]
}

// earliestUnsure is the first call that may have brought a lease that no
// recorded grant explains; forever if there is none.
func (ls *leases) earliestUnsure(l *lease) time.Duration {
	first := forever
	for node, ops := range ls.unsure { // any order: the minimum is the same
		if l.holder == "" || node == "" || node == l.holder {
			first = min(first, ops[0].from)
		}
	}
	return first
}
