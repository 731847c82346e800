package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker/internal/everyorder"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/checker/internal/intervals"
	"github.com/recount-io/recount/checker/internal/search"
	"github.com/recount-io/recount/checker/internal/storeorder"
	"github.com/recount-io/recount/history"
)

// leaseLinearizable decides whether the operations on leases are what one lease
// with expiry would have answered. Three judges that know nothing of each other
// are asked; see agree.
func leaseLinearizable(x *facts) Finding { return x.lease }

// judgeLease asks the judges of leases.
func (f *facts) judgeLease(limit time.Duration) {
	if o := timeless(f.Index); o != nil {
		f.lease = finding.Undecided(timelessWhy, o.Invoked)
		f.judges = LeaseChecks{f.lease, f.lease, f.lease}
		return
	}
	j := intervals.Judge(f.Index)
	for _, h := range j.Held {
		f.held = append(f.held, Holding{h.Election.Name, h.Node, h.Token, h.From, h.To})
	}
	f.judges = LeaseChecks{Intervals: j.Finding, StoreOrder: storeorder.Judge(f.Index), Porcupine: search.Judge(f.Index, limit)}
	f.lease = agree(f.judges, dispute{
		unplaced: j.Unplaced,
		recorded: slices.ContainsFunc(f.Elections, (*index.Election).Audited),
		settle:   func(hint Finding) Finding { return everyorder.Try(f.Index, hint.Evidence) },
	})
	f.lease = f.understood(f.lease)
}

// timelessWhy says why leases of unknown duration are not judged.
const timelessWhy = "the history does not say how long a lease lasts (no ttl_ns, no lease_ns)"

// timeless is an operation that writes a lease for nobody knows how long.
func timeless(x *index.Index) *index.Op {
	for _, e := range x.Elections {
		for _, o := range e.Ops {
			if (o.Call == history.Acquire || o.Call == history.Renew) && o.TTL <= 0 {
				return o
			}
		}
	}
	return nil
}

// understood makes unknown of what rests on requests that were read off the wire
// and mostly not understood, and says of the others how many were.
func (x *facts) understood(f Finding) Finding {
	if len(x.Wire) == 0 {
		return f
	}
	known, all := x.Understood()
	lock := ""
	for _, w := range x.Wire {
		lock = cmp.Or(lock, w.Lock)
	}
	share := fmt.Sprintf("understood %s of %s requests on the lock that were read off the wire", finding.Thousands(known), finding.Thousands(all))
	switch {
	case f.Verdict == Fail:
	case known == 0 && lock != "":
		return finding.Undecided(fmt.Sprintf("of %s requests on the lock %q that were read off the wire none was understood: have the program tell its requests, "+
			"or if another key is the lock name it with --lock-key", finding.Thousands(all), lock))
	case known == 0:
		return finding.Undecided("no lock was found on the wire: name its key with --lock-key")
	case x.Obscure():
		return finding.Undecided(share)
	}
	f.Reason += "; " + share
	return f
}

