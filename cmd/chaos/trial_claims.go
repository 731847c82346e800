package main

import (
	"slices"
	"time"

	"github.com/recount-io/recount/scenarios/trial"
)

// The scenarios that show what a claim is about.
var (
	crashes    = []string{"crash-leader"}
	shutdowns  = []string{"resign-leader"}
	calm       = []string{"steady"}
	contention = []string{"steady", "start-together"}
	slow       = []string{"slow-renewals", "latency-spike", "pause-leader-short"}
	pauses     = []string{"pause-leader", "pause-before-write", "suspend-leader"}
	partitions = []string{"partition-leader", "partition-minority", "partition-all", "requests-lost", "replies-lost", "flapping-network"}
	outages    = []string{"partition-all", "store-pause", "store-restart"}
	// ordinary is what happens to processes and networks. What happens to the
	// store, or to clocks beyond all reason, no document speaks of.
	ordinary = slices.Concat(contention, crashes, shutdowns, []string{"rolling-restart"}, slow, pauses, partitions, []string{"mixed"})
)

// third is how often the documents' electors look, mostly: every 10 s of a
// lease of 30 s.
const third = 1.0 / 3

// about is the slack of a figure that a document gives as a round one.
const about = 0.1

// documentation is what the documents of the subjects claim and what can be
// measured of it, by the subjects' names. Lengths of time are in leases of the
// document.
func documentation() map[string]trial.Subject {
	return map[string]trial.Subject{
		"titan":         {Source: "the titan document", Claims: titanClaims()},
		"pod":           {Source: "the pod document, first version", Claims: podClaims()},
		"pod-lua":       {Source: "the pod document, last version", Claims: podLuaClaims()},
		"arco-memory":   {Source: "the arco document, in memory", Claims: arcoClaims()},
		"arco-postgres": {Source: "the arco document, on PostgreSQL", Claims: arcoClaims()},
		"sovereign":     {Source: "the sovereign document", Claims: sovereignClaims()},
		"honua":         {Source: "the honua document", Claims: honuaClaims()},
	}
}

func titanClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "At most one leader: guaranteed by Redis single-threaded execution", Fact: trial.TwoLeaders, Scenarios: ordinary},
		{Text: "Exactly one instance runs the task at any time", Fact: trial.StaleWrites, Scenarios: ordinary},
		{Text: "No split-brain: network partitions don't create multiple leaders", Fact: trial.TwoLeaders, Scenarios: partitions},
		{Text: "Leader crashes: new leader elected within lease TTL (30 s max)", Fact: trial.Failover, Scenarios: crashes, Limit: 1},
		{Text: "Network partition: partitioned leader loses lock after TTL", Fact: trial.Failover, Scenarios: []string{"partition-leader"}, Limit: 1},
		{Text: "Redis unavailable: all instances become followers, tasks pause", Fact: trial.Blind, Scenarios: outages, Limit: 1},
		{Text: "Graceful shutdown: immediate lock release, fast failover (read as: within one retry interval, 10 s)", Fact: trial.Failover, Scenarios: shutdowns, Limit: third, Slack: about},
	}
}

func podClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "The Redis lease prevents race conditions", Fact: trial.TwoLeaders, Scenarios: contention},
		{Text: "Another pod cannot take over before the lease expires", Fact: trial.Changes, Scenarios: slices.Concat(contention, slow)},
		{Text: "Pods can take over seamlessly when the leader fails (read as: within the lease, 5 s, and a look each second)", Fact: trial.Failover, Scenarios: crashes, Limit: 1.2, Slack: about},
	}
}

func podLuaClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "No accidental double leaders", Fact: trial.TwoLeaders, Scenarios: ordinary},
		{Text: "The system prevents split-brain scenarios", Fact: trial.TwoLeaders, Scenarios: partitions},
		{Text: "If another pod becomes leader, it stops writing immediately", Fact: trial.StaleWrites, Scenarios: ordinary},
		{Text: "Renewal at 80 % of the lease prevents unnecessary leader changes", Fact: trial.Changes, Scenarios: slices.Concat(contention, slow)},
		{Text: "If the leader crashes, another pod takes over (read as: within the lease, 5 s, and a look each second)", Fact: trial.Failover, Scenarios: crashes, Limit: 1.2, Slack: about},
	}
}

func arcoClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "Only one scheduler instance is active at a time", Fact: trial.TwoLeaders, Scenarios: ordinary},
		{Text: "Split-brain scenarios are prevented", Fact: trial.TwoLeaders, Scenarios: partitions},
		{Text: "Fencing tokens prevent split-brain data corruption", Fact: trial.StaleWrites, Scenarios: ordinary},
		{Text: "Lease expiry allows automatic failover (read as: within the lease, 30 s, and a heartbeat, 10 s)", Fact: trial.Failover, Scenarios: crashes, Limit: 1 + third, Slack: about},
	}
}

func sovereignClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "Race condition prevention via double verification", Fact: trial.TwoLeaders, Scenarios: contention},
		{Text: "Split-brain prevention: a partitioned leader cannot renew its TTL", Fact: trial.TwoLeaders, Scenarios: partitions},
		{Text: "Leader crash: recovered in about TTL + election interval (45 s)", Fact: trial.Failover, Scenarios: crashes, Limit: 1.5, Slack: about},
		{Text: "Network partition: recovered in about TTL + election interval (45 s)", Fact: trial.Failover, Scenarios: []string{"partition-leader"}, Limit: 1.5, Slack: about},
		{Text: "Clean leader shutdown: recovered in about the election interval (15 s)", Fact: trial.Failover, Scenarios: shutdowns, Limit: 0.5, Slack: about},
		{
			Text: "Follower about 8, leader about 10 operations a minute: of these one each election cycle on the lease, 20 a minute for five instances",
			Fact: trial.Operations, Scenarios: calm, Limit: 20, Slack: about, Lease: 30 * time.Second, Nodes: 5,
		},
	}
}

func honuaClaims() []trial.Claim {
	return []trial.Claim{
		{Text: "Only one instance executes singleton tasks at any given time", Fact: trial.TwoLeaders, Scenarios: ordinary},
		{Text: "Prevents duplicate processing", Fact: trial.StaleWrites, Scenarios: ordinary},
		{Text: "Split-brain: prevented by the atomic operations of Redis", Fact: trial.TwoLeaders, Scenarios: partitions},
		{Text: "If the leader crashes, the lock expires after 30 s and followers compete for it", Fact: trial.Failover, Scenarios: crashes, Limit: 1, Slack: about},
		{Text: "On shutdown the lock is released (read as: the next one leads within one attempt, 10 s)", Fact: trial.Failover, Scenarios: shutdowns, Limit: third, Slack: about},
		{Text: "Acquisition: < 10 ms (typical)", Fact: trial.Acquisition, Scenarios: []string{"steady", "crash-leader"}, Limit: 10},
		{Text: "Renewal: < 5 ms (typical)", Fact: trial.Renewal, Scenarios: calm, Limit: 5},
		{Text: "About 60 operations a minute for 10 instances", Fact: trial.Operations, Scenarios: calm, Limit: 60, Slack: about, Lease: 30 * time.Second, Nodes: 10},
	}
}
