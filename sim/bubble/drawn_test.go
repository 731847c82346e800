package bubble_test

import (
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/bubble"
)

// The cases that the fuzzer draws for virtual time run in a bubble, too, and the
// production elector keeps its promises in them. RECOUNT_CASES says how many,
// and from which one on: "300+1000".
func TestDrawnPlans(t *testing.T) {
	n := uint64(40)
	if raced.Enabled {
		n = 4
	}
	first, n := asked("RECOUNT_CASES", n)
	drawn := fuzz.Cases(fuzz.Pins{Subject: "recount"}, nil)
	ran := uint64(0)
	for seed := first; seed < first+n; seed++ {
		c := drawn.Example(int(seed)) //nolint:gosec // nobody asks for so many
		plan := c.Plan()
		if bubble.Refuses(plan) != "" {
			continue
		}
		ran++
		h := carryOut(t, plan)
		if failed, is := fuzz.Verdict(checker.Check(h, checker.Options{})); is {
			t.Errorf("case %d: %+v\n%#v", seed, failed, c)
		}
	}
	if ran < n/2 {
		t.Errorf("only %d of %d cases could be carried out", ran, n)
	}
}
