package walk_test

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/walk"
)

// carryOut carries out a case in a bubble and returns what is wrong.
func carryOut(t *testing.T, c walk.Case) []checker.Finding {
	t.Helper()
	var h *history.History
	var untrue []checker.Finding
	var mu sync.Mutex
	tell := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		if len(untrue) == 0 {
			untrue = append(untrue, checker.Finding{Promise: toldTruly, Verdict: checker.Fail, Reason: what})
		}
	}
	bubbletest.Run(t, c.Seed, func(t *testing.T) {
		var err error
		if h, err = (&bubble.World{Untrue: tell}).Run(t.Context(), c.Plan(), ""); err != nil {
			t.Errorf("case %d: %v", c.Seed, err)
		}
	})
	return append(wrong(h), untrue...)
}

// toldTruly says that a candidate is told that it has the lease only if as many servers
// hold it as have to, and that it has it no more only if the server does not hold it.
const toldTruly checker.Promise = "ToldTruly"

// wrong is what is wrong in a history: what was broken, and that nobody came to lead.
func wrong(h *history.History) []checker.Finding {
	return slices.DeleteFunc(checker.Check(h, checker.Options{}).Asked, func(f checker.Finding) bool {
		return f.Verdict == checker.Pass || f.Verdict == checker.Unknown && f.Promise != checker.LeaderReturns
	})
}

// reduce simplifies a case as long as the same promise is broken.
func reduce(t *testing.T, c walk.Case, what checker.Promise) walk.Case {
	t.Helper()
	for {
		all := c.Simpler()
		i := slices.IndexFunc(all, func(one walk.Case) bool {
			return slices.ContainsFunc(carryOut(t, one), func(f checker.Finding) bool { return f.Promise == what })
		})
		if i < 0 {
			return c
		}
		c = all[i]
	}
}

// In walks that are drawn nothing is wrong. A failure names the seed of its case, and
// with RECOUNT_REDUCE the case is simplified.
func TestDrawn(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_CASES", 30, 3)
	for seed := first; seed < first+n; seed++ {
		c := walk.Draw(seed)
		for _, f := range carryOut(t, c) {
			one := c
			if os.Getenv("RECOUNT_REDUCE") != "" {
				one = reduce(t, c, f.Promise)
			}
			t.Errorf("case %d: %s: %s: %s\n%v", seed, f.Promise, f.Verdict, f.Reason, one)
		}
	}
}

// movingReplica is a case of two primaries of which each is confirmed by the same
// replica, within less than a lease of the promotion.
func movingReplica() walk.Case {
	const lease = time.Second
	return walk.Case{
		Seed: 1, Topology: sim.Replicated, Servers: 3, Replicas: 1, Nodes: 3, Lease: lease, Latency: 100 * time.Microsecond,
		Acts: []walk.Act{
			{At: lease / 5, Kind: walk.Sever, Server: 1, For: 10 * lease},
			{At: lease, Kind: walk.Resign, Node: -1, For: lease / 10}, // its successor's lease, server 2 lacks
			{At: 3 * lease, Kind: walk.Promote, Server: 1, Stay: 1 << 0},
			{At: 3*lease + 9*lease/10, Kind: walk.Follow, Server: 2},
			{At: 3*lease + 19*lease/20, Kind: walk.Follow, Server: 0},
		},
	}
}

// What was found by drawing, and is mended, stays so.
func TestMended(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, test := range []struct {
		what string
		c    walk.Case
	}{
		{"a primary that was replaced, and is promoted again, grants at once", walk.Draw(10332)},
		{"a replica confirms two primaries, of which the new one lacked the lease", movingReplica()},
		{"who may not use INFO took a replica for one of before the promotion, by the number of its connection", walk.Draw(9000006)},
		{"who asks the server before over an open connection is told what that one knows", walk.Draw(7007398)},
		{"nobody is waited for as long as it takes to connect to independent servers that are far away", walk.Draw(19)},
	} {
		for _, f := range carryOut(t, test.c) {
			t.Errorf("%s: %s: %s", test.what, f.Promise, f.Reason)
		}
	}
}

// blindNewcomer is a case in which only the first candidate may use INFO, and acts come
// before a failover to a replica that lacks the present lease. After it, a candidate asks
// first that has not asked before.
func blindNewcomer(acts ...walk.Act) walk.Case {
	const lease, at = time.Second, 7*time.Second + time.Second/10
	blind := [2]sim.Release{{Blind: true}, {Blind: true}}
	return walk.Case{
		Seed: 1, Topology: sim.Replicated, Servers: 2, Nodes: 4, Lease: lease, Latency: 100 * time.Microsecond,
		Releases: [][2]sim.Release{{}, blind, blind, blind},
		Acts: append(acts,
			walk.Act{At: at - lease/50, Kind: walk.Kill, Node: 2, For: lease / 50},
			walk.Act{At: at, Kind: walk.Promote, Server: 1},
		),
	}
}

// What is known and not mended is found. A case that finds nothing any more belongs to
// TestMended.
func TestKnown(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const lease = time.Second
	for _, test := range []struct {
		what string
		c    walk.Case
	}{
		{"a wait that is over on the old primary counts on the new one, which lacks the grant after it", blindNewcomer(
			walk.Act{At: lease, Kind: walk.Kill, Node: 0, For: 9 * lease},
			walk.Act{At: 3 * lease, Kind: walk.Kill, Node: -1, For: 9 * lease},
			walk.Act{At: 4*lease + lease/3, Kind: walk.Sever, Server: 1, For: 8 * lease},
		)},
		{"a witness that only such candidates made has no history, and none of them waits", blindNewcomer(
			walk.Act{At: lease, Kind: walk.Kill, Node: 0, For: 5 * lease / 2},
			walk.Act{At: lease, Kind: walk.Restart, Server: 0, For: lease / 10},
			walk.Act{At: lease + lease/5, Kind: walk.Follow, Server: 1},
			walk.Act{At: 4 * lease, Kind: walk.Sever, Server: 1, For: 8 * lease},
			walk.Act{At: 5 * lease, Kind: walk.Resign, Node: -1, For: lease},
		)},
	} {
		found := carryOut(t, test.c)
		if !slices.ContainsFunc(found, func(f checker.Finding) bool { return f.Promise == checker.AtMostOneLeader }) {
			t.Errorf("%s: %v was found, want two leaders", test.what, found)
		}
	}
}
