package scenarios_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	cases "github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
)

// TestCalibration shows that the bubble and the virtual world agree in a few
// scenarios, and says how far apart they lie. RECOUNT_CASES compares both with so
// many runs in the live world, too, which must break the same promises, and takes
// many more of the others: docs/architecture.md#the-worlds has what was found then.
func TestCalibration(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector would see nothing new in it")
	}
	runs := map[string]int{"bubble": 12, "virtual": 80}
	pairs := [][2]string{{"bubble", "virtual"}}
	if cases.Asked() {
		_, n, err := cases.Cases(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		runs = map[string]int{"live": int(n), "bubble": 100, "virtual": 300}
		pairs = append(pairs, [2]string{"live", "virtual"}, [2]string{"live", "bubble"})
	}
	worlds := map[string]func(*testing.T, scenarios.Scenario, scenarios.Settings) scenarios.Outcome{"live": run, "bubble": bubbled, "virtual": imagine}
	list, err := scenarios.Find("crash-leader", "resign-leader", "partition-leader")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			samples := map[string]calibration.Sample{}
			for world, n := range runs {
				sample := calibration.Sample{World: world}
				for seed := range n {
					o := worlds[world](t, s, scenarios.Settings{Subject: "recount", Seed: 100 + uint64(seed)})
					sample.Runs = append(sample.Runs, calibration.Observe(o.History, o.Result))
				}
				samples[world] = sample
			}
			for _, pair := range pairs {
				c := calibration.Compare(s.Name, scenarios.DefaultLease, samples[pair[0]], samples[pair[1]])
				t.Log(distances(c))
				if c.Verdict == checker.Fail || c.Verdict != checker.Pass && c.One.Name != "live" {
					t.Errorf("%s and %s: %s: %q", c.One.Name, c.Other.Name, c.Verdict, c.Differences)
				}
			}
		})
	}
}

// distances are the figures of a comparison as a text.
func distances(c calibration.Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s and %s: %s\n", c.One.Name, c.Other.Name, c.Verdict)
	for _, f := range c.Figures {
		if f.Say && f.Compared {
			fmt.Fprintf(&b, "%s: %d and %d values, medians %.2f and %.2f; %.2f apart, distance %.2f, by chance %.2f (chance of it %.4f)\n", f.Name,
				len(f.One), len(f.Other), median(f.One), median(f.Other), f.Area, f.Distance, f.Usual, f.Chance)
		}
	}
	for _, o := range c.Orders {
		if o.Compared && o.Cause != "" {
			fmt.Fprintf(&b, "order after %s: %d and %d failovers, variation %.2f, by chance %.2f (chance of it %.4f)\n", o.Cause, o.One, o.Other, o.Distance, o.Usual, o.Chance)
		}
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "differs: %s\n", d)
	}
	return b.String()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
