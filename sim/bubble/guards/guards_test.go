package guards_test

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/guards"
)

// carryOut carries out a case and returns what is wrong: in a word, and in words.
func carryOut(t *testing.T, c guards.Case) (all [][2]string) {
	t.Helper()
	var h *history.History
	var found []string
	bubbletest.Run(t, c.Seed, func(t *testing.T) { h, found = c.Run(t.Context()) })
	for _, f := range checker.Check(h, checker.Options{}).Asked {
		if f.Verdict != checker.Pass {
			all = append(all, [2]string{string(f.Promise), f.Reason})
		}
	}
	for _, f := range found {
		name, words, _ := strings.Cut(f, ": ")
		all = append(all, [2]string{name, words})
	}
	return all
}

// The guards that ship refuse every write that they must, and no other, whatever
// leaders and networks do. A failure names the seed of its case.
func TestDrawn(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_CASES", 60, 10)
	seen := map[guards.Kind]bool{}
	for seed := first; seed < first+n; seed++ {
		c := guards.Draw(seed)
		seen[c.Guard] = true
		for _, wrong := range carryOut(t, c) {
			t.Errorf("case %d: %s: %s\n   %+v", seed, wrong[0], wrong[1], c)
		}
	}
	if n >= 50 && len(seen) < 4 {
		t.Errorf("of %d cases none was drawn with some of the guards: %v", n, seen)
	}
}
