package elector_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// A refusal of a lease that nobody holds is told from one of a lease that somebody has.
func TestWithheldIsNotHeld(t *testing.T) {
	for _, c := range []struct {
		err      elector.HeldError
		withheld bool
	}{
		{elector.HeldError{Withheld: "it was restarted"}, true},
		{elector.HeldError{Holder: "a"}, false},
	} {
		err := fmt.Errorf("store: %w", &c.err)
		if got := errors.Is(err, elector.ErrWithheld); got != c.withheld || errors.Is(err, store.ErrNotHeld) {
			t.Errorf("%v: withheld %v, want %v", err, got, c.withheld)
		}
	}
}
