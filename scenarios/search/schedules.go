package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/space"
)

// Schedule is a case of chaos fuzz without --in, on the code that ships.
type Schedule struct {
	Number uint64
	Plan   sim.Plan // as package fuzz judges it in virtual time
}

// OfPlan returns the case of a plan that package fuzz has drawn or read.
func OfPlan(plan sim.Plan) Case {
	return wrapped[Schedule]{Schedule{plan.Seed, plan}, plan.Seed, judgeSchedule}
}

// drawSchedule draws the first plan that a bubble can carry out: nearly all can.
func drawSchedule(number uint64) Schedule {
	for n := max(number, 1); ; n++ {
		c := fuzz.Draw(fuzz.Pins{Subject: "recount", Plain: true}, n)
		if plan := c.Plan(); bubble.Refuses(plan) == "" {
			return Schedule{number, plan}
		}
	}
}

// Run carries out the plan. It must be called in a bubble.
func (s Schedule) Run(ctx context.Context) (o space.Outcome) {
	h, err := (&bubble.World{}).Run(ctx, patient(s.Plan), "")
	if err != nil {
		o.Findings = append(o.Findings, space.Finding{Obligation: "carried out", Details: err.Error()})
	}
	o.History = h
	return o
}

// judgeSchedule judges as the fuzzer of plans does.
func judgeSchedule(_ Schedule, r *checker.Result) []space.Finding {
	if failed, is := fuzz.Verdict(r); is {
		return []space.Finding{{Obligation: string(failed.Promise), Details: failed.Reason}}
	}
	return nil
}

// Features are the faults, whom they hit, and how many candidates there are.
func (s Schedule) Features() []string {
	set := map[string]bool{fmt.Sprint("nodes:", s.Plan.Nodes): true}
	for _, step := range s.Plan.Schedule {
		set["fault:"+step.Fault.Name()] = true
		set["target:"+step.Target.String()] = true
	}
	return space.Features(set)
}

// Simpler are plans with a step less, or with fewer candidates.
func (s Schedule) Simpler() (all []Schedule) {
	for i := range s.Plan.Schedule {
		one := s
		one.Plan.Schedule = slices.Delete(slices.Clone(s.Plan.Schedule), i, i+1)
		all = append(all, one)
	}
	return all
}

// patient is a plan as a bubble carries it out, which may hold up requests.
func patient(plan sim.Plan) sim.Plan {
	late := heldUp(plan)
	plan.ReturnBound, plan.Quiet = plan.ReturnBound+late, plan.Quiet+late
	if plan.FailoverBound > 0 {
		plan.FailoverBound += late
	}
	// A leader that renewed just before a cut has to renew again after the cut.
	t := plan.Timings
	plan.Steadfast = plan.Steadfast && t.Renew+2*late+t.Renew/2+t.Retry < t.Lease-time.Duration(float64(t.Lease)*plan.Drift)
	return plan
}

// heldUp is how much later than in virtual time a request may arrive because of the
// plan's faults, maybe of a process that is dead by then. After a cut the bubble's
// network tries again, as TCP does, after pauses that double, so the last pause is as
// long as the cut at the most. On a narrow way the whole text of a script takes its
// time, which a server that does not know the script is sent.
func heldUp(plan sim.Plan) (late time.Duration) {
	text := len(scripts.Acquire())
	for _, step := range plan.Schedule {
		effect := step.Fault.Effect()
		if effect.Cuts {
			late = max(late, step.For)
		}
		late = max(late, effect.Late(text)-effect.Delay)
	}
	return late
}
