package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// DefaultPorcupineCap is how long the black-box search of LeaseLinearizable
// may take in total unless Options says otherwise.
const DefaultPorcupineCap = 20 * time.Second

// Options are the few things about a check that are not in the history.
type Options struct {
	// PorcupineCap bounds the black-box search; zero means
	// DefaultPorcupineCap. It is the only influence on a Result that is not
	// the history itself: a search that was cut off reads as unknown.
	PorcupineCap time.Duration

	_ struct{}
}

// Check decides every promise from the history alone. It is a pure function:
// the same history gives the same Result (Options.PorcupineCap apart), and
// the history is not changed.
//
// The promises that Header.Promises names (all of them if it names none) are
// in Result.Asked and decide Result.Verdict. A promise that Header.Waived
// excuses is never asked: it is judged all the same and stands in
// Result.Measured together with why it was waived. If the history is not
// well-formed no other promise is judged, and all of them are unknown.
func Check(h *history.History, o Options) *Result {
	run := indexed(h)
	v := &Result{End: run.end, Ops: run.counted}
	x := &findings{}
	x.add(WellFormed, checkWellFormed(run, &x.tally))
	v.Faults = countFaults(run, nil)
	if x.judgeable() {
		judge(run, o, v, x)
	}
	v.Asked, v.Measured, v.Lease = x.sorted(run)
	v.Verdict = overall(v.Asked)
	run.recycle()
	return v
}

// judgeable tells whether the history can be judged beyond its form.
func (x *findings) judgeable() bool { return x.unjudgeable() == "" }

// unjudgeable says why a history cannot be judged beyond its form, or "".
func (x *findings) unjudgeable() string {
	f := x.of(WellFormed, nil)
	switch {
	case x.tally.events == 0:
		return "the history has no event"
	case f.Verdict == Fail:
		return "the history is not well-formed (" + f.Reason + "), so nothing else can be judged from it"
	default:
		return ""
	}
}

// judge runs every checker but WellFormed over a history, or a piece of one. It
// fills in what a piece has of its own: the lists, and the counts that add up.
func judge(run *run, o Options, v *Result, x *findings) {
	limit := o.PorcupineCap
	if limit == 0 {
		limit = DefaultPorcupineCap
	}
	run.intervals = findLeases(run)
	v.Holdings = holdings(run.intervals)
	checkLease(run, run.intervals, limit, x)

	v.Terms = terms(run)
	v.Writes = countWrites(run, v.Holdings)
	v.Failovers = failovers(run)
	t := &x.tally
	x.add(AtMostOneLeader, checkAtMostOneLeader(run, t))
	x.add(LossHeeded, checkLossHeeded(run, t))
	x.add(TokensIncrease, checkTokensIncrease(run, t))
	x.add(FencedWrites, checkFencedWrites(run, t))
	x.add(LeaderReturns, checkLeaderReturns(run, t))
	x.add(FailoverBound, checkFailoverBound(run, v.Failovers, t))
	x.add(Stable, checkStable(run, t))
	v.DualBelief = t.dual
	leaderless, whole := availability(run)
	t.led += whole
	v.Leaderless = leaderless
	v.Availability = share(leaderless, whole)
}

// sorted makes the findings on all promises, those that the header asks for
// and the others, and those of the three lease checkers.
func (x *findings) sorted(r *run) (asked, measured []Finding, lease LeaseChecks) {
	found := map[Promise]Finding{WellFormed: x.of(WellFormed, r)}
	why := x.unjudgeable()
	for _, p := range Promises[1:] {
		if why != "" {
			found[p] = unknown(p, why)
		} else {
			found[p] = x.of(p, r)
		}
	}
	if why != "" {
		f := unknown(LeaseLinearizable, why)
		lease = LeaseChecks{Intervals: f, StoreOrder: f, Porcupine: f}
	} else {
		lease = x.lease()
	}
	asked, measured = sortFindings(&r.header, found)
	return asked, measured, lease
}

// sortFindings distributes the findings over Asked and Measured.
func sortFindings(header *history.Header, found map[Promise]Finding) (asked, measured []Finding) {
	for _, p := range Promises {
		f := found[p]
		why, waived := header.Waived[string(p)]
		switch {
		case waived:
			f.Reason = "waived: " + why + " (measured all the same: " + f.Reason + ")"
			measured = append(measured, f)
		case len(header.Promises) == 0 || slices.Contains(header.Promises, string(p)):
			asked = append(asked, f)
		default:
			measured = append(measured, f)
		}
	}
	for _, name := range header.Promises {
		if !slices.Contains(Promises, Promise(name)) {
			asked = append(asked, unknown(Promise(name),
				"there is no promise of this name; the promises are "+promiseNames()))
		}
	}
	return asked, measured
}

func promiseNames() string {
	names := make([]string, len(Promises))
	for i, p := range Promises {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

func overall(asked []Finding) Verdict {
	verdict := Pass
	if len(asked) == 0 {
		return Unknown
	}
	for _, f := range asked {
		switch f.Verdict {
		case Fail:
			return Fail
		case Unknown:
			verdict = Unknown
		}
	}
	return verdict
}
