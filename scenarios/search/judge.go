package search

import (
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/bubble/calls"
	"github.com/recount-io/recount/sim/bubble/guards"
	"github.com/recount-io/recount/sim/bubble/topologies"
	"github.com/recount-io/recount/sim/space"
)

// What a case of calls is held to by the names that it gives to a broken LeaderReturns.
const (
	idleLeader    = "idle leader"
	nobodyEverLed = "nobody ever led"
)

// broken returns the promises that a history breaks. LeaderReturns is broken, too, if
// nobody can say that somebody led.
func broken(r *checker.Result) (all []space.Finding) {
	for _, f := range r.Asked {
		if f.Verdict == checker.Fail || f.Verdict == checker.Unknown && f.Promise == checker.LeaderReturns {
			all = append(all, space.Finding{Obligation: string(f.Promise), Details: f.Reason})
		}
	}
	return all
}

func judgeCalls(_ calls.Case, r *checker.Result) []space.Finding {
	all := broken(r)
	for i, f := range all {
		switch {
		case f.Obligation != string(checker.LeaderReturns):
		case strings.Contains(f.Details, "has no election"):
			all[i].Obligation = nobodyEverLed
		case strings.Contains(f.Details, "believed"):
			all[i].Obligation = idleLeader
		}
	}
	return all
}

func judgeTopologies(_ topologies.Case, r *checker.Result) []space.Finding { return broken(r) }

func judgeGuards(c guards.Case, r *checker.Result) (all []space.Finding) {
	if c.Forgets() {
		return nil // what is admitted then is the operator's fault
	}
	for _, f := range r.Asked {
		if f.Verdict != checker.Pass {
			all = append(all, space.Finding{Obligation: string(f.Promise), Details: f.Reason})
		}
	}
	return all
}
