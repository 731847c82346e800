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
	if o.PorcupineCap == 0 {
		o.PorcupineCap = DefaultPorcupineCap
	}
	r := &Result{}
	run := newRun(h)
	r.End = run.end
	r.Ops = countOps(h)
	wellFormed := checkWellFormed(run)
	r.Faults = countFaults(run)

	found := map[Promise]Finding{WellFormed: wellFormed}
	if why := unjudgeable(h, wellFormed); why != "" {
		for _, p := range Promises[1:] {
			found[p] = unknown(p, why)
		}
		r.Lease = LeaseChecks{
			Intervals:  unknown(LeaseLinearizable, why),
			StoreOrder: unknown(LeaseLinearizable, why),
			Porcupine:  unknown(LeaseLinearizable, why),
		}
	} else {
		judge(run, o, r, found)
	}
	sortFindings(&h.Header, found, r)
	r.Verdict = overall(r.Asked)
	return r
}

// unjudgeable says why a history cannot be judged beyond its form, or "".
func unjudgeable(h *history.History, wellFormed Finding) string {
	switch {
	case len(h.Events) == 0:
		return "the history has no event"
	case wellFormed.Verdict == Fail:
		return "the history is not well-formed (" + wellFormed.Reason + "), so nothing else can be judged from it"
	default:
		return ""
	}
}

// judge runs every checker but WellFormed.
func judge(run *run, o Options, r *Result, found map[Promise]Finding) {
	run.index()
	intervals := findLeases(run)
	r.Holdings = holdings(intervals)
	r.Lease = checkLease(run, intervals, o.PorcupineCap)
	found[LeaseLinearizable] = agree(r.Lease)

	r.Terms = terms(run)
	r.Writes = countWrites(run, r.Holdings)
	r.Failovers = failovers(run)
	found[AtMostOneLeader], r.DualBelief = checkAtMostOneLeader(run)
	found[LossHeeded] = checkLossHeeded(run)
	found[TokensIncrease] = checkTokensIncrease(run)
	found[FencedWrites] = checkFencedWrites(run)
	found[LeaderReturns] = checkLeaderReturns(run)
	found[FailoverBound] = checkFailoverBound(run, r.Failovers)
	found[Stable] = checkStable(run)
	r.Leaderless, r.Availability = availability(run)
}

// sortFindings distributes the findings over Asked and Measured.
func sortFindings(header *history.Header, found map[Promise]Finding, r *Result) {
	asked := func(p Promise) bool {
		if _, waived := header.Waived[string(p)]; waived {
			return false
		}
		return len(header.Promises) == 0 || slices.Contains(header.Promises, string(p))
	}
	for _, p := range Promises {
		f := found[p]
		if asked(p) {
			r.Asked = append(r.Asked, f)
			continue
		}
		if why, waived := header.Waived[string(p)]; waived {
			f.Reason = "waived: " + why + " (measured all the same: " + f.Reason + ")"
		}
		r.Measured = append(r.Measured, f)
	}
	for _, name := range header.Promises {
		if !slices.Contains(Promises, Promise(name)) {
			r.Asked = append(r.Asked, unknown(Promise(name),
				"there is no promise of this name; the promises are "+promiseNames()))
		}
	}
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

func countOps(h *history.History) OpCounts {
	var n OpCounts
	for i := range h.Events {
		switch h.Events[i].Kind {
		case history.Ok:
			n.Ok++
		case history.Fail:
			n.Fail++
		case history.Info:
			n.Info++
		}
	}
	return n
}
