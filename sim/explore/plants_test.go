package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/race"
)

// Each mutant is found in a small world, by a path of so many actions: there
// is no shorter one. The path as a file leads to the same once more, and to nothing
// with the machine as it is.
func TestMutantsAreFoundByTheShortestPath(t *testing.T) {
	tests := []struct {
		plant, world string
		steps        int
		broken       string
	}{
		{"no-margin", "delays", 9, "the store's lease is not its own"},
		{"no-drift-margin", "drift", 8, "the store's lease is not its own"},
		{"counts-from-answer", "delays", 9, "the store's lease is not its own"},
		{"late-grant", "delays", 10, "the store's lease is not its own"},
		{"releases-before-work-ends", "delays", 10, "before its work had ended"},
		{"floor-not-raised", "forgetful", 17, "token 1 was elected after token 1"},
		{"refusal-is-transient", "restart", 7, "whose renewal was refused believes on"},
		{"drains-without-renewing", "calm", 11, "a term was lost though nothing went wrong"},
		{"input-before-lapse", "delays", 11, "a belief that had ended was revived"},
		{"believes-after-release", "calm", 5, "the store's lease is not its own"},
		{"wakes-in-the-past", "delays", 1, "woken in the past"},
		{"adopted-is-sure", "rewind", 13, "the store's lease is not its own"},
		{"waits-for-hints", "delays", 11, "nobody can lead any more"},
		{"bid-from-receipt", "bids-twice", 17, "the store's lease is not its own"},
		{"bid-of-others", "bids-twice", 14, "the store's lease is not its own"},
		{"bid-announced-twice", "bids-twice", 18, "the store's lease is not its own"},
		{"bid-from-arrival", "bids-clock", 13, "the store's lease is not its own"},
		{"bid-after-rewind", "bids-rewind", 15, "token 2 was elected after token 2"},
		{"grant-without-witness", "witness", 6, "while candidate 2 believes"},
		{"renewal-without-witness", "witness", 9, "while candidate 2 believes"},
		{"grant-ignores-since", "witness", 4, "while candidate 1 believes"},
		{"witness-keeps-since", "witness", 4, "while candidate 1 believes"},
		{"created-is-sure", "witness", 6, "while candidate 1 believes"},
		{"counts-on", "witness", 7, "with token 1 after token 1"},
	}
	for _, test := range tests {
		t.Run(test.plant, func(t *testing.T) {
			if race.Enabled && (test.world == "bids-twice" || slices.Contains([]string{"waits-for-hints", "bid-after-rewind"}, test.plant)) {
				t.Skip("it takes most of a world, on one goroutine")
			}
			t.Parallel()
			r, err := Search(Find(test.world), Options{plant: planted(t, test.plant)})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Broken, test.broken) || len(r.Path.Steps) != test.steps {
				t.Fatalf("broken: %q after %d actions", r.Broken, len(r.Path.Steps))
			}
			walkAgain(t, r.Path, planted(t, test.plant))
		})
	}
}

// walkAgain demands that a path as a file leads where the path did, and to nothing
// if the bug is gone.
func walkAgain(t *testing.T, p *Path, bug *plant) {
	text, err := p.Marshal()
	if err != nil || !IsPath(text) {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	again.plant = bug
	if broken, err := again.Walk(); broken != p.Broken || err != nil {
		t.Errorf("once more: %q, %v; not %q", broken, err, p.Broken)
	}
	again.plant = &plant{}
	if broken, _ := again.Walk(); broken != "" {
		t.Errorf("without the bug: %q", broken)
	}
}

// What one check of the machine covers for another one is found by no path, to the
// end of a world in which the lack of both is: tokens are named to the store, and
// checked in its answers. The world is forgetful with a single loss, a sixth of it.
func TestRedundantChecks(t *testing.T) {
	skipLong(t)
	set := *Find("forgetful")
	set.Limits[Losses] = 1
	for _, name := range []string{"no-floor", "tokens-unchecked"} {
		r, err := Search(&set, Options{plant: planted(t, name)})
		if err != nil || r.Broken != "" || !r.Finished || len(r.Missing()) > 0 {
			t.Errorf("%s: %v: broken %q, finished %t, never seen: %v", name, err, r.Broken, r.Finished, r.Missing())
		}
	}
	r, err := Search(&set, Options{plant: planted(t, "floor-not-raised")})
	if err != nil || !strings.Contains(r.Broken, "token 1 was elected after token 1") {
		t.Errorf("without both: %v: broken %q", err, r.Broken)
	}
}

// What is harmless, or covered by another check, is found by no path, to the end of a
// world: a lease that its releaser gets back is one like any other; a lease that lasts
// from the bid's arrival on lasts long enough unless the store's clock jumps; and a bid
// that nobody takes back costs a lease without a leader at most.
// It takes a minute: make explore runs it.
func TestRedundantChecksOfBids(t *testing.T) {
	if !drawn.Asked() {
		t.Skip("it takes a minute: make explore runs it")
	}
	for name, unseen := range map[string][]string{
		"bid-of-releaser": nil, "bid-from-arrival": nil, "bid-not-withdrawn": {"withdrawn too late"},
	} {
		set := *Find("bids")
		if name == "bid-not-withdrawn" {
			set = *Find("bids-stops")
		}
		r, err := Search(&set, Options{plant: planted(t, name)})
		if err != nil || r.Broken != "" || !r.Finished || !slices.Equal(r.Missing(), unseen) {
			t.Errorf("%s: %v: broken %q, finished %t, never seen: %v", name, err, r.Broken, r.Finished, r.Missing())
		}
	}
}
