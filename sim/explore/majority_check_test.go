package explore

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// Each demand on a world of several stores is broken by a small change to a world
// that keeps it.
func TestEachDemandOnAMajorityIsSeenToBreak(t *testing.T) {
	const soon = 2 * machine.Tick
	tests := []struct {
		broken string
		change func(w *majority)
	}{
		{"", func(*majority) {}},
		{"", func(w *majority) { w.stores[0].until = w.now }},
		{"", func(w *majority) { w.restart(&w.stores[0]); w.stores[1].nonce = "" }},
		{"both a and b believe", func(w *majority) {
			w.members[1].nonce, w.members[1].token, w.members[1].until = "2", 3, w.now+soon
		}},
		{"no majority of the stores holds its lease", func(w *majority) { w.stores[0].until, w.stores[1].until = w.now, w.now }},
		{"no majority of the stores holds its lease", func(w *majority) { w.stores[0].nonce, w.stores[1].nonce = "2", "2" }},
		{"no majority of the stores holds its lease", func(w *majority) { w.stores[0].token, w.stores[1].token = 2, 2 }},
		{"nobody wants any more", func(w *majority) { w.stores[0].nonce = "2" }},
		{"", func(w *majority) { w.stores[0].nonce = "2"; w.members[1].parcels = []parcel{{}} }},
		{"", func(w *majority) { w.stores[0].nonce = "2"; w.left[Losses] = 0 }},
		{"token 3 was elected after token 3", acquires(3)},
		{"", acquires(4)},
		{"was renewed after one of token 4", func(w *majority) { w.top = 4; renews(quorum.Done)(w) }},
		{"", renews(quorum.Done)},
		{"was refused though a majority", renews(quorum.Denied)},
		{"", func(w *majority) {
			w.stores[0].until, w.stores[1].until, w.left[Losses] = w.now, w.now, 0
			renews(quorum.Denied)(w)
		}},
		{"", func(w *majority) {
			w.members[0].errands = []errand{{kind: quorum.BeginRelease}}
			renews(quorum.Denied)(w)
		}},
	}
	for i, test := range tests {
		w := newMajority(Find("majority-loss"), &plant{})
		w.members[0].up, w.members[1].up, w.top = true, true, 3
		w.members[0].nonce, w.members[0].token, w.members[0].until = "1", 3, w.now+soon
		for s := range w.stores {
			w.stores[s] = keeper{nonce: "1", token: 3, until: w.now + soon}
		}
		test.change(w)
		w.check()
		if w.broken == "" && test.broken != "" || !strings.Contains(w.broken, test.broken) || test.broken == "" && w.broken != "" {
			t.Errorf("%d: %q, want %q", i, w.broken, test.broken)
		}
	}
}

// acquires ends an attempt of the first candidate with a token.
func acquires(token uint64) func(*majority) {
	return func(w *majority) {
		for s := range w.stores {
			w.stores[s].token = token
		}
		w.acquired(&w.members[0], errand{kind: quorum.BeginAcquire, began: w.now}, &quorum.Ending{Outcome: quorum.Done, Token: token})
	}
}

// renews ends a renewal of the first candidate's term.
func renews(outcome quorum.Outcome) func(*majority) {
	return func(w *majority) {
		w.renewed(&w.members[0], errand{kind: quorum.BeginRenew, token: 3, began: w.now}, outcome)
	}
}
