package jobs_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/jobs"
)

// carryOut carries out a case and returns what came of it. A case that comes to no end
// has found something, too.
func carryOut(t *testing.T, c jobs.Case) (o jobs.Outcome) {
	t.Helper()
	if stuck := inBubble(t, c, &o); stuck != nil {
		o.Found = append(o.Found, jobs.Found{Obligation: "comes to rest", Words: fmt.Sprint(stuck)})
	}
	return o
}

// inBubble carries a case out, and returns with what its bubble has ended if it has come
// to no end.
func inBubble(t *testing.T, c jobs.Case, o *jobs.Outcome) (stuck any) {
	t.Helper()
	defer func() { stuck = recover() }()
	bubbletest.Run(t, c.Number, func(t *testing.T) { *o = c.Run(t.Context()) })
	return nil
}

// reduce simplifies a case as long as the same is wrong.
func reduce(t *testing.T, c jobs.Case, what string) jobs.Case {
	t.Helper()
	for {
		simpler := c.Simpler()
		i := slices.IndexFunc(simpler, func(one jobs.Case) bool {
			return slices.ContainsFunc(carryOut(t, one).Found, func(f jobs.Found) bool { return f.Obligation == what })
		})
		if i < 0 {
			return c
		}
		c = simpler[i]
	}
}

// says is what the documents say where an obligation is broken.
func says(obligation string) string {
	for _, o := range jobs.Obligations {
		if o.Name == obligation {
			return "\n   But: " + o.Says
		}
	}
	return ""
}

// common are what comes about in many cases: without them a run has shown nothing.
var common = []string{"began", "given back", "held", "withheld", "gave up", "too long", "cancelled", "lost", "kill"}

// In cases that are drawn the lock keeps what its documents promise. A failure names the
// number of its case. RECOUNT_REDUCE simplifies the case, RECOUNT_SHOW tells what happens.
func TestDrawn(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_CASES", 150, 12)
	seen := map[string]int{}
	for number := first; number < first+n; number++ {
		c := jobs.Draw(number)
		o := carryOut(t, c)
		for what := range o.Seen {
			seen[what]++
		}
		if os.Getenv("RECOUNT_SHOW") != "" {
			t.Logf("case %d: %+v\n%s", number, c, strings.Join(o.Told, "\n"))
		}
		for _, f := range o.Found {
			one := c
			if os.Getenv("RECOUNT_REDUCE") != "" {
				one = reduce(t, c, f.Obligation)
			}
			t.Errorf("case %d: %s: %s%s\n   %+v", number, f.Obligation, f.Words, says(f.Obligation), one)
		}
	}
	t.Logf("in how many cases something came about: %v", seen)
	for _, what := range common {
		if n >= 150 && seen[what] == 0 {
			t.Errorf("in none of %d cases was there one that %s", n, what)
		}
	}
}

// Every call, manner, ending and act is drawn.
func TestEverythingIsDrawn(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	seen := map[string]bool{}
	for number := range uint64(1000) {
		c := jobs.Draw(number)
		seen["expires"] = seen["expires"] || c.Expire > 2*max(c.Lease, c.AtLeast)
		seen["expires too soon"] = seen["expires too soon"] || c.Expire > 0 && c.Expire < max(c.Lease, c.AtLeast)
		for _, h := range c.Hosts {
			seen[h.Call.String()] = true
		}
		for _, w := range c.Works {
			seen["heeds "+w.Heeds.String()], seen[w.Ends.String()] = true, true
			seen["for ever"] = seen["for ever"] || w.Takes == jobs.Forever
		}
		for _, a := range c.Acts {
			seen[a.Kind.String()] = true
		}
	}
	for k := range jobs.Kinds {
		if !seen[k.String()] {
			t.Errorf("%v is never drawn", k)
		}
	}
	for _, what := range []string{"run", "once", "standby", "heeds at once", "heeds slowly", "heeds never", "well", "fails", "yields", "panics", "resigns", "for ever", "expires", "expires too soon"} {
		if !seen[what] {
			t.Errorf("%s is never drawn", what)
		}
	}
}

// One number repeats a case, nearly always to the word, on one core. Calls that a kill ends
// at one moment return in any order.
func TestRepeats(t *testing.T) {
	if raced.Enabled {
		t.Skip("the race detector schedules anew")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const cases = 12
	same := 0
	for number := range uint64(cases) {
		c := jobs.Draw(1000 + number)
		if slices.Equal(carryOut(t, c).Told, carryOut(t, c).Told) {
			same++
		}
	}
	t.Logf("%d of %d cases were the same twice", same, cases)
	if same < cases*3/4 {
		t.Errorf("only %d of %d cases were the same twice", same, cases)
	}
}

// mended are cases in which a fault was found that is mended.
var mended = map[string]uint64{
	"a lock that was passed on to a bid: it was not kept for the least time":                       28,
	"renewals that named a lease for the longest: the next host was refused because leases differ": 3418,
	"keys that expired before the lock: the next host was refused for a least time more":           205,
	"a report that named no token of who led":                                                      300087,
	"the judge took a lease's end for a use of the keys, which had expired":                        51482,
	"the judge knew of no lease that is withheld for twice as long":                                52779,
}

// What was found by drawing, and is mended, stays so.
func TestMended(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for fault, number := range mended {
		for _, f := range carryOut(t, jobs.Draw(number)).Found {
			t.Errorf("case %d, of %s: %s: %s", number, fault, f.Obligation, f.Words)
		}
	}
}
