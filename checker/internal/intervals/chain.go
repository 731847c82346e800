package intervals

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
)

// chained finds a lease that was seen before it can have begun: tokens tell the
// order of leases, each begins when the one before it is over at the earliest, and
// lasts for a TTL from there unless it was released. So a grant late in its call
// makes the next one late, and that the one after it.
func (ls *leases) chained() *finding.Finding {
	for _, epoch := range ls.epochs() {
		if f := ls.chain(epoch); f != nil {
			return f
		}
	}
	return nil
}

func (ls *leases) chain(epoch []*lease) *finding.Finding {
	ordered := slices.DeleteFunc(slices.Clone(epoch), func(l *lease) bool { return l.token == 0 })
	slices.SortStableFunc(ordered, func(a, b *lease) int { return cmp.Compare(a.token, b.token) })
	free, before := -index.Forever, (*lease)(nil) // when the lease before is over at the earliest
	for i := 0; i < len(ordered); {
		j := i + 1
		for j < len(ordered) && ordered[j].token == ordered[i].token {
			j++
		}
		over, by := free, before
		for _, l := range ordered[i:j] {
			begin := max(l.could.From, free)
			if len(l.shows) > 0 && free > l.held.From {
				return index.Contradiction(before.shown(), l.heldBy, "the lease of %s was seen at %s, but that of %s, which came before it, lasted until %s at least",
					finding.Who(l.holder, l.token), finding.Moment(l.held.From), finding.Who(before.holder, before.token), finding.Moment(free))
			}
			end := ls.endsFirst(l, begin)
			if j == i+1 && end > over { // of two that may be one nobody knows which write was whose
				over, by = end, l
			}
		}
		free, before = over, by
		i = j
	}
	return nil
}

// shown is what shows the lease best.
func (l *lease) shown() *index.Op {
	return cmp.Or(l.grant, l.heldBy)
}

// endsFirst is when the lease is over at the earliest that began at begin or later.
func (ls *leases) endsFirst(l *lease, begin time.Duration) time.Duration {
	least := index.Forever
	for _, ops := range [][]*index.Op{l.writes, l.maybes} {
		for _, o := range ops {
			least = min(least, o.TTL)
		}
	}
	if l.grant == nil {
		for node, ops := range ls.unsure { // any order: the minimum is the same
			if l.holder == "" || node == "" || node == l.holder {
				for _, o := range ops {
					least = min(least, o.TTL)
				}
			}
		}
	}
	if least == index.Forever {
		return begin
	}
	end := expiry.First(ls.faults, begin, begin+least-ls.Of(least))
	for _, ops := range [][]*index.Op{l.ends, l.doubts} {
		for _, o := range ops {
			end = min(end, max(o.From, begin))
		}
	}
	return end
}
