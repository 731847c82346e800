package fuzz

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
)

// production are the options of a short run with the production elector.
func production(seed uint64, schedules int) Options {
	return Options{Seed: seed, Schedules: schedules, Failures: 8, Pins: Pins{Subject: "recount"}}
}

// schedules is how many a test takes: all, or few where the race detector
// watches. What it watches are the workers, and each schedule shows it the same.
func schedules(all, few int) int {
	if race.Enabled {
		return few
	}
	return all
}

// The production elector breaks no promise in schedules that are drawn, and
// nearly all faults take effect.
func TestProduction(t *testing.T) {
	if race.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	r := Run(t.Context(), production(1, 1500))
	if r.Err != nil || r.Schedules != 1500 {
		t.Fatal(r.Schedules, r.Err)
	}
	for i := range r.Failures {
		t.Errorf("drawn from %d: %v\n%#v", r.Failures[i].Seed, r.Failures[i].Drawn.Failed, r.Failures[i].Case)
	}
	if r.Injected < 2*r.Schedules || 10*r.Missed > r.Injected {
		t.Errorf("%d of %d faults had no effect", r.Missed, r.Injected)
	}
	if share := r.Coverage.Share(); share < 0.2 || share > 1 {
		t.Errorf("coverage %v", share)
	}
}

// The same seed gives the same cases, the same coverage, the same failure and
// the same shrunk case, however many workers there are; another seed does not.
func TestWorkersDecideNothing(t *testing.T) {
	run := func(seed uint64, workers int) Result {
		o := production(seed, schedules(700, 300))
		o.Workers, o.Subjects, o.Pins.Subject = workers, planted(), "forgets-margin"
		o.Shrink = time.Nanosecond // what is shrunk by the clock is another matter
		r := Run(t.Context(), o)
		r.Seconds = 0
		for i := range r.Failures {
			r.Failures[i].Seconds = 0
		}
		return r
	}
	want, few := run(5, 1), []int{2, 7}
	if race.Enabled {
		few = few[1:]
	}
	for _, workers := range few {
		if got := run(5, workers); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers:\n%+v\none:\n%+v", workers, got.Failures, want.Failures)
		}
	}
	if reflect.DeepEqual(run(6, 2), want) {
		t.Error("another seed gives the same run")
	}
}

// A run ends where it was told to: after so many schedules, after so long, when
// it is stopped, and at once if there is no such elector.
func TestRunEnds(t *testing.T) {
	if r := Run(t.Context(), production(1, 300)); r.Schedules != 300 || r.Err != nil {
		t.Errorf("%d schedules, %v", r.Schedules, r.Err)
	}
	o := production(1, 0)
	o.For = time.Nanosecond
	if r := Run(t.Context(), o); r.Schedules != batch || r.Err != nil {
		t.Errorf("%d schedules, %v", r.Schedules, r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o = production(1, 100_000)
	o.Progress = func(Progress) { cancel() }
	if r := Run(ctx, o); r.Schedules != batch || r.Err == nil {
		t.Errorf("%d schedules, %v", r.Schedules, r.Err)
	}
	o.Pins.Subject = "nobody"
	if r := Run(t.Context(), o); r.Err == nil || len(r.Failures) > 0 {
		t.Errorf("%d schedules, %v", r.Schedules, r.Err)
	}
	if r := Run(t.Context(), production(1, 0)); r.Schedules != 0 {
		t.Errorf("%d schedules without a limit", r.Schedules)
	}
}

// How rare a fault may be that would have been seen: three times as many
// schedules as one in so many, at 95 %.
func TestRarest(t *testing.T) {
	for schedules, want := range map[int]int{0: 0, 1: 1, 300: 100, 20_000: 6676, 1_000_000: 333_808} {
		if got := Rarest(schedules, 0.95); got != want {
			t.Errorf("%d schedules: 1 in %d, want 1 in %d", schedules, got, want)
		}
	}
}

// An elector that panics breaks something, and the run survives it.
func TestPanic(t *testing.T) {
	o := production(1, 500)
	o.Failures, o.Subjects, o.Pins.Subject = 1, planted(), "panics"
	r := Run(t.Context(), o)
	if len(r.Failures) != 1 || r.Failures[0].Case.Failed.Promise != checker.NoPanic {
		t.Errorf("%v, %+v", r.Err, r.Failures)
	}
}
