package checker

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/history"
)

// A candidate that panics breaks a promise, though the others elect another leader.
func TestNoPanic(t *testing.T) {
	for why, want := range map[history.Why]Verdict{
		history.Panicked: Fail, history.ByItself: Pass, history.Killed: Pass, history.Dismissed: Pass, history.EndOfRun: Pass,
	} {
		s := newStory()
		s.elected("n1", 0, 1, 2000*ms).add(history.Event{Kind: history.Exit, Node: "n1", Why: why, At: 900 * ms, Text: "no reason given"})
		s.elected("n2", 2100*ms, 2, 9000*ms).note(9000 * ms)
		f := expect(t, Check(s.build(), Options{}), NoPanic, want)
		if want == Fail && (!slices.Equal(f.Evidence, []int64{2}) || f.Reason != "n1 panicked at 0.900 s: no reason given") {
			t.Errorf("%s: %+v", why, f)
		}
	}
	expect(t, Check(newStory().build(), Options{}), NoPanic, Unknown)
}
