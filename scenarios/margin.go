package scenarios

import (
	"slices"
	"time"

	"github.com/recount-io/recount/sim/documented"
)

// margin is what the production elector is documented to take off its deadlines
// besides the drift (docs/guarantees.md), for stores that count whole milliseconds.
// It is stated here and not read from the elector: a bug there must not move it.
const margin = time.Millisecond

// MarginOf is what the elector of that name is documented to take off a deadline
// besides the drift. Those of package documented take nothing off; every other
// name is the production elector, or a variant that claims to be it. Of a program
// that is no part of this one nothing is documented: see Settings.Foreign.
func MarginOf(subject string) time.Duration {
	if slices.ContainsFunc(documented.Electors(), func(e documented.Elector) bool { return e.Name == subject }) {
		return 0
	}
	return margin
}
