package calls

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// header says to the checkers what such a run can be held to.
func (r *run) header() history.Header {
	h := history.Header{
		Scenario: "calls", Subject: "recount", World: "bubble", Seed: r.Number, Lease: r.longest(), Renew: r.shortestRenew(), Retry: r.longestRetry(),
		DriftPPM: r.driftPPM(), Margin: time.Millisecond, Write: r.pace(), ReturnBound: r.bound(), Redis: "model of redis " + redismodel.Version,
		Promises: r.promises(),
	}
	for _, p := range r.processes {
		h.Nodes = append(h.Nodes, p.name)
	}
	return h
}

// driftPPM is the share that every deadline leaves, on the run's clock.
func (r *run) driftPPM() int64 {
	least := math.Inf(1)
	for _, m := range r.Processes {
		if m.Skew != 0 {
			return 0 // a clock that is as slow as it may be uses all of its share up
		}
		least = min(least, cmp.Or(m.Drift, elector.DefaultDrift))
	}
	return int64(least * 1e6)
}

// promises are those that the run can be held to.
func (r *run) promises() []string {
	all := []string{"WellFormed", "BeliefWithinLease", "StepsDownOnLoss", "WriteWithinTerm", "FencedWrites"}
	if r.opensInTime() {
		all = append(all, "LeaderReturns")
	}
	if !r.endsLeases() {
		all = append(all, "AtMostOneLeader")
	}
	if !r.losesCount() {
		all = append(all, "TokensIncrease")
	}
	if !r.hasOf(func(t trait) bool { return t.data }) && r.Elections <= few {
		all = append(all, "LeaseLinearizable")
	}
	if len(r.Acts) == 0 && !r.far() && !r.anyone(func(m Behavior) bool { return !m.plain() || m.Failback }) {
		all = append(all, "Stable")
	}
	return all
}

// endsLeases reports whether the server may end a lease before its time, which no
// elector survives: its clock is set forward, older data is restored without a restart (who
// has not asked before does not notice), another one granted leases of which it
// has not heard, or its record of leases is lost and somebody may ask who was never told
// how long the longest lasts.
func (r *run) endsLeases() bool {
	forward := func(a Act) bool { return a.Kind == StepClock && a.By > 0 }
	for _, a := range r.Acts {
		if forward(a) {
			return true
		}
	}
	return r.unnotified() || r.Has(Rewind) || r.uneven() && r.Has(Forget, Wipe, Retire, Evict, Vanish, Overwrite, Restart, Failback)
}

// losesCount reports whether the count of tokens may go down: somebody wrote it, or it
// was lost while the server's clock, which stands in for it, was wrong.
func (r *run) losesCount() bool {
	return r.unnotified() || r.Has(Overwrite) || r.Has(StepClock) && r.Has(Forget, Wipe, Retire, Evict, Vanish, Rewind, Restart, Failback)
}

// unnotified reports whether a primary is replaced, comes back and never hears of it.
func (r *run) unnotified() bool {
	return slices.ContainsFunc(r.Acts, func(a Act) bool { return a.Kind == Failback && !a.notified() })
}

// Crowded reports whether the renewals of a process alone would keep a fifth of its
// connections busy, were they sent one by one.
func (c Case) Crowded() bool {
	for _, m := range c.Processes {
		pool := cmp.Or(m.Pool, 4)
		if float64(c.Elections)*c.RoundTrip.Seconds() > float64(pool)*c.shortestRenew().Seconds()/5 {
			return true
		}
	}
	return false
}

// far reports whether the server is so far away that requests are hardly answered in
// time, or many elections wait for each other's on the way: then somebody leads, and
// nothing more is owed.
func (c Case) far() bool {
	trips := time.Duration(3)
	if c.Elections > few {
		trips = 12
	}
	return trips*c.RoundTrip > c.shortestTimeout()
}

// opensInTime reports whether every process's client opens a connection within the time of
// a request. A client of the caller's own gives up what opens later: see redisstore.FromClient.
func (c Case) opensInTime() bool {
	trips := time.Duration(c.Greeting.trips(c.Databases-1, true) + 1)
	foreign := slices.ContainsFunc(c.Processes, func(m Behavior) bool { return m.Foreign })
	return !foreign || trips*c.RoundTrip <= c.shortestTimeout()
}

// bound is how long an election may be without a leader that works once nothing
// happens any more: two leases, half of one, and some round trips (what is owed in
// time, one of [Obligations] says more exactly); and more where the store was changed, the network is to come to itself, and for what the work of the
// last term takes.
func (r *run) bound() time.Duration {
	lease := r.longest()
	bound := 2*lease + lease/2 + 10*r.RoundTrip + 2*r.longestRetry()
	if r.hasOf(func(t trait) bool { return t.data || t.server }) {
		bound += 2 * lease
	}
	if r.hasOf(func(t trait) bool { return t.way || t.server }) || r.Has(Hangup, HangupOne, StrandOne, Pause, CloseStore, Stop) {
		bound += 2*lease + 4*time.Second
	}
	if r.uneven() {
		bound += 2 * lease // until those count as gone who count on shorter leases
	}
	if r.rolls() {
		bound += 4 * lease // see Release.Blind; and some count on leases twice as long
	}
	if r.anyone(func(m Behavior) bool { m.Releases = [2]Release{}; return !m.plain() }) {
		bound += lease + r.longestDrain() // work may hold on to its lease for so long
	}
	return bound
}

// pace is how often a leader writes.
func (r *run) pace() time.Duration { return r.Lease / time.Duration(r.Writes) }
