package bubble_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/bubble"
)

// The cases that the fuzzer draws for virtual time run in a bubble, too, and the
// production elector keeps its promises in them. RECOUNT_CASES says how many.
func TestDrawnPlans(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("RECOUNT_CASES"))
	if err != nil {
		n = 40
		if raced.Enabled {
			n = 4
		}
	}
	drawn := fuzz.Cases(fuzz.Pins{Subject: "recount"}, nil)
	ran := 0
	for seed := range n {
		c := drawn.Example(seed)
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
