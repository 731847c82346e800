package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// checkLease runs the three checkers of LeaseLinearizable. None of them knows
// of the others.
func checkLease(r *run, intervals []*leases, limit time.Duration, found *findings) {
	if o := r.timeless(); o != nil {
		f := unknown(LeaseLinearizable, "the history does not say how long a lease lasts (no ttl_ns, no lease_ns)", o.invoked)
		found.timeless = &f
		return
	}
	found.intervals.add(checkIntervals(r, intervals, &found.tally))
	found.storeOrder.add(checkStoreOrder(r, &found.tally))
	found.porcupine.add(checkPorcupine(r, limit, &found.tally))
}

// timeless is an operation that writes a lease for nobody knows how long.
func (r *run) timeless() *op {
	for _, e := range r.elections {
		for _, o := range e.ops {
			if (o.call == history.Acquire || o.call == history.Renew) && o.ttl <= 0 {
				return o
			}
		}
	}
	return nil
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
//   - fail also if the search alone fails where the intervals left out some of
//     the operations, because nobody knows which lease those are about (without
//     tokens after an acquire of unknown outcome, and behind a fault that may
//     have taken the lease away): then their pass says nothing about these. The
//     store kept no order of its own there.
//   - pass, if the intervals pass, and the search passes, and the store's own
//     order passes or the store kept none. A search that was cut off is made up
//     for by the store's own order, which is a linearization, and by nothing
//     else.
//   - unknown otherwise. Where one passes what another one fails, the harness
//     is wrong, and the reason says so loudly: one of the checkers has a fault
//     of its own, or the history tells a story that cannot be. Two splits have
//     an innocent explanation and are unknown all the same, because a false
//     claim either way is worse. The store's own order may fail alone: the
//     answers fit some order, but not the one that the store recorded. The
//     search may fail alone: the intervals are not complete, and the replay
//     places each operation that the store does not record on its own.
func agree(c LeaseChecks, unplaced int) Finding {
	parts := []struct {
		name string
		f    Finding
	}{{"intervals", c.Intervals}, {"store order", c.StoreOrder}, {"porcupine", c.Porcupine}}
	var failed, passed []string
	var worst Finding
	var evidence []int64
	for _, p := range parts {
		switch p.f.Verdict {
		case Fail:
			if failed == nil {
				worst = p.f
			}
			failed = append(failed, p.name+": "+p.f.Reason)
			evidence = append(evidence, p.f.Evidence...)
		case Pass:
			passed = append(passed, p.name)
		}
	}
	proven := c.StoreOrder.Verdict == Fail && c.Porcupine.Verdict == Fail ||
		unplaced > 0 && c.Porcupine.Verdict == Fail && c.StoreOrder.Verdict == Unknown
	switch {
	case len(failed) > 0 && (len(passed) == 0 || proven):
		return fail(LeaseLinearizable, worst.Reason, worst.Evidence...)
	case len(failed) > 0:
		culprit := "the harness is wrong"
		if len(failed) == 1 && c.StoreOrder.Verdict == Fail {
			culprit = "either the store's own record is wrong or the harness is"
		}
		return unknown(LeaseLinearizable, fmt.Sprintf("the three checkers disagree: %s; but pass: %s: %s, please report it",
			strings.Join(failed, "; "), strings.Join(passed, ", "), culprit), evidence...)
	case c.Intervals.Verdict != Pass:
		return unknown(LeaseLinearizable, c.Intervals.Reason)
	case c.StoreOrder.Verdict == Pass && c.Porcupine.Verdict == Pass:
		return pass(LeaseLinearizable, "intervals, the store's own order and porcupine agree: "+c.Porcupine.Reason)
	case c.StoreOrder.Verdict == Pass:
		return pass(LeaseLinearizable, "intervals and the store's own order agree ("+c.Porcupine.Reason+"): "+c.StoreOrder.Reason)
	case c.Porcupine.Verdict == Pass:
		return pass(LeaseLinearizable, "intervals and porcupine agree ("+c.StoreOrder.Reason+"): "+c.Porcupine.Reason)
	default:
		return unknown(LeaseLinearizable, c.Porcupine.Reason+", and "+c.StoreOrder.Reason)
	}
}

// describeInput writes a step for people.
func describeInput(in *leaseInput) string {
	switch {
	case in.end != nil:
		return "end"
	case in.fault != nil:
		return "fault " + in.fault.name
	}
	o := in.op
	text := fmt.Sprintf("%s by %s", o.call, who(o.node, o.token))
	switch {
	case in.class > 0:
		return text + " sent, outcome unknown"
	case in.took:
		if o.completed == 0 || o.kind != "ok" {
			text += " (its caller never knew)"
		}
		return fmt.Sprintf("%s -> ok, token %d, at %s to %s", text, max(in.token, o.token), moment(in.from), moment(in.to))
	default:
		return fmt.Sprintf("%s -> %s, at %s to %s", text, answer(o), moment(in.from), moment(in.to))
	}
}

func describeStates(states []leaseState) string {
	var texts []string
	for _, s := range states {
		if !s.live {
			texts = append(texts, fmt.Sprintf("free, tokens above %d", s.last))
			continue
		}
		texts = append(texts, fmt.Sprintf("%s, written %s to %s for %s", who(s.holder, s.token), moment(s.a), moment(s.b), span(s.ttl)))
	}
	slices.Sort(texts)
	return strings.Join(texts, " or ")
}
