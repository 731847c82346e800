package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// Timings are the election's durations, the same for all candidates of a run.
type Timings struct {
	Lease time.Duration // how long a lease lasts unless it is renewed
	Renew time.Duration // how often the leader renews it
	Retry time.Duration // how soon a failed request is tried again

	// RequestTimeout is after how long the production elector gives a request up; 0: its
	// default. Other electors have a time-out of their own.
	RequestTimeout time.Duration
}

// Validate explains what is wrong with the timings, if anything is.
func (t Timings) Validate() error {
	switch {
	case t.Lease < 100*time.Millisecond:
		return fmt.Errorf("lease %v is too short: scheduling alone takes milliseconds; give at least 100ms", t.Lease)
	case t.Lease > history.MaxDuration/100: // bounds are a few leases
		return fmt.Errorf("lease %v is too long: no history holds so much time; give at most %v", t.Lease, history.MaxDuration/100)
	case t.Renew <= 0 || t.Retry <= 0:
		return fmt.Errorf("renew %v and retry %v must be positive", t.Renew, t.Retry)
	case t.Renew >= t.Lease:
		return fmt.Errorf("renew %v is not below lease %v: the lease would end before its first renewal; give about a third of the lease", t.Renew, t.Lease)
	case t.Retry >= t.Lease:
		return fmt.Errorf("retry %v is not below lease %v: one failed renewal would cost the lease; give about a tenth of the lease", t.Retry, t.Lease)
	case t.RequestTimeout < 0:
		return fmt.Errorf("request time-out %v is negative; give 0 for the elector's default", t.RequestTimeout)
	default:
		return nil
	}
}

// Network is how long messages between a candidate and the store take when no
// fault makes them slower. It is the same for every candidate and either
// direction; each message draws its own.
type Network struct {
	Latency   time.Duration // of a message, at the least
	Jitter    time.Duration // up to so much more, evenly distributed
	SpikeRate int           // one message in so many takes up to Spike more; 0: none
	Spike     time.Duration //
	LossRate  int           // one message in so many is lost once and sent again; 0: none
}

// Resend is how long it takes until a lost message is sent again: TCP's least
// time-out for that, on Linux.
const Resend = 200 * time.Millisecond

// DefaultNetwork is that of a plan which has none: like that of the live world,
// where two processes on one busy machine have a proxy between them.
func DefaultNetwork() Network {
	return Network{Latency: 150 * time.Microsecond, Jitter: 100 * time.Microsecond, SpikeRate: 5, Spike: time.Millisecond}
}

// Linger is how long a process takes to end after its elector has, in worlds whose
// processes are none of the system's.
const Linger = 30 * time.Millisecond

// Topology is what the store of a run is made of.
type Topology string

// The topologies. The zero value is one server, or a store of the world's own.
const (
	OneServer Topology = ""
	Sentinel  Topology = "sentinel" // a Redis with two replicas, behind three Sentinels
	Cluster   Topology = "cluster"  // a Redis Cluster of three primaries with a replica each
	Quorum    Topology = "quorum"   // five Redis that know nothing of each other, or Plan.Servers

	// Replicated is a Redis with replicas that nobody watches over: Plan.Servers in
	// all. The schedule alone promotes them, which only the bubble lets it do.
	Replicated Topology = "replicated"
)

// Independent is how many stores a topology is that know nothing of each
// other. The servers of the other topologies make up one.
func (t Topology) Independent() int {
	if t == Quorum {
		return 5
	}
	return 1
}

// Plan is one run of one scenario, with everything decided: a world needs
// nothing else to carry it out.
type Plan struct {
	Scenario string
	Subject  string
	Nodes    int
	Timings  Timings
	Drift    float64      // clock-rate difference that the candidates are configured to tolerate
	Topology Topology     // of the store
	Servers  int          // of the store, in a bubble; 0: as many as the topology has
	Replicas int          // how many replicas must confirm what the production elector does
	Releases [][2]Release // what each candidate runs in turn, from one life to the next, in a bubble; nil: all run the same
	Schedule faults.Schedule
	Quiet    time.Duration // how long the run is watched after all is healed
	Writes   time.Duration // how often the leader writes to the protected resource
	Observes time.Duration // how often a candidate asks who leads; 0: twice a lease
	Lateness time.Duration // by how much a fault is late at the most, in the virtual world: the live one is so by itself
	Network  Network       // of the virtual world; the live one has the machine's own
	Seed     uint64        // of every random choice

	// What only the virtual world has of an election.
	Tokens    uint64        // that it has had before the run
	LongLease time.Duration // that every other candidate is configured with, and all count on; 0: Timings.Lease
	HandsOver bool          // a leader that resigns hands the lease over to another candidate

	Promises      []string
	Waived        map[string]string
	Steadfast     bool // no fault of the schedule may make the leader change
	NeedsLeader   bool // if nobody leads at the beginning, the live world ends the run instead of waiting with each fault
	FailoverBound time.Duration
	ReturnBound   time.Duration
	Foreign       bool          // nothing is known of the elector but what it does
	OwesWrites    bool          // a leader is known to write when it is asked to: one that does not leads to no effect
	Margin        time.Duration // what the elector is documented to take off a deadline besides the drift
	Repro         string
}

// Release is what a candidate runs that others need not run.
type Release struct {
	Replicas int  // in place of Plan.Replicas
	Blind    bool // its user of Redis may not use INFO
}

// Asks is how often a candidate asks who leads, as those do who do not compete.
func (p Plan) Asks() time.Duration {
	if p.Observes > 0 {
		return p.Observes
	}
	return p.Timings.Lease / 2
}

// NodeNames returns the names of the plan's candidates: n1, n2, ….
func (p Plan) NodeNames() []string {
	names := make([]string, p.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i+1)
	}
	return names
}

// Header returns the first line of the run's history.
func (p Plan) Header(world, store string, clockError time.Duration) history.Header {
	h := history.Header{
		Scenario: p.Scenario, Subject: p.Subject, World: world, Seed: p.Seed, Nodes: p.NodeNames(),
		Lease: p.Timings.Lease, Renew: p.Timings.Renew, Retry: p.Timings.Retry,
		ClockError: clockError, DriftPPM: int64(math.Floor(p.Drift*1e6 + 1e-6)),
		Promises: p.Promises, Waived: p.Waived,
		Steadfast: p.Steadfast, FailoverBound: p.FailoverBound, ReturnBound: p.ReturnBound, Margin: p.Margin, Foreign: p.Foreign,
		Redis: store, Repro: p.Repro,
	}
	if p.OwesWrites {
		h.Write = p.Writes
	}
	return h
}
