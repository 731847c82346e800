package crowd_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim/bubble/crowd"
)

// cause is a fault of the elector that is known and not mended yet: in which cases
// something is wrong because of it.
type cause struct {
	name string
	is   func(c crowd.Case, w wrong) bool
}

// causes are those. The first that fits is taken.
var causes = []cause{
	{"a callback that hangs: its candidate is elected again, and does no work", func(c crowd.Case, w wrong) bool {
		return w.short == "idle leader" && slices.ContainsFunc(c.Processes, func(m crowd.Manners) bool {
			return m.Call <= crowd.Once && (m.Works == crowd.Never || m.Stops == crowd.Never)
		})
	}},
	{"a log that hangs when a callback panics: the candidate is elected again, and does no work", func(c crowd.Case, w wrong) bool {
		return w.short == "idle leader" && slices.ContainsFunc(c.Processes, func(m crowd.Manners) bool {
			return m.Call <= crowd.Once && m.Logs == crowd.Never && m.Stops == crowd.Panics
		})
	}},
	{"many elections on few connections, far away: nobody ever leads", func(c crowd.Case, w wrong) bool {
		return slices.Contains([]string{"nobody ever led", "LeaderReturns", "idle leader"}, w.short) && c.Crowded()
	}},
	{"hand-over to a name whose process was restarted: the dead one is given the lease", func(_ crowd.Case, w wrong) bool { return w.short == "dead heir" }},
	{"a leader that was alone for four leases is not listed until it renews: the list ends by itself", func(_ crowd.Case, w wrong) bool {
		return w.short == "candidates listed" && strings.Contains(w.words, ": 0 are listed")
	}},
	{"who has lost its announcements does not notice while it is refused just after renewals, as it mostly is", func(_ crowd.Case, w wrong) bool {
		return w.short == "listens anew" && strings.Contains(w.words, "just before")
	}},
	{"a candidate with a fast clock takes its own lease of the life before for another one's that lives", func(c crowd.Case, w wrong) bool {
		return w.short == "false alarm" && strings.Contains(w.words, "same ID") && slices.ContainsFunc(c.Processes, func(m crowd.Manners) bool { return m.Skew > 0 })
	}},
}

// known is the cause of something that is wrong, "" if it is none that is known.
func known(c crowd.Case, w wrong) string {
	for _, k := range causes {
		if k.is(c, w) {
			return k.name
		}
	}
	return ""
}

// What is known and not mended is found by drawing: these are cases in which it was,
// in the order of the causes. One that finds nothing any more belongs off this list,
// and its cause out of causes.
func TestKnown(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i, number := range []uint64{
		8993341160569976, 6406237688386271, 7536482956441186, 1486313470673663,
		56977875265017, 2491559503749130, 2419551988186871,
	} {
		c := crowd.Draw(number)
		_, all := carryOut(t, c)
		if !slices.ContainsFunc(all, func(w wrong) bool { return known(c, w) == causes[i].name }) {
			t.Errorf("case %d: %v was found, want that of %q", number, all, causes[i].name)
		}
	}
}
