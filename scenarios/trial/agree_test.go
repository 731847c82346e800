package trial

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
)

// cellOf fabricates a cell: so many runs kept, so many that broke each of these
// promises, and so many undecided.
func cellOf(world string, kept, broke, undecided int, promises ...checker.Promise) *Cell {
	c := &Cell{Subject: "s", Scenario: "x", World: world}
	add := func(n int, v checker.Verdict) {
		for range n {
			var r Run
			r.Verdict, r.Events = v, 10
			switch v {
			case checker.Fail:
				r.Broken, r.First = promises, promises[0]
				r.TwoLed = time.Second
				r.Reasons = map[checker.Promise]string{promises[0]: "because"}
			case checker.Unknown:
				r.Undecided = []checker.Finding{{Promise: checker.AtMostOneLeader, Reason: "a stall"}}
			}
			c.Runs = append(c.Runs, r)
		}
	}
	add(kept, checker.Pass)
	add(broke, checker.Fail)
	add(undecided, checker.Unknown)
	return c
}

// Two worlds agree where the same promises are broken, however often; they
// differ where one is broken in one world and kept in the other, even once; and
// where the other never decided it, nothing contradicts.
func TestCompare(t *testing.T) {
	const one, lease = checker.AtMostOneLeader, checker.LeaseLinearizable
	for name, test := range map[string]struct {
		live, virtual *Cell
		want          Agreement
		differs       string // promises
		chance        float64
	}{
		"kept in both":                      {cellOf("live", 3, 0, 0), cellOf("virtual", 20, 0, 0), Agree, "", 0},
		"broken in both, not alike often":   {cellOf("live", 2, 1, 0, one), cellOf("virtual", 13, 7, 0, one), Agree, "", 0},
		"broken always and once":            {cellOf("live", 0, 3, 0, one), cellOf("virtual", 19, 1, 0, one), Agree, "", 0},
		"never live":                        {cellOf("live", 3, 0, 0), cellOf("virtual", 13, 7, 0, one), Differ, "AtMostOneLeader", 560. / 1771},
		"never live, always virtual":        {cellOf("live", 3, 0, 0), cellOf("virtual", 0, 20, 0, one), Differ, "AtMostOneLeader", 1. / 1771},
		"never virtual":                     {cellOf("live", 0, 1, 0, one), cellOf("virtual", 20, 0, 0), Differ, "AtMostOneLeader", 1. / 21},
		"another promise":                   {cellOf("live", 0, 1, 0, one), cellOf("virtual", 0, 1, 0, lease), Differ, "LeaseLinearizable AtMostOneLeader", 1},
		"one more promise":                  {cellOf("live", 0, 1, 0, one), cellOf("virtual", 0, 1, 0, one, lease), Differ, "LeaseLinearizable", 1},
		"undecided live":                    {cellOf("live", 0, 0, 3), cellOf("virtual", 13, 7, 0, one), Undecided, "", 0},
		"some undecided live":               {cellOf("live", 1, 0, 2), cellOf("virtual", 13, 7, 0, one), Differ, "AtMostOneLeader", 560. / 1771},
		"undecided, and nothing is broken":  {cellOf("live", 2, 0, 1), cellOf("virtual", 20, 0, 0), Undecided, "", 0},
		"broken in both, and one undecided": {cellOf("live", 0, 2, 1, one), cellOf("virtual", 0, 20, 0, one), Undecided, "", 0},
		"not run live":                      {cellOf("live", 0, 0, 0), cellOf("virtual", 0, 20, 0, one), Single, "", 0},
	} {
		got, differences := Compare(test.live, test.virtual)
		var promises []string
		for _, d := range differences {
			promises = append(promises, string(d.Promise))
			if math.Abs(d.Chance-test.chance) > 1e-9 {
				t.Errorf("%s: chance %v, want %v", name, d.Chance, test.chance)
			}
			if text := d.String(); !strings.Contains(text, string(d.Promise)) || !strings.Contains(text, fmt.Sprintf("%d of %d live", d.Live, d.OfLive)) {
				t.Errorf("%s: %s", name, text)
			}
		}
		if got != test.want || strings.Join(promises, " ") != test.differs {
			t.Errorf("%s: %v about %v, want %v about %q", name, got, promises, test.want, test.differs)
		}
	}
}

// Two leaders for no longer than the clocks of the other world may be wrong are
// no difference: it could not see them. For longer they are one.
func TestCompareWithinClockError(t *testing.T) {
	live, virtual := cellOf("live", 3, 0, 0), cellOf("virtual", 0, 2, 0, checker.AtMostOneLeader)
	for i := range live.Runs {
		live.Runs[i].Error = 200 * time.Microsecond
	}
	for longest, want := range map[time.Duration]Agreement{200 * time.Microsecond: Undecided, 201 * time.Microsecond: Differ} {
		virtual.Runs[0].TwoLed, virtual.Runs[1].TwoLed = 0, longest
		if got, differences := Compare(live, virtual); got != want || (len(differences) > 0) != (want == Differ) {
			t.Errorf("%v for %v, want %v: %v", got, longest, want, differences)
		}
	}
}

// A run that left no history decides nothing, so it contradicts nothing.
func TestCompareWithoutHistory(t *testing.T) {
	live := &Cell{World: "live", Runs: []Run{{Trouble: "it would not start"}}}
	if got, differences := Compare(live, cellOf("virtual", 0, 2, 0, checker.Stable)); got != Undecided || len(differences) > 0 {
		t.Errorf("%v, %v", got, differences)
	}
}
