package crowd_test

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim/bubble/crowd"
)

// all is the outcome of a case in which everything has its effect.
func all(c crowd.Case) crowd.Outcome {
	bit := map[string]bool{}
	for _, f := range c.Features() {
		bit[f] = true
	}
	return crowd.Outcome{Bit: bit}
}

// Steering meets more features together in the same number of cases, and the same
// number draws the same case.
func TestSteering(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	const cases = 150
	better := 0
	for first := range uint64(4) {
		steered, even := crowd.NewCoverage(), crowd.NewCoverage()
		for i := range cases {
			number := steered.Number(first, i)
			c := crowd.Draw(number)
			if again := crowd.Draw(number); !slices.Equal(again.Acts, c.Acts) || !slices.Equal(again.Processes, c.Processes) {
				t.Fatalf("case %d is %+v, and %+v", number, c, again)
			}
			steered.Add(c, all(c))
			c = crowd.Draw(first<<32 + uint64(i))
			even.Add(c, all(c))
		}
		_, _, _, with := steered.Share()
		_, _, _, without := even.Share()
		t.Logf("first %d: %d pairs steered, %d even", first, with, without)
		if with > without {
			better++
		}
	}
	if better < 3 {
		t.Errorf("steering meets more of 4 times %d times", better)
	}
}

// Every kind of act, call and manner is drawn.
func TestEverythingIsDrawn(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	seen := map[string]bool{}
	for number := range uint64(2000) {
		for _, f := range crowd.Draw(number).Features() {
			seen[f] = true
		}
	}
	for k := range crowd.Kinds {
		if !seen["act:"+k.String()] {
			t.Errorf("%v is never drawn", k)
		}
	}
	for _, f := range []string{
		"call:run", "call:once", "call:terms", "call:campaign", "call:try", "works:never", "works:panics", "works:late", "stops:never", "stops:panics",
		"tells:never", "tells:panics", "logs:never", "databases:2+", "prefixes:2+", "elections:31+", "crowded:true", "lease", "skew", "failback",
	} {
		if !seen[f] {
			t.Errorf("%s is never drawn", f)
		}
	}
}
