package faults_test

import (
	"testing"

	"github.com/recount-io/recount/faults"
)

// TestUndone shows that every fault says how it is undone, for those who are asked to
// let a run have their server, and that only faults on the store spare the rest of it.
func TestUndone(t *testing.T) {
	for _, f := range faults.Catalogue() {
		e := f.Effect()
		if e.Undone == "" {
			t.Errorf("%s does not say how it is undone", f.Name())
		}
		if e.Own && !e.Store {
			t.Errorf("%s hits only the run's own keys in the store, and does not hit the store", f.Name())
		}
	}
}
