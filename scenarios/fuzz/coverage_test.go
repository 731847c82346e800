package fuzz

import (
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/sim/virtual"
)

// A moment lands where it belongs on the map, and a cell knows where it is.
func TestCells(t *testing.T) {
	for _, test := range []struct {
		moment virtual.Moment
		want   [4]string
	}{
		{virtual.Moment{Fault: "crash", Role: "leader", Lease: 0.01, Renewal: 0.03}, [4]string{"crash", "leader", "renewed", ""}},
		{virtual.Moment{Fault: "pause", Role: "follower", Lease: 0.1, Renewal: 0.3, InFlight: history.Acquire}, [4]string{"pause", "follower", "settled", "acquire"}},
		{virtual.Moment{Fault: "partition", Role: "leader", Lease: 0.3, Renewal: 0.9, InFlight: history.Renew}, [4]string{"partition", "leader", "due", "renew"}},
		{virtual.Moment{Fault: "latency", Role: "down", Lease: 0.5, Renewal: 1}, [4]string{"latency", "down", "overdue", ""}},
		{virtual.Moment{Fault: "store-pause", Role: "store", Lease: 0.95, Renewal: 1, InFlight: history.Release}, [4]string{"store-pause", "store", "ending", "release"}},
		{virtual.Moment{Fault: "clock-rate", Role: "leader", Lease: -1, Renewal: -1, InFlight: history.Observe}, [4]string{"clock-rate", "leader", "free", "observe"}},
	} {
		fault, role, point, call := cellOf(&test.moment).parts()
		if got := [4]string{faultNames[fault], roleNames[role], pointNames[point], string(calls[call])}; got != test.want {
			t.Errorf("%+v is in %q, want %q", test.moment, got, test.want)
		}
	}
	if at := cellOf(&virtual.Moment{Fault: "earthquake", Role: "leader"}); at != -1 {
		t.Errorf("an unknown fault is in %d", at)
	}
	for i := range cells() {
		if fault, role, point, call := cell(i).parts(); cellAt(fault, role, point, call) != cell(i) {
			t.Fatalf("cell %d is at %d", i, cellAt(fault, role, point, call))
		}
	}
}

// What cannot happen has no share in the map.
func TestReachable(t *testing.T) {
	at := func(fault, role, point, call string) bool {
		index := func(names []string, name string) int {
			for i := range names {
				if names[i] == name {
					return i
				}
			}
			t.Fatalf("there is no %q", name)
			return -1
		}
		names := make([]string, len(calls))
		for i := range calls {
			names[i] = string(calls[i])
		}
		return cellAt(index(faultNames, fault), index(roleNames[:], role), index(pointNames[:], point), index(names, call)).reachable(Pins{})
	}
	for _, test := range []struct {
		fault, role, point, call string
		want                     bool
	}{
		{"crash", "leader", "due", "renew", true},
		{"crash", "leader", "due", "acquire", false},
		{"crash", "leader", "renewed", "acquire", true},
		{"crash", "follower", "due", "renew", false},
		{"crash", "follower", "free", "acquire", true},
		{"crash", "down", "free", "", false},
		{"crash", "store", "free", "", false},
		{"partition", "down", "free", "", true},
		{"partition", "down", "free", "observe", false},
		{"pause-before-write", "leader", "settled", "", true},
		{"pause-before-write", "follower", "settled", "", false},
		{"store-pause", "store", "free", "release", true},
		{"store-pause", "leader", "free", "", false},
		{"key-deleted", "store", "free", "", false},
		{"key-deleted", "store", "due", "renew", true},
		{"store-clock-jump", "store", "free", "", false},
	} {
		if got := at(test.fault, test.role, test.point, test.call); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	alone := newCoverage(Pins{Nodes: 1})
	_, some := alone.Cells()
	if _, all := newCoverage(Pins{}).Cells(); some >= all {
		t.Errorf("a single candidate can reach %d cells, several reach %d", some, all)
	}
}

// What a run meets is on the map, with hardly an exception: else the reasons
// for what is not reachable are wrong.
func TestUnreachableIsNotReached(t *testing.T) {
	if race.Enabled {
		t.Skip("a thousand schedules, which are run without the race detector")
	}
	r := Run(t.Context(), production(3, 1024))
	met, strange := 0, 0
	for i, n := range r.Coverage.counts {
		met += n
		if !r.Coverage.reachable[i] {
			strange += n
		}
	}
	if met < r.Injected/2 || 100*strange > met {
		t.Errorf("%d moments of %d faults, %d of them should not be", met, r.Injected, strange)
	}
}

// Steering reaches more of the map with the same number of schedules, over some seeds
// together.
func TestSteeringHelps(t *testing.T) {
	if race.Enabled {
		t.Skip("eight thousand schedules, which are run without the race detector")
	}
	var steered, even float64
	for seed := range uint64(4) {
		o := production(seed*1_000_000, 1024)
		one := Run(t.Context(), o).Coverage.Share()
		o.Even = true
		other := Run(t.Context(), o).Coverage.Share()
		t.Logf("seed %d: %.3f steered, %.3f even", o.Seed, one, other)
		steered, even = steered+one, even+other
	}
	if steered < 1.02*even {
		t.Errorf("steered, %.3f of the map is reached in all, else %.3f", steered, even)
	}
}

// Every kind of fault in the catalogue can be drawn, and is: within what the
// elector promises to survive, or beyond it.
func TestEveryFaultIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	cases := Cases(Pins{Subject: "recount"}, nil)
	for i := range 3000 {
		for _, step := range cases.Example(i + 1).Schedule {
			seen[step.Fault.Name()] = true
		}
	}
	for _, name := range faultNames {
		if !seen[name] {
			t.Errorf("%s is never drawn", name)
		}
	}
}
