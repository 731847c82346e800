package crowd_test

import (
	"cmp"
	"fmt"
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
	"github.com/recount-io/recount/sim/bubble/crowd"
)

// wrong is something that must not be: in short, and in words.
type wrong struct{ short, words string }

// carryOut carries out a case and returns what is wrong.
func carryOut(t *testing.T, c crowd.Case) (all []wrong) {
	t.Helper()
	runtime.GC() // see bubble.World
	runtime.GC()
	var h *history.History
	var found []string
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, c.Seed)
		h, found = c.Run(t.Context())
	})
	for _, f := range checker.Check(h, checker.Options{}).Asked {
		switch {
		case f.Verdict == checker.Fail && f.Promise == checker.LeaderReturns && strings.Contains(f.Reason, "believed"):
			all = append(all, wrong{"idle leader", f.Reason})
		case f.Promise == checker.LeaderReturns && strings.Contains(f.Reason, "has no election"):
			all = append(all, wrong{"nobody ever led", f.Reason})
		case f.Verdict == checker.Fail, f.Promise == checker.LeaderReturns && f.Verdict == checker.Unknown:
			all = append(all, wrong{string(f.Promise), f.Reason})
		}
	}
	for _, f := range found {
		name, _, _ := strings.Cut(f, ":")
		all = append(all, wrong{name, f})
	}
	return all
}

// reduce simplifies a case as long as the same is wrong.
func reduce(t *testing.T, c crowd.Case, what string) crowd.Case {
	t.Helper()
	for {
		simpler := false
		for _, one := range c.Simpler() {
			if slices.ContainsFunc(carryOut(t, one), func(w wrong) bool { return w.short == what }) {
				c, simpler = one, true
				break
			}
		}
		if !simpler {
			return c
		}
	}
}

// drawn is how many cases a test draws, and from which seed on: RECOUNT_CASES,
// such as "300" or "300+1000", or a few. With RECOUNT_REDUCE each case in which
// something is wrong is simplified.
func drawn() (first, n uint64) {
	count, from, _ := strings.Cut(os.Getenv("RECOUNT_CASES"), "+")
	first, _ = strconv.ParseUint(from, 10, 64) // 0 if it is none
	if n, err := strconv.ParseUint(count, 10, 64); err == nil {
		return first, n
	}
	if raced.Enabled {
		return 0, 3
	}
	return 0, 12
}

// In cases that are drawn nothing is wrong but what is known. A failure names the
// seed of its case.
func TestDrawn(t *testing.T) {
	first, n := drawn()
	for seed := first; seed < first+n; seed++ {
		c := crowd.Draw(seed)
		for _, w := range carryOut(t, c) {
			one := c
			if os.Getenv("RECOUNT_REDUCE") != "" {
				one = reduce(t, c, w.short)
			}
			say := t.Errorf
			if known(c, w.short) {
				say = t.Logf
			}
			say("case %d: %s: %s\n   %s", seed, w.short, w.words, text(one))
		}
	}
}

func text(c crowd.Case) string {
	return strings.ReplaceAll(fmt.Sprintf("%+v", c), "{Works:at once Stops:at once Resigns:false}", "{}")
}

// known tells whether something that is wrong in a case has a cause that is known
// and not mended yet.
func known(c crowd.Case, what string) bool {
	has := func(kind crowd.Kind) bool {
		return slices.ContainsFunc(c.Acts, func(a crowd.Act) bool { return a.Kind == kind })
	}
	hangs := slices.ContainsFunc(c.Processes, func(m crowd.Manners) bool { return m.Works == crowd.Never || m.Stops == crowd.Never })
	switch what {
	case "nobody ever led": // requests wait for connections, and are given up
		return crowded(c)
	case "AtMostOneLeader", "TokensIncrease": // a primary that comes back takes itself for the last one to grant
		return has(crowd.Failback)
	case "LeaderReturns": // a follower waits for as long as the server says
		return has(crowd.Expire) || crowded(c)
	case "idle leader": // a term begins before the callbacks of the one before have returned
		return hangs || crowded(c)
	case "slow hand-over": // the name was also that of a process that died; hints know no databases
		return has(crowd.Kill) || c.Databases > 1 || crowded(c)
	case "slow failover": // hints know no databases
		return c.Databases > 1 || crowded(c)
	default:
		return false
	}
}

// crowded tells whether the renewals of a process alone keep a fifth of its
// connections busy.
func crowded(c crowd.Case) bool {
	pool := cmp.Or(c.Pool, 4)
	return float64(c.Elections)*c.RoundTrip.Seconds() > float64(pool)*c.Lease.Seconds()/3/5
}

// What is known and not mended is found by drawing: these are the first cases in
// which it was. One that finds nothing any more belongs off this list, and its cause
// out of known.
func TestKnown(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed, what := range map[uint64]string{
		7:   "slow hand-over",  // two databases
		17:  "idle leader",     // OnStopped hangs
		36:  "nobody ever led", // 47 elections, 138 ms away
		37:  "LeaderReturns",   // a time to live of an hour and a half
		76:  "slow hand-over",  // a name whose process was restarted
		129: "AtMostOneLeader", // a primary that comes back
	} {
		found := carryOut(t, crowd.Draw(seed))
		if !slices.ContainsFunc(found, func(w wrong) bool { return w.short == what }) {
			t.Errorf("case %d: %v was found, want %s", seed, found, what)
		}
	}
}
