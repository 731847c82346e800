package fuzz

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// Case is everything about one run in the virtual world. The same case gives
// the same history, to the byte.
type Case struct {
	Subject  string
	Seed     uint64 // of every random choice of the world
	Nodes    int
	Timings  sim.Timings
	Drift    float64 // clock-rate difference that the candidates are configured to tolerate
	Network  sim.Network
	Writes   time.Duration // how often the leader writes to the protected resource
	Observes time.Duration // how often a candidate asks who leads
	Behavior
	Schedule faults.Schedule
	Quiet    time.Duration // how long the run is watched after all is healed

	// What is asked of the run: Judge sets it from all of the above.
	Steadfast     bool // no fault of the schedule may make the leader change
	FailoverBound time.Duration
	ReturnBound   time.Duration
	Waived        map[checker.Promise]string

	// Failed is what the case is kept for; empty for one that nobody has run.
	Failed Failed

	drawn turned // where the dials stood, if it was drawn
}

// Failed says which promise a run broke, and how.
type Failed struct {
	Promise checker.Promise
	Reason  string
}

// scenario is the name of every case in its history.
const scenario = "fuzz"

// Plan is the case as a world carries it out.
func (c *Case) Plan() sim.Plan {
	plan := sim.Plan{
		Scenario: scenario, Subject: c.Subject, Nodes: c.Nodes, Timings: c.Timings, Drift: c.Drift,
		Schedule: c.Schedule, Quiet: c.Quiet, Writes: c.Writes, Observes: c.Observes, Network: c.Network, Seed: c.Seed,
		Waived: map[string]string{}, Steadfast: c.Steadfast, FailoverBound: c.FailoverBound, ReturnBound: c.ReturnBound,
		Margin: scenarios.MarginOf(c.Subject), OwesWrites: true,
		Tokens: c.Tokens, LongLease: c.LongLease, HandsOver: c.HandsOver,
	}
	for _, promise := range checker.Promises {
		if why, waived := c.Waived[promise]; waived {
			plan.Waived[string(promise)] = why
		} else {
			plan.Promises = append(plan.Promises, string(promise))
		}
	}
	return plan
}

// FromPlan is the case that a plan describes: Plan gives back the same run.
func FromPlan(plan sim.Plan) Case {
	c := Case{
		Subject: plan.Subject, Seed: plan.Seed, Nodes: plan.Nodes, Timings: plan.Timings, Drift: plan.Drift,
		Network: plan.Network, Writes: plan.Writes, Observes: plan.Observes, Schedule: plan.Schedule, Quiet: plan.Quiet,
		Behavior:  Behavior{Tokens: plan.Tokens, LongLease: plan.LongLease, HandsOver: plan.HandsOver},
		Steadfast: plan.Steadfast, FailoverBound: plan.FailoverBound, ReturnBound: plan.ReturnBound,
	}
	for promise, why := range plan.Waived {
		if c.Waived == nil {
			c.Waived = map[checker.Promise]string{}
		}
		c.Waived[checker.Named(promise)] = why
	}
	return c
}

// World carries out plans: the virtual world, mostly.
type World interface {
	Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error)
}

// porcupineCap bounds the black-box search of one case. The history of a case
// is short: a search that takes so long is not going to end.
const porcupineCap = 5 * time.Second

// Try runs the case and judges its history. The error is an *EndlessError for a case that
// does not end in virtual time.
func (c *Case) Try(ctx context.Context, w World) (*history.History, *checker.Result, error) {
	h, err := carryOut(ctx, w, c.Plan())
	if err != nil {
		return h, nil, fmt.Errorf("fuzz: %w", err)
	}
	return h, checker.Check(h, checker.Options{PorcupineCap: porcupineCap}), nil
}

// Verdict is what a result says about the promises that a case asks for: the
// first one that is broken, if there is one. Three checkers of one promise
// that disagree count as broken: then the harness is wrong.
func Verdict(r *checker.Result) (Failed, bool) {
	for _, f := range r.Asked {
		if f.Verdict == checker.Fail || f.Verdict == checker.Unknown && disagree(r, f.Promise) {
			return Failed{Promise: f.Promise, Reason: f.Reason}, true
		}
	}
	return Failed{}, false
}

// verdictOn is what a result says about one promise, if it is asked for.
func verdictOn(r *checker.Result, p checker.Promise) (Failed, bool) {
	for _, f := range r.Asked {
		if f.Promise == p {
			return Failed{Promise: p, Reason: f.Reason}, f.Verdict == checker.Fail
		}
	}
	return Failed{}, false
}

// disagree reports whether one checker of the promise passes what another one
// fails.
func disagree(r *checker.Result, p checker.Promise) bool {
	if p != checker.LeaseLinearizable {
		return false
	}
	passed, failed := false, false
	for _, f := range []checker.Finding{r.Lease.Intervals, r.Lease.StoreOrder, r.Lease.Porcupine} {
		passed = passed || f.Verdict == checker.Pass
		failed = failed || f.Verdict == checker.Fail
	}
	return passed && failed
}