// agree makes one finding of three. All that could judge must agree:
//
//   - fail, if all that could judge fail. It is reported with the
//     counterexample of the interval checker, which is the shortest, where
//     there is one.
//   - fail also if the store's own order and the search both fail but the
//     intervals pass: the interval checker is sound but not complete, so its
//     pass claims little, and of the other two one replays the very order in
//     which the store worked.
//   - fail also if the search or the intervals alone fail, and a fourth, plain
//     method that tries every order of a few operations finds none: settle.
//     These few are the evidence then.
//   - fail also if the search alone fails where the intervals left out some of
//     the operations, because nobody knows which lease those are about (without
//     tokens after an acquire of unknown outcome, and behind a fault that may
//     have taken the lease away): then their pass says nothing about these. The
//     store kept no order of its own there.
//   - pass, if the intervals pass, and the search passes, and the store's own
//     order passes or the store kept none. A search that was cut off is made up
//     for by the store's own order, which is a linearization, and by nothing
//     else.
//   - unknown otherwise. Where the store's own order alone fails, the answers are
//     innocent: its record is a claim of the store's own, which cannot be. Where
//     one passes what another one fails, and trying every order does not settle
//     it, the harness is wrong, and the reason says so loudly.
func agree(c LeaseChecks, d dispute) Finding {
	failed := func(f *Finding) bool { return f.Verdict == Fail }
	switch {
	case failed(&c.Intervals) && c.Porcupine.Verdict != Pass && c.StoreOrder.Verdict != Pass:
		return finding.Failed(c.Intervals.Reason, c.Intervals.Evidence...)
	case failed(&c.Porcupine) && failed(&c.StoreOrder):
		return finding.Failed(c.StoreOrder.Reason, c.StoreOrder.Evidence...)
	case failed(&c.Porcupine) && c.Intervals.Verdict != Pass && c.StoreOrder.Verdict != Pass:
		worst := c.Porcupine
		if failed(&c.Intervals) {
			worst = c.Intervals
		}
		return finding.Failed(worst.Reason, worst.Evidence...)
	case failed(&c.Intervals) || failed(&c.Porcupine):
		return d.settled(c)
	case failed(&c.StoreOrder):
		return finding.Undecided("the store's own record cannot be: "+c.StoreOrder.Reason, c.StoreOrder.Evidence...)
	case c.Intervals.Verdict != Pass:
		return finding.Undecided(c.Intervals.Reason)
	case c.StoreOrder.Verdict == Pass && c.Porcupine.Verdict == Pass:
		return finding.Passed("intervals, the store's own order and porcupine agree: " + c.Porcupine.Reason)
	case c.StoreOrder.Verdict == Pass:
		return finding.Passed("intervals and the store's own order agree (" + c.Porcupine.Reason + "): " + c.StoreOrder.Reason)
	case c.Porcupine.Verdict == Pass:
		return finding.Passed("intervals and porcupine agree (" + c.StoreOrder.Reason + "): " + c.Porcupine.Reason)
	default:
		return finding.Undecided(c.Porcupine.Reason + ", and " + c.StoreOrder.Reason)
	}
}

// dispute is what there is to know where the judges do not agree.
type dispute struct {
	unplaced int                   // operations that the intervals left out
	recorded bool                  // the store kept a record, which the search believes of lost replies
	settle   func(Finding) Finding // tries every order of operations around those that a finding names
}

// settled is the finding where the intervals or the search fail what another
// judge passes.
func (d *dispute) settled(c LeaseChecks) Finding {
	var failed, passed []string
	var evidence []int64
	for _, p := range []struct {
		name string
		f    Finding
	}{{"intervals", c.Intervals}, {"store order", c.StoreOrder}, {"porcupine", c.Porcupine}} {
		switch p.f.Verdict {
		case Fail:
			failed = append(failed, p.name+": "+p.f.Reason)
			evidence = append(evidence, p.f.Evidence...)
		case Pass:
			passed = append(passed, p.name)
		}
	}
	hint := c.Porcupine
	if c.Intervals.Verdict == Fail {
		hint = c.Intervals
	}
	tried := d.settle(hint)
	switch {
	case tried.Verdict == Fail:
		return tried
	case tried.Verdict == Pass && d.recorded && c.Intervals.Verdict != Fail:
		return finding.Undecided("the store's own record cannot be: the answers have an order, and with what it says of lost replies they have none ("+
			c.Porcupine.Reason+")", evidence...)
	}
	if d.unplaced > 0 && c.Porcupine.Verdict == Fail && c.StoreOrder.Verdict == Unknown {
		return finding.Failed(c.Porcupine.Reason, c.Porcupine.Evidence...)
	}
	return finding.Undecided(fmt.Sprintf("the three checkers disagree: %s; but pass: %s (%s): the harness is wrong, please report it",
		strings.Join(failed, "; "), strings.Join(passed, ", "), tried.Reason), evidence...)
}
