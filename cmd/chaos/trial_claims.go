package main

import (
	"time"

	"github.com/recount-io/recount/scenarios/trial"
)

// documentation is what the documents of the subjects claim, by the subjects'
// names. All lengths of time are in leases of the document.
func documentation() map[string]trial.Subject {
	return map[string]trial.Subject{
		"titan": {
			Source: "the titan document",
			Claims: []trial.Claim{
				atMostOne("At most one leader: guaranteed by Redis single-threaded execution"),
				notSplit("No split-brain: network partitions don't create multiple leaders"),
				{Text: "Leader crashes: new leader elected within lease TTL (30 s max)", Fact: trial.Failover, Scenarios: crashes(), Limit: 1},
				{Text: "Network partition: partitioned leader loses lock after TTL", Fact: trial.Failover, Scenarios: partitions(), Limit: 1},
				{Text: "Redis unavailable: all instances become followers", Fact: trial.Blind, Scenarios: []string{"store-pause", "store-restart"}, Limit: 1},
				{Text: "Graceful shutdown: immediate lock release, fast failover (read as: within one retry interval, 10 s)", Fact: trial.Failover, Scenarios: shutdowns(), Limit: 1.0 / 3},
			},
		},
		"pod":     {Source: "the pod document, first version", Claims: podClaims()},
		"pod-lua": {Source: "the pod document, last version", Claims: podClaims()},
		"arco-memory": {
			Source: "the arco document, in memory", Claims: arcoClaims(),
		},
		"arco-postgres": {
			Source: "the arco document, on PostgreSQL", Claims: arcoClaims(),
		},
		"sovereign": {
			Source: "the sovereign document",
			Claims: []trial.Claim{
				notSplit("Split-brain prevention: Redis acts as coordinator; a partitioned leader cannot renew its TTL"),
				{Text: "Leader crash: recovered in about TTL + election interval (45 s)", Fact: trial.Failover, Scenarios: crashes(), Limit: 1.5, Slack: 0.1},
				{Text: "Network partition: recovered in about TTL + election interval (45 s)", Fact: trial.Failover, Scenarios: partitions(), Limit: 1.5, Slack: 0.1},
				{Text: "Clean leader shutdown: recovered in about the election interval (15 s)", Fact: trial.Failover, Scenarios: shutdowns(), Limit: 0.5, Slack: 0.1},
				{
					Text: "Follower about 8, leader about 10 operations a minute: of these one each election cycle on the lease, 20 a minute for five instances",
					Fact: trial.Operations, Scenarios: calm(), Limit: 20, Slack: 0.1, Lease: 30 * time.Second, Nodes: 5,
				},
			},
		},
		"honua": {
			Source: "the honua document",
			Claims: []trial.Claim{
				atMostOne("Only one instance becomes the leader"),
				notSplit("Split-brain: prevented by the atomic operations of Redis"),
				{Text: "If the leader crashes, the lock expires after 30 s and followers compete for it", Fact: trial.Failover, Scenarios: crashes(), Limit: 1, Slack: 0.1},
				{Text: "Acquisition: < 10 ms (typical)", Fact: trial.Acquisition, Scenarios: []string{"steady", "crash-leader"}, Limit: 10},
				{Text: "Renewal: < 5 ms (typical)", Fact: trial.Renewal, Scenarios: calm(), Limit: 5},
				{Text: "About 60 operations a minute for 10 instances", Fact: trial.Operations, Scenarios: calm(), Limit: 60, Slack: 0.1, Lease: 30 * time.Second, Nodes: 10},
			},
		},
	}
}

// The scenarios that show what a claim is about.
func crashes() []string    { return []string{"crash-leader"} }
func partitions() []string { return []string{"partition-leader"} }
func shutdowns() []string  { return []string{"resign-leader"} }
func calm() []string       { return []string{"steady"} }

// atMostOne is the claim that nowhere two lead at one time.
func atMostOne(text string) trial.Claim { return trial.Claim{Text: text, Fact: trial.TwoLeaders} }

// notSplit is the same of partitions.
func notSplit(text string) trial.Claim {
	return trial.Claim{Text: text, Fact: trial.TwoLeaders, Scenarios: []string{"partition-leader", "partition-minority", "partition-all", "flapping-network"}}
}

func podClaims() []trial.Claim {
	return []trial.Claim{
		atMostOne("The system prevents split-brain scenarios"),
		{Text: "Only one leader writes logs at a time; another pod leads: it stops writing immediately", Fact: trial.StaleWrites},
		{Text: "If the leader crashes, another pod takes over", Fact: trial.Failover, Scenarios: crashes(), Limit: 2},
	}
}

func arcoClaims() []trial.Claim {
	return []trial.Claim{
		atMostOne("Only one scheduler instance is active at a time; split-brain scenarios are prevented"),
		{Text: "Fencing tokens prevent split-brain data corruption", Fact: trial.StaleWrites},
		{Text: "Automatic failover on leader crash: lease expiry allows it", Fact: trial.Failover, Scenarios: crashes(), Limit: 1.0 + 1.0/3, Slack: 0.1},
	}
}
