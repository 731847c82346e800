package guards_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/guards"
)

// carryOut carries out a case and returns what is wrong: in a word, and in words.
func carryOut(t *testing.T, c guards.Case) (all []guards.Found) {
	t.Helper()
	// Who waits for a lock of Go's stops the bubble's time, and nobody else notices.
	defer time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("case %d does not come to rest: %+v", c.Number, c)) }).Stop()
	var o guards.Outcome
	if stuck := inBubble(t, c.Number, func(t *testing.T) { o = c.Run(t.Context()) }); stuck != nil {
		return append(all, guards.Found{Obligation: "comes to rest", Words: fmt.Sprint(stuck)})
	}
	if !c.Forgets() {
		for _, f := range checker.Check(o.History, checker.Options{}).Asked {
			if f.Verdict != checker.Pass {
				all = append(all, guards.Found{Obligation: string(f.Promise), Words: f.Reason})
			}
		}
	}
	return append(all, o.Found...)
}

// inBubble calls f in a bubble, and returns with what that has ended if it has come to
// no end.
func inBubble(t *testing.T, number uint64, f func(t *testing.T)) (stuck any) {
	t.Helper()
	defer func() { stuck = recover() }()
	bubbletest.Run(t, number, f)
	return nil
}

// The guards that ship refuse every write that they must, and no other, whatever
// leaders, networks and resources do. A failure names the number of its case.
func TestDrawn(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_CASES", 60, 10)
	for number := first; number < first+n; number++ {
		c := guards.Draw(number)
		if os.Getenv("RECOUNT_SHOW") != "" {
			fmt.Printf("case %d: %+v\n", number, c)
		}
		for _, f := range carryOut(t, c) {
			t.Errorf("case %d: %s: %s\n   %+v", number, f.Obligation, f.Words, c)
		}
	}
}

// Everything is drawn: each guard, each act, whatever terms do, and tokens at the end of
// what a number can be.
func TestEverythingIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	for number := range uint64(300) {
		c := guards.Draw(number)
		seen[c.Guard.String()] = true
		for _, a := range c.Acts {
			seen[a.Kind.String()] = true
		}
		for _, one := range c.Terms {
			for what, is := range map[string]bool{
				"goes on": one.After > 0, "bound": one.Bound, "checks": one.Checks, "hangs": one.Hangs > 0, "beside": one.Beside > 1,
				"repeats": one.Repeats, "token 1": one.Token == 1, "2^53": one.Token == 1<<53, "2^63": one.Token == 1<<63, "2^64-1": one.Token == 1<<64-1,
			} {
				seen[what] = seen[what] || is
			}
		}
	}
	for _, what := range []string{
		"in the process", "in memory", "over http", "in redis", "relayed", "cut", "hang up", "strand", "restart", "freeze", "flush",
		"goes on", "bound", "checks", "hangs", "beside", "repeats", "token 1", "2^53", "2^63", "2^64-1",
	} {
		if !seen[what] {
			t.Errorf("%q is never drawn", what)
		}
	}
}
