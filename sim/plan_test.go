package sim_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

const ms = time.Millisecond

// Timings that cannot work are refused with what is wrong and what to give.
func TestTimingsValidate(t *testing.T) {
	for _, test := range []struct {
		timings sim.Timings
		want    []string // parts of the message; none: they are fine
	}{
		{sim.Timings{Lease: 15 * time.Second, Renew: 5 * time.Second, Retry: time.Second}, nil},
		{sim.Timings{Lease: 100 * ms, Renew: 99 * ms, Retry: 99 * ms}, nil},
		{sim.Timings{Lease: 99 * ms, Renew: 30 * ms, Retry: 5 * ms}, []string{"lease 99ms is too short", "give at least 100ms"}},
		{sim.Timings{Lease: 1000 * time.Hour, Renew: time.Hour, Retry: time.Second}, nil},
		{sim.Timings{Lease: 1001 * time.Hour, Renew: time.Hour, Retry: time.Second}, []string{"lease 1001h0m0s is too long", "at most 1000h"}},
		{sim.Timings{}, []string{"lease 0s is too short"}},
		{sim.Timings{Lease: -time.Second, Renew: 1, Retry: 1}, []string{"lease -1s is too short"}},
		{sim.Timings{Lease: time.Second, Retry: 5 * ms}, []string{"renew 0s and retry 5ms must be positive"}},
		{sim.Timings{Lease: time.Second, Renew: 5 * ms, Retry: -1}, []string{"renew 5ms and retry -1ns must be positive"}},
		{sim.Timings{Lease: time.Second, Renew: time.Second, Retry: 5 * ms}, []string{"renew 1s is not below lease 1s", "a third"}},
		{sim.Timings{Lease: time.Second, Renew: 5 * ms, Retry: time.Second}, []string{"retry 1s is not below lease 1s", "a tenth"}},
	} {
		err := test.timings.Validate()
		if len(test.want) == 0 && err != nil || len(test.want) > 0 && err == nil {
			t.Errorf("%+v: %v", test.timings, err)
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %q does not say %q", test.timings, err, part)
			}
		}
	}
}

// Candidates are called n1, n2, ….
func TestNodeNames(t *testing.T) {
	if got := (sim.Plan{Nodes: 11}).NodeNames(); len(got) != 11 || got[0] != "n1" || got[10] != "n11" {
		t.Errorf("the names are %v", got)
	}
	if got := (sim.Plan{}).NodeNames(); !slices.Equal(got, []string{}) {
		t.Errorf("nobody is called %v", got)
	}
}

// The header says all that the plan decided and the checkers must know.
func TestHeader(t *testing.T) {
	plan := sim.Plan{
		Scenario: "crash-leader", Subject: "recount", Nodes: 2,
		Timings: sim.Timings{Lease: 3 * time.Second, Renew: time.Second, Retry: 100 * ms},
		Drift:   0.01, Seed: 42, Promises: []string{"Stable"}, Waived: map[string]string{"FailoverBound": "why"},
		Steadfast: true, FailoverBound: 4, ReturnBound: 5, Margin: 6, Repro: "chaos run crash-leader",
	}
	got := plan.Header("live", "process 7.0.15", 200*time.Microsecond)
	want := history.Header{
		Scenario: "crash-leader", Subject: "recount", World: "live", Seed: 42, Nodes: []string{"n1", "n2"},
		Lease: 3 * time.Second, Renew: time.Second, Retry: 100 * ms, ClockError: 200 * time.Microsecond, DriftPPM: 10000,
		Promises: []string{"Stable"}, Waived: map[string]string{"FailoverBound": "why"},
		Steadfast: true, FailoverBound: 4, ReturnBound: 5, Margin: 6, Redis: "process 7.0.15", Repro: "chaos run crash-leader",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// A drift that no binary fraction is does not lose a part in a million, and one
	// of less than whole millionths is not said to be more than it is: an elector is
	// held to it.
	for _, drift := range []struct {
		fraction float64
		ppm      int64
	}{{0, 0}, {0.000001, 1}, {0.001, 1000}, {0.0003, 300}, {0.29, 290000}, {0.000249, 249}, {0.000493, 493}, {0.0000007, 0}, {0.0100009, 10000}} {
		plan.Drift = drift.fraction
		if got := plan.Header("", "", 0).DriftPPM; got != drift.ppm {
			t.Errorf("drift %v is %d parts per million, want %d", drift.fraction, got, drift.ppm)
		}
	}
}

// The length of a fault is found by the number that it has in the history, whatever the
// order in which the schedule names its steps.
func TestLengthOfAFault(t *testing.T) {
	p := sim.Plan{Schedule: faults.Schedule{
		{At: 3 * time.Second, For: time.Second, Fault: faults.Pause{}, Target: faults.Follower},
		{At: time.Second, For: 5 * time.Second, Fault: faults.Pause{}, Target: faults.Follower},
	}}
	for id, want := range map[string]time.Duration{"f1": 5 * time.Second, "f2": time.Second} {
		if got, known := p.Length(id); !known || got != want {
			t.Errorf("%s lasts %v, %v, want %v", id, got, known, want)
		}
	}
}
