package guards_test

import (
	"testing"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/bubble/guards"
)

// The guards that ship refuse every write that they must, and no other, whatever
// leaders, networks and resources do.
func TestCasesKeepTheirObligations(t *testing.T) {
	n := 60
	if race.Enabled {
		n = 10
	}
	search.Test(t, "guards", n)
}

// Everything is drawn: each guard, each act, whatever terms do, and tokens at the end of
// what a number can be.
func TestEverythingIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	for number := range uint64(300) {
		for _, f := range guards.Draw(number).Features() {
			seen[f] = true
		}
	}
	for _, what := range []string{
		"guard:in the process", "guard:in memory", "guard:over http", "guard:in redis", "guard:relayed",
		"act:cut", "act:hang up", "act:strand", "act:restart", "act:freeze", "act:flush",
		"goes on", "bound", "checks", "hangs", "beside", "repeats", "token 1", "token 2^53", "token 2^63", "token 2^64-1",
	} {
		if !seen[what] {
			t.Errorf("%q is never drawn", what)
		}
	}
}
