package bubbletest

import (
	"testing"

	"github.com/recount-io/recount/internal/drawn"
)

// Cases is which cases a test of drawn ones takes, as drawn.Cases says; what the
// variable says wrongly fails the test.
func Cases(t *testing.T, full, few uint64) (first, n uint64) {
	t.Helper()
	first, n, err := drawn.Cases(full, few)
	if err != nil {
		t.Fatal(err)
	}
	return first, n
}
