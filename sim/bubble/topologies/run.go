package topologies

import (
	"context"
	"fmt"

	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/space"
)

// Obligations are what a case is held to beside the promises of its plan.
var Obligations = space.Obligations{
	string(bubble.OfLease):      "a candidate is told that it has the lease only if as many servers hold it as have to, and that it has lost it only if the server does not hold it",
	string(bubble.OfSilence):    "a store is said to be silent only if it has not answered for a lease; one that answers, and lacks confirmations, is said to refuse",
	string(bubble.OfLeader):     "Observe yields who has led for two leases",
	string(bubble.OfTerms):      "History has every term whose lease was renewed, as long as no server has forgotten anything",
	string(bubble.OfCandidates): "Candidates has every candidate that has competed for two leases",
	carriedOut:                  "a case is a plan that the world can carry out",
}

// carriedOut is the obligation that is not the elector's.
const carriedOut = "carried out"

// Run carries out the case. It must be called in a bubble.
func (c Case) Run(ctx context.Context) space.Outcome {
	var found space.Findings
	h, err := (&bubble.World{Untrue: func(about bubble.Truth, what string) { found.Find(string(about), "%s", what) }}).Run(ctx, c.Plan(), "")
	if err != nil {
		found.Find(carriedOut, "%v", err)
	}
	return space.Outcome{History: h, Findings: found.All()}
}

// Features are what is drawn in the case, each in a word or two.
func (c Case) Features() []string {
	set := map[string]bool{
		fmt.Sprint("topology:", c.Topology): true, fmt.Sprint("servers:", c.Servers): true, fmt.Sprint("nodes:", c.Nodes): true,
		"confirmed": c.Replicas > 0, "far": c.Far > 0, "releases": c.Releases != nil, "divided": c.Divided(), "returns": c.Returns(),
	}
	for _, a := range c.Acts {
		set["act:"+a.Kind.String()] = true
		set["silent"] = set["silent"] || a.Silent != 0
		set["linger"] = set["linger"] || a.Linger != 0
	}
	return space.Features(set)
}
