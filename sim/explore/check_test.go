package explore

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/machine"
)

// Each demand on a state, and on what a machine says, is broken by a small change to
// a world that keeps it.
func TestEachDemandIsSeenToBreak(t *testing.T) {
	tests := []struct {
		broken string
		change func(w *world)
	}{
		{"", func(*world) {}},
		{"", func(w *world) { w.nodes[0].belief.live = false; w.store = store{} }},
		{"", func(w *world) { w.store.until = w.now; w.store.withheld = w.now + 1 }},
		{"both a and b believe", func(w *world) { w.nodes[1].belief = w.nodes[0].belief }},
		{"the store's lease is not its own", func(w *world) { w.store.until = w.now }},
		{"the store's lease is not its own", func(w *world) { w.store.holder = "b" }},
		{"the store's lease is not its own", func(w *world) { w.store.token++ }},
		{"token 3 was elected after token 3", say(machine.Transition{Kind: machine.Elected, Token: 3})},
		{"revived", say(machine.Transition{Kind: machine.Extended, Token: 2})},
		{"", say(machine.Transition{Kind: machine.Extended, Token: 3, Until: epoch + 3*machine.Tick})},
		{"revived", func(w *world) {
			w.nodes[0].now = w.nodes[0].belief.until
			say(machine.Transition{Kind: machine.Extended, Token: 3, Until: epoch + 3*machine.Tick})(w)
		}},
		{"a term was lost", say(machine.Transition{Kind: machine.Deposed, Token: 3, Why: machine.Expired})},
		{"a term was lost", say(machine.Transition{Kind: machine.Deposed, Token: 3, Why: machine.Superseded})},
		{"", say(machine.Transition{Kind: machine.Deposed, Token: 3, Why: machine.Resigned})},
		{"before its work had ended", ask(3)},
		{"", ask(2)},
		{"", func(w *world) { w.nodes[0].work.capped = true; ask(3)(w) }},
	}
	for i, test := range tests {
		w := newWorld(Find("calm"), &plant{})
		w.nodes[0].up, w.nodes[1].up = true, true
		w.nodes[0].belief = belief{true, 3, w.now + 2*machine.Tick}
		w.nodes[0].work = work{runs: true, token: 3}
		w.top = 3
		w.store = store{holder: "a", nonce: "n", token: 3, until: w.now + 2*machine.Tick}
		test.change(w)
		w.check()
		if w.broken == "" && test.broken != "" || !strings.Contains(w.broken, test.broken) || test.broken == "" && w.broken != "" {
			t.Errorf("%d: %q, want %q", i, w.broken, test.broken)
		}
	}
}

func say(transition machine.Transition) func(*world) {
	return func(w *world) { w.transition(&w.nodes[0], &transition) }
}

// ask makes the first candidate give back the lease of a token.
func ask(token uint64) func(*world) {
	return func(w *world) { w.request(&w.nodes[0], &machine.Request{Call: machine.Release, Token: token}) }
}
