package checker

import (
	"fmt"
	"time"
)

// tally is what the checkers count, so that the reason of a pass can say how
// much it rests on. Those of the pieces of a history add up.
type tally struct {
	events, faults int
	leaseOps       int // that the intervals looked at
	unplaced       int // of these: they may be about several leases
	searched       int // by the search
	replayed       int // by the store's own order
	terms          int
	inferred       int           // of these: read off the wire
	dual           time.Duration // in which more than one believed
	refusals, ends int
	named          int // terms with a token
	reports        int // of a token
	fenced, reads  int
	wait           time.Duration // from healed to a leader
	failovers      int
	bounded        int           // failovers that the bound is about
	worst          *Failover     // of these
	calm           bool          // somebody led where no fault explains anything
	led            time.Duration // from the first term to the end
}

// findings are what the checkers complain about: a promise that is broken, or
// undecided for a reason that more events do not remove.
type findings struct {
	tally                            tally
	bad                              map[Promise]*complaint
	intervals, storeOrder, porcupine complaint
	timeless                         *Finding
}

// complaint is the first failure, or else the first thing undecided.
type complaint struct{ finding *Finding }

func (c *complaint) add(f *Finding) {
	if f != nil && (c.finding == nil || c.finding.Verdict == Unknown && f.Verdict == Fail) {
		c.finding = f
	}
}

func (x *findings) add(p Promise, f *Finding) {
	if f == nil {
		return
	}
	if x.bad == nil {
		x.bad = map[Promise]*complaint{}
	}
	if x.bad[p] == nil {
		x.bad[p] = &complaint{}
	}
	if p == FailoverBound { // the worst one, and later ones are worse
		x.bad[p].finding = f
		return
	}
	x.bad[p].add(f)
}

// of makes the finding on one promise.
func (x *findings) of(p Promise, r *run) Finding {
	if c := x.bad[p]; c != nil {
		return *c.finding
	}
	switch t := &x.tally; p {
	case WellFormed:
		if t.events == 0 {
			return unknown(p, "the history has no event")
		}
		return pass(p, fmt.Sprintf("%s, all of which pair and run forward, and %s, all of which took effect",
			count(t.events, "event"), count(t.faults, "fault")))
	case LeaseLinearizable:
		return agree(x.lease(), t.unplaced)
	case AtMostOneLeader:
		if t.terms == 0 {
			return unknown(p, "nobody ever believed to lead")
		}
		if t.inferred > 0 {
			return unknown(p, fmt.Sprintf("the program does not say when it believes to lead; by what it asked of its lock (%s) no two led at one time, "+
				"but it may have believed for longer than its lease: have it print elected and deposed", count(t.inferred, "term")))
		}
		return pass(p, count(t.terms, "term")+", and no two candidates believed at one time")
	case LossHeeded:
		if t.named == 0 {
			return unknown(p, "nobody believed in a term that has a token")
		}
		return pass(p, fmt.Sprintf("%s of a renewal and %s of a term, and nobody believed after the one or wrote after the other",
			count(t.refusals, "refusal"), count(t.ends, "end")))
	case TokensIncrease:
		if t.reports == 0 {
			return unknown(p, "the history has no token: this elector gives none, or nobody was elected")
		}
		return pass(p, fmt.Sprintf("in %s of a token to a term each term has its own, and later ones have larger ones", count(t.reports, "report")))
	case FencedWrites:
		if t.fenced == 0 {
			return unknown(p, "the history has no write with a token to a protected resource")
		}
		return pass(p, fmt.Sprintf("the resource judged %s rightly, and %s saw the last accepted one", count(t.fenced, "fenced write"), count(t.reads, "read")))
	default:
		return x.ofProgress(p, r)
	}
}

// ofProgress makes the finding on a promise about who leads, and how soon.
func (x *findings) ofProgress(p Promise, r *run) Finding {
	switch t := &x.tally; p {
	case LeaderReturns:
		switch {
		case r.healed == nil:
			return unknown(p, "the history was never declared healed, so no leader is owed")
		case len(r.elections) == 0:
			return unknown(p, "the history has no election")
		}
		return pass(p, fmt.Sprintf("somebody led within %s of healing (bound %s) and somebody did to the end",
			span(t.wait), span(r.returnBound())))
	case FailoverBound:
		switch {
		case t.failovers == 0:
			return unknown(p, "no failover happened")
		case t.bounded == 0:
			return unknown(p, "the machine stalled during every failover; run it again on a calmer one")
		}
		return pass(p, fmt.Sprintf("%s took at most %s longer than needed (bound %s)",
			count(t.bounded, "failover"), span(t.worst.Excess), span(r.failoverBound())))
	default:
		switch {
		case t.terms == 0:
			return unknown(p, "nobody was ever elected")
		case !t.calm:
			return unknown(p, "faults influenced the whole time in which somebody led")
		}
		return pass(p, count(t.terms, "term")+", and none ended or began without a fault but the first")
	}
}

// lease makes the findings of the three checkers of LeaseLinearizable.
func (x *findings) lease() LeaseChecks {
	if x.timeless != nil {
		return LeaseChecks{Intervals: *x.timeless, StoreOrder: *x.timeless, Porcupine: *x.timeless}
	}
	or := func(c complaint, n int, none, all string) Finding {
		switch {
		case c.finding != nil:
			return *c.finding
		case n == 0:
			return unknown(LeaseLinearizable, none)
		default:
			return pass(LeaseLinearizable, fmt.Sprintf(all, n))
		}
	}
	t := &x.tally
	return LeaseChecks{
		Intervals: or(x.intervals, t.leaseOps, "the history has no operation on a lease", "no two of %d operations contradict each other"),
		StoreOrder: or(x.storeOrder, t.replayed, "the store kept no record of its own (no audit event that changed a lease)",
			"replaying the store's own record of %d changes explains every answer"),
		Porcupine: or(x.porcupine, t.searched, "the history has no operation of known outcome on a lease", "porcupine found an order for all of %d operations"),
	}
}
