package walk_test

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/walk"
)

// carryOut carries out a case in a bubble and returns what is wrong.
func carryOut(t *testing.T, c walk.Case) []checker.Finding {
	t.Helper()
	runtime.GC() // see bubble.World
	runtime.GC()
	var h *history.History
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, c.Seed)
		var err error
		if h, err = (&bubble.World{}).Run(t.Context(), c.Plan(), ""); err != nil {
			t.Errorf("case %d: %v", c.Seed, err)
		}
	})
	return wrong(h)
}

// wrong is what is wrong in a history: what was broken, and that nobody came to lead.
func wrong(h *history.History) []checker.Finding {
	return slices.DeleteFunc(checker.Check(h, checker.Options{}).Asked, func(f checker.Finding) bool {
		return f.Verdict == checker.Pass || f.Verdict == checker.Unknown && f.Promise != checker.LeaderReturns
	})
}

// reduce simplifies a case as long as the same promise is broken.
func reduce(t *testing.T, c walk.Case, what checker.Promise) walk.Case {
	t.Helper()
	for {
		all := c.Simpler()
		i := slices.IndexFunc(all, func(one walk.Case) bool {
			return slices.ContainsFunc(carryOut(t, one), func(f checker.Finding) bool { return f.Promise == what })
		})
		if i < 0 {
			return c
		}
		c = all[i]
	}
}

// drawn is how many cases a test draws, and from which seed on: "300", "300+1000",
// or so many.
func drawn(variable string, n uint64) (first, end uint64) {
	count, from, _ := strings.Cut(os.Getenv(variable), "+")
	first, _ = strconv.ParseUint(from, 10, 64) // 0 if it is none
	if asked, err := strconv.ParseUint(count, 10, 64); err == nil {
		n = asked
	}
	return first, first + n
}

// In walks that are drawn nothing is wrong but what is known. A failure names the
// seed of its case, and with RECOUNT_REDUCE the case is simplified.
func TestDrawn(t *testing.T) {
	most := uint64(30)
	if raced.Enabled {
		most = 3
	}
	for seed, end := drawn("RECOUNT_CASES", most); seed < end; seed++ {
		c := walk.Draw(seed)
		for _, f := range carryOut(t, c) {
			one := c
			if os.Getenv("RECOUNT_REDUCE") != "" {
				one = reduce(t, c, f.Promise)
			}
			say := t.Errorf
			if known(c, f) {
				say = t.Logf
			}
			say("case %d: %s: %s: %s\n%v", seed, f.Promise, f.Verdict, f.Reason, one)
		}
	}
}

// known tells whether something that is wrong in a case has a cause that is known
// and not mended yet.
func known(c walk.Case, f checker.Finding) bool {
	switch f.Promise {
	case checker.AtMostOneLeader, checker.TokensIncrease: // a primary that comes back takes itself for the last one to grant
		return c.FailsBack()
	case checker.LeaderReturns: // a connection to one of several servers takes longer than is waited for its answer
		return c.Topology == sim.Quorum && 6*c.Latency > c.Lease/24
	default:
		return false
	}
}
