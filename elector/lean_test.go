package elector

import (
	"context"
	"testing"
	"time"
)

// TestLeanHoldsNothing shows that a context holds nothing of the requests that have
// ended: there are thousands of such contexts, and each lasts as long as its session.
func TestLeanHoldsNothing(t *testing.T) {
	calls := &lean{}
	ctx, cancel := context.WithTimeout(calls, time.Hour)
	_, cancelOther := context.WithTimeout(calls, time.Hour)
	cancel()
	cancelOther()
	if ctx.Err() == nil || len(calls.after) > 0 {
		t.Fatalf("%d functions are still to be called", len(calls.after))
	}
	for _, f := range calls.after[:cap(calls.after)] {
		if f != nil {
			t.Error("what is not to be called any more is held")
		}
	}
}
