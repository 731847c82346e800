package trial

import (
	"fmt"
	"strings"

	"github.com/recount-io/recount/checker"
)

// Agreement is whether the two worlds say the same of a subject in a scenario.
type Agreement string

// The agreements.
const (
	// Agree: every promise that is broken in one world is broken in the other one
	// too, however often.
	Agree Agreement = "agree"
	// Differ: a promise is broken in one world, and never in the other one, where
	// it was decided.
	Differ Agreement = "differ"
	// Undecided: the worlds do not differ, but one of them has undecided runs, or
	// could not see what the other one saw.
	Undecided Agreement = "undecided"
	// Single: there is only one world to look at.
	Single Agreement = "one world"
)

// Difference is a promise that is broken in one world only.
type Difference struct {
	Subject, Scenario string
	Promise           checker.Promise
	Live, Virtual     int // runs in which it was broken
	OfLive, OfVirtual int // of so many
	Reason            string
	// Chance is how probable it is that chance alone puts all broken runs into one
	// of the worlds: that of a difference at least as large, if a run breaks the
	// promise as often in either (R. A. Fisher's exact test).
	Chance float64
}

// Compare compares a live cell with the virtual one of the same subject and
// scenario.
//
// A promise that is broken 1 of 3 times live and 7 of 20 times virtually is no
// difference: how often is a matter of the moment in which faults hit. One that
// is broken 7 of 20 times virtually and 0 of 3 times live is one, although it
// may be chance: Difference.Chance says how probable that is. Where the other
// world never came to a verdict on the promise, nothing contradicts; nor where
// two led for no longer than its clocks may be wrong.
func Compare(live, virtual *Cell) (Agreement, []Difference) {
	if len(live.Runs) == 0 || len(virtual.Runs) == 0 {
		return Single, nil
	}
	var all []Difference
	count := func(c *Cell) map[checker.Promise]Broken {
		broken := map[checker.Promise]Broken{}
		for _, b := range c.Broken() {
			broken[b.Promise] = b
		}
		return broken
	}
	inLive, inVirtual := count(live), count(virtual)
	unseen := false // what happened in one world is too short to be seen in the other
	for _, p := range checker.Promises {
		l, v := inLive[p], inVirtual[p]
		in, other := virtual, live
		if v.Runs == 0 {
			in, other = live, virtual
		}
		if (l.Runs == 0) == (v.Runs == 0) || !other.decides(p) {
			continue
		}
		if p == checker.AtMostOneLeader && in.TwoLed() <= other.error() {
			unseen = true
			continue
		}
		all = append(all, Difference{
			Subject: live.Subject, Scenario: live.Scenario, Promise: p, Live: l.Runs, Virtual: v.Runs,
			OfLive: len(live.Runs), OfVirtual: len(virtual.Runs), Reason: l.Reason + v.Reason,
			Chance: byChance(l.Runs+v.Runs, len(in.Runs), len(other.Runs)),
		})
	}
	switch {
	case len(all) > 0:
		return Differ, all
	case unseen || live.Undecided() != "" || virtual.Undecided() != "":
		return Undecided, nil
	default:
		return Agree, nil
	}
}

// byChance is the probability that so many broken runs, put among those of two
// worlds by lot, all fall into the one with in runs, and none into the one with
// out; that they all fall into the other one is added if it is no more probable.
func byChance(broken, in, out int) float64 {
	all := func(in, out int) float64 { // every broken run is one of in
		p := 1.0
		for i := range broken {
			p *= float64(max(in-i, 0)) / float64(in+out-i)
		}
		return p
	}
	seen, reverse := all(in, out), all(out, in)
	if reverse > seen {
		return seen
	}
	return seen + reverse
}

// String says what differs in one sentence.
func (d Difference) String() string {
	return fmt.Sprintf("%s in %s: %s is broken in %d of %d live runs and in %d of %d virtual ones (by chance: %s): %s",
		d.Subject, d.Scenario, d.Promise, d.Live, d.OfLive, d.Virtual, d.OfVirtual, percent(d.Chance), strings.TrimRight(d.Reason, "."))
}

func percent(p float64) string {
	if p < 0.001 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*p)
}
