package virtual

import (
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// The call that a fault meets is the one that has been under way for longest.
func TestMomentNamesTheOldestCall(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(1500 * ms)
	c := r.nodes[0].client()
	for i, call := range []history.Call{history.Observe, history.Acquire, history.Renew, history.Release} {
		c.ask(nobody{}, command{call: call}, time.Duration(1+i)*100*ms)
	}
	r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
	for _, want := range []history.Call{history.Observe, history.Acquire, history.Renew, history.Release} {
		if got := r.moment("", r.nodes[0]).InFlight; got != want {
			t.Errorf("%q is under way, want %q", got, want)
		}
		r.to(r.now + 100*ms + 1)
	}
}
