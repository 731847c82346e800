package topologies_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/topologies"
	"github.com/recount-io/recount/sim/space"
)

// No generated case breaks a promise.
func TestCasesKeepTheirObligations(t *testing.T) {
	n := 30
	if race.Enabled {
		n = 3
	}
	search.Test(t, "topologies", n)
}

// movingReplica is a case of two primaries of which each is confirmed by the same
// replica, within less than a lease of the promotion.
func movingReplica() topologies.Case {
	const lease = time.Second
	return topologies.Case{
		Number: 1, Topology: sim.Replicated, Servers: 3, Replicas: 1, Nodes: 3, Lease: lease, Latency: 100 * time.Microsecond,
		Acts: []topologies.Act{
			{At: lease / 5, Kind: topologies.Sever, Server: 1, For: 10 * lease},
			{At: lease, Kind: topologies.Resign, Node: -1, For: lease / 10}, // its successor's lease, server 2 lacks
			{At: 3 * lease, Kind: topologies.Promote, Server: 1, Stay: 1 << 0},
			{At: 3*lease + 9*lease/10, Kind: topologies.Follow, Server: 2},
			{At: 3*lease + 19*lease/20, Kind: topologies.Follow, Server: 0},
		},
	}
}

// What was found by drawing, and is mended, stays so.
func TestMended(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, test := range []struct {
		what string
		c    topologies.Case
	}{
		{"a primary that was replaced, and is promoted again, grants at once", topologies.Draw(10332)},
		{"a replica confirms two primaries, of which the new one lacked the lease", movingReplica()},
		{"who may not use INFO took a replica for one of before the promotion, by the number of its connection", topologies.Draw(9000006)},
		{"who asks the server before over an open connection is told what that one knows", topologies.Draw(7007398)},
		{"nobody is waited for as long as it takes to connect to independent servers that are far away", topologies.Draw(19)},
	} {
		for _, f := range search.Try(t, search.Topologies(test.c)).Findings {
			t.Errorf("%s: %s: %s", test.what, f.Obligation, f.Details)
		}
	}
}

// blindNewcomer is a case in which only the first candidate may use INFO, and acts come
// before a failover to a replica that lacks the present lease. After it, a candidate asks
// first that has not asked before.
func blindNewcomer(acts ...topologies.Act) topologies.Case {
	const lease, at = time.Second, 7*time.Second + time.Second/10
	blind := [2]sim.Release{{Blind: true}, {Blind: true}}
	return topologies.Case{
		Number: 1, Topology: sim.Replicated, Servers: 2, Nodes: 4, Lease: lease, Latency: 100 * time.Microsecond,
		Releases: [][2]sim.Release{{}, blind, blind, blind},
		Acts: append(acts,
			topologies.Act{At: at - lease/50, Kind: topologies.Kill, Node: 2, For: lease / 50},
			topologies.Act{At: at, Kind: topologies.Promote, Server: 1},
		),
	}
}

// What is known and not mended is found. A case that finds nothing any more belongs to
// TestMended.
func TestKnown(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const lease = time.Second
	for _, test := range []struct {
		what string
		c    topologies.Case
	}{
		{"a wait that is over on the old primary counts on the new one, which lacks the grant after it", blindNewcomer(
			topologies.Act{At: lease, Kind: topologies.Kill, Node: 0, For: 9 * lease},
			topologies.Act{At: 3 * lease, Kind: topologies.Kill, Node: -1, For: 9 * lease},
			topologies.Act{At: 4*lease + lease/3, Kind: topologies.Sever, Server: 1, For: 8 * lease},
		)},
		{"a witness that only such candidates made has no history, and none of them waits", blindNewcomer(
			topologies.Act{At: lease, Kind: topologies.Kill, Node: 0, For: 5 * lease / 2},
			topologies.Act{At: lease, Kind: topologies.Restart, Server: 0, For: lease / 10},
			topologies.Act{At: lease + lease/5, Kind: topologies.Follow, Server: 1},
			topologies.Act{At: 4 * lease, Kind: topologies.Sever, Server: 1, For: 8 * lease},
			topologies.Act{At: 5 * lease, Kind: topologies.Resign, Node: -1, For: lease},
		)},
	} {
		found := search.Try(t, search.Topologies(test.c)).Findings
		if !slices.ContainsFunc(found, func(f space.Finding) bool { return f.Obligation == string(checker.AtMostOneLeader) }) {
			t.Errorf("%s: %v was found, want two leaders", test.what, found)
		}
	}
}
