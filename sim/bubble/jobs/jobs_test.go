package jobs_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/bubble/jobs"
)

// common are what comes about in many cases: without them a run has shown nothing.
var common = []string{"began", "given back", "held", "withheld", "gave up", "too long", "cancelled", "lost", "kill"}

// No generated case breaks an obligation, and what is common comes about.
func TestCasesKeepTheirObligations(t *testing.T) {
	n := 150
	if race.Enabled {
		n = 12
	}
	effects := search.Test(t, "jobs", n)
	for _, what := range common {
		if effects[what] == 0 && !race.Enabled {
			t.Errorf("in none of %d cases was there one that %s", n, what)
		}
	}
}

// Every call, heeding, ending and act is drawn.
func TestEverythingIsDrawn(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	seen := map[string]bool{}
	for number := range uint64(1000) {
		for _, f := range jobs.Draw(number).Features() {
			seen[f] = true
		}
	}
	for k := range jobs.Kinds {
		if !seen["act:"+k.String()] {
			t.Errorf("%v is never drawn", k)
		}
	}
	for _, what := range []string{
		"call:run", "call:once", "call:standby", "heeds:at once", "heeds:slowly", "heeds:never",
		"ends:well", "ends:fails", "ends:yields", "ends:panics", "ends:resigns", "for ever", "expires", "expires too soon",
	} {
		if !seen[what] {
			t.Errorf("%s is never drawn", what)
		}
	}
}

// One number repeats a case, nearly always to the word, on one core. Calls that a kill ends
// at one moment return in any order.
func TestNumberRepeatsCase(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector schedules anew")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, err := search.Find("jobs")
	if err != nil {
		t.Fatal(err)
	}
	const cases = 12
	same := 0
	for number := range uint64(cases) {
		c := s.Draw(1000 + number)
		if slices.Equal(search.Try(t, c).Log, search.Try(t, c).Log) {
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
	"the judge took a lock that is withheld for twice as long for one that is given to nobody":     4154978580658925,
}

// What was found by drawing, and is mended, stays so.
func TestMended(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	search.Mended(t, "jobs", mended)
}
