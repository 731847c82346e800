package fuzz

import (
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/sim/virtual"
)

// Seeds share no case, neighbours neither: not one of thousands of each.
func TestNeighboursShareNoCase(t *testing.T) {
	each := schedules(4000, 400)
	seen := map[uint64]uint64{} // by a case's number, the seed that tried it
	drawn := map[string]uint64{}
	for seed := range uint64(4) {
		f := &fuzzer{Options: Options{Seed: seed}}
		for i := range each {
			number := f.number(i, even())
			if other, known := seen[number]; known {
				t.Fatalf("seeds %d and %d both try number %d", other, seed, number)
			}
			seen[number] = seed
			if i%8 > 0 {
				continue // a case costs a hundred times as much as its number
			}
			c := Draw(Pins{Subject: "recount"}, number)
			text, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if other, known := drawn[string(text)]; known {
				t.Errorf("seeds %d and %d share a case:\n%s", other, seed, text)
			}
			drawn[string(text)] = seed
		}
	}
}

// The number that a failure names repeats it: a run with that seed tries the
// very case first. So it is deep in a run, too, where the map steers.
func TestNumberRepeatsTheCase(t *testing.T) {
	if race.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	o := production(13, 20_000)
	o.Failures, o.Pins.Subject, o.Shrink = 1, "seldom-heeds-nothing", time.Nanosecond
	o.Subjects = map[string]virtual.Subject{"seldom-heeds-nothing": {Decide: func(cfg machine.Config) virtual.Decider {
		if cfg.Drift < 0.001 {
			return &deaf{Decider: machine.New(cfg)}
		}
		return machine.New(cfg)
	}}}
	r := Run(t.Context(), o)
	if len(r.Failures) != 1 || r.Failures[0].Schedules <= batch {
		t.Fatalf("%v: of no use, for the map must have steered before: %+v", r.Err, r.Failures)
	}
	f := &r.Failures[0]
	o.Seed, o.Schedules = f.Seed, 1
	again := Run(t.Context(), o)
	if len(again.Failures) != 1 || !reflect.DeepEqual(again.Failures[0].Drawn, f.Drawn) {
		t.Errorf("number %d, found after %d schedules:\n%+v\nagain\n%+v", f.Seed, f.Schedules, f.Drawn, again.Failures)
	}
	t.Logf("found after %d schedules", f.Schedules)
}

// A steered run tries numbers whose leaning agrees with the map, more often
// than not.
func TestNumbersFollowTheWeights(t *testing.T) {
	w := even()
	w.dials[dialCount][0] = heaviest
	favoured := func(w *Weights) (n int) {
		f := &fuzzer{Options: Options{Seed: 1}}
		for i := range 2000 {
			if leaning(f.number(i+1, w)).dials[dialCount][0] == heaviest {
				n++
			}
		}
		return n
	}
	if plainly, steered := favoured(even()), favoured(w); steered < plainly*5/4 {
		t.Errorf("%d of 2000 cases favour what is to be favoured, %d where nothing is", steered, plainly)
	}
}
