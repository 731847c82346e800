// Package soak keeps a fleet of electors on real Redis servers under drawn faults
// for as long as one likes, and judges all of it as it goes.
//
// The fleet is some groups, each of a redis-server, its part of the elections, and
// three candidates' processes, which reach the server through toxiproxy and compete
// in all of the group's elections with one store. A group lives in rounds: faults
// are drawn from the seed and carried out, then all is healed, and it is quiet until
// every election has had the time to be calm. There the histories of the elections
// are cut, judged as links of a [checker.Chain], and forgotten. A toxiproxy that hangs
// is replaced, together with the candidate behind it, and the report says so.
package soak

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
)

// Options of a soak. Zero values are the defaults.
type Options struct {
	Duration  time.Duration // one hour: it ends with the rounds that are under way then
	Elections int           // 1,000, in all groups together
	Groups    int           // 4
	Lease     time.Duration // 1 s
	Seed      uint64        // from which everything is drawn
	Folder    string        // for the history of a broken promise and what candidates print

	// Leak plants a leak in the candidates, to see it found: "goroutine" or
	// "descriptor", one of them for each term.
	Leak string

	// Say gets a line now and then about how far it is.
	Say func(format string, args ...any)

	_ struct{}
}

const (
	// window is how long faults of a round begin, and quiet how many leases nothing
	// happens after the last one is over.
	window = 6 * time.Second
	// returnBound is how many leases it may take until somebody leads after healing,
	// and slack what processes take to start.
	returnBound = 4
	slack       = 2 * time.Second
	// quiet is how long it is calm after that: a history is cut there.
	quiet = 6 * time.Second
	// settled is how long what is recorded may be on its way to the harness.
	settled = 1500 * time.Millisecond
	// judgeCap is how long the search for an order of one history may take: meanwhile
	// a hundred others come.
	judgeCap = 2 * time.Second
	// carried is how many rounds an election may be without a moment to cut at.
	carried = 5
)

func (o Options) filled() Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Duration, time.Hour)
	set(&o.Lease, time.Second)
	if o.Elections == 0 {
		o.Elections = 1000
	}
	if o.Groups == 0 {
		o.Groups = 4
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	return o
}

// repro is the command that draws the same faults.
func (o Options) repro() string {
	return fmt.Sprintf("chaos soak --for %v --elections %d --groups %d --lease %v --seed %d", o.Duration, o.Elections, o.Groups, o.Lease, o.Seed)
}

// promises are what is asked for in every election. WriteWithinTerm is measured only:
// a busy machine may hold up a goroutine between its check and its write, as it may
// any, and no elector promises that none is late. The fence is asked for.
var promises = []checker.Promise{
	checker.WellFormed, checker.NoPanic, checker.LeaseLinearizable, checker.AtMostOneLeader, checker.BeliefWithinLease,
	checker.StepsDownOnLoss, checker.TokensIncrease, checker.FencedWrites, checker.LeaderReturns,
}
