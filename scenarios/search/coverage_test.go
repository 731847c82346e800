package search

import (
	"testing"

	"github.com/recount-io/recount/internal/race"
)

// Steering meets more features together in the same number of cases, and the same
// number draws the same case.
func TestSteering(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	const cases = 150
	calls, err := Find("calls")
	if err != nil {
		t.Fatal(err)
	}
	better := 0
	for first := range uint64(4) {
		steered, even := NewCoverage(), NewCoverage()
		for i := range cases {
			number := steered.Number(calls, first, uint64(i))
			c := calls.Draw(number)
			if again := calls.Draw(number); again.String() != c.String() {
				t.Fatalf("case %d is %v, and %v", number, c, again)
			}
			steered.Add(c.Features(), nil)
			even.Add(calls.Draw(first<<32+uint64(i)).Features(), nil)
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
