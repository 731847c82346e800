package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/containers"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// dryRun is what chaos run --dry-run --json prints.
type dryRun struct {
	Where     string        `json:"where"`
	LeftOut   []leftOut     `json:"left_out"`
	Asks      *asked        `json:"asks,omitempty"` // of a Redis that others use
	Parallel  int           `json:"parallel"`
	Scenarios []dryScenario `json:"scenarios"`
}

type asked struct {
	Connections int     `json:"connections"`
	Ops         float64 `json:"commands_per_second"`
	Keys        int     `json:"keys"`
	LastsMS     int64   `json:"lasts_ms"`
}

type dryScenario struct {
	Scenario string    `json:"scenario"`
	Nodes    int       `json:"nodes"`
	LastsMS  int64     `json:"lasts_ms"`
	Steps    []dryStep `json:"steps"`
}

// dryStep is a fault of a schedule, in the order of their beginnings. At counts from the
// first leader's first write.
type dryStep struct {
	AtMS   int64          `json:"at_ms"`
	ForMS  int64          `json:"for_ms"` // 0: it is over at once
	Fault  string         `json:"fault"`
	Params map[string]any `json:"params,omitempty"`
	Target string         `json:"target"`
	What   string         `json:"what"`
	Hurts  string         `json:"hurts"`  // at the most
	Undone string         `json:"undone"` // how
}

// foreseen is the place in which the run would take place, as far as that can be told
// without opening anything.
func (f *runFlags) foreseen(m Main) *place {
	if f.world == virtualWorld {
		return f.inVirtual(m)
	}
	if f.world == bubbleWorld {
		return f.inBubble()
	}
	if f.world == containersWorld {
		return &place{
			name: containersWorld, subject: f.subject(), private: true, forgetful: true, several: true, cannot: containers.Lacks,
			says: "World: containers; Redis is a container, too",
		}
	}
	private, forgetful := redisserver.Foresee(f.redis)
	says := "a private Redis, started for the run"
	if !private {
		says = "Redis: " + reports.Redact(f.redis) + "; others use it, and it was not asked anything"
	}
	return &place{name: liveWorld, subject: f.subject(), private: private, owned: f.own && f.shared(), forgetful: forgetful, attended: forgetful, several: private, says: says}
}

// budget is what the run asks for, if others use the Redis. It is nothing otherwise.
func (f *runFlags) budget(m Main, list []scenarios.Planned, named bool) (live.Demand, error) {
	if !f.shared() {
		return live.Demand{}, nil
	}
	list, _, err := f.foreseen(m).split(list, named)
	if err != nil {
		return live.Demand{}, err
	}
	return f.afford(list)
}

// rehearse is chaos run --dry-run: it says what would be done to whom, and does nothing.
func (m Main) rehearse(f *runFlags, list []scenarios.Planned, named bool) error {
	wanted := f.parallel
	there := f.foreseen(m)
	list, left, err := there.split(list, named)
	if err != nil {
		return err
	}
	demand, err := f.budget(m, list, named)
	if err != nil {
		return err
	}
	d := dryRun{Where: there.says, LeftOut: append([]leftOut{}, left...), Parallel: f.parallel, Scenarios: []dryScenario{}}
	if f.shared() {
		d.Asks = &asked{demand.Connections, demand.Ops, demand.Keys, demand.Lasts.Milliseconds()}
	}
	for _, s := range list {
		d.Scenarios = append(d.Scenarios, rehearsal(s.Plan, there.private))
	}
	if f.asJSON {
		return json.NewEncoder(m.Stdout).Encode(d)
	}
	m.tellRehearsal(d, demand, f, wanted)
	return nil
}

// rehearsal is the schedule of a plan in words.
func rehearsal(plan sim.Plan, private bool) dryScenario {
	s := dryScenario{
		Scenario: plan.Scenario, Nodes: plan.Nodes, LastsMS: (plan.Schedule.End() + plan.Quiet).Milliseconds(), Steps: []dryStep{},
	}
	for _, step := range plan.Schedule.Sorted() {
		effect := step.Fault.Effect()
		one := dryStep{
			AtMS: step.At.Milliseconds(), Fault: step.Fault.Name(), Params: step.Fault.Params(), Target: step.Target.String(),
			What: effect.Summary, Hurts: hurts(step, private), Undone: effect.Undone,
		}
		if !effect.Instant {
			one.ForMS = step.For.Milliseconds()
		}
		s.Steps = append(s.Steps, one)
	}
	return s
}

// hurts says whom a fault can hurt at the most.
func hurts(step faults.Step, private bool) string {
	effect := step.Fault.Effect()
	switch {
	case effect.Own:
		return "the run's own election: only its keys are touched"
	case effect.Store && private:
		return "the run's own candidates: the store is the run's own"
	case effect.Store:
		return "everybody who uses the store"
	default:
		return "the run's own candidates: " + step.Target.String()
	}
}

// tellRehearsal says it to a person.
func (m Main) tellRehearsal(d dryRun, demand live.Demand, f *runFlags, wanted int) {
	tell := func(format string, args ...any) { fmt.Fprintf(m.Stdout, format+"\n", args...) }
	tell("Nothing is run: this is what would be done, with seed %d.", f.settings.Seed)
	tell("%s", d.Where)
	for _, left := range d.LeftOut {
		tell("%v", left)
	}
	if f.shared() {
		for _, line := range f.announced(demand, wanted) {
			tell("%s", line)
		}
	}
	for _, s := range d.Scenarios {
		tell("\n%s: %d candidates, about %v", s.Scenario, s.Nodes, (time.Duration(s.LastsMS) * time.Millisecond).Round(100*time.Millisecond))
		if len(s.Steps) == 0 {
			tell("  no fault")
		}
		for _, step := range s.Steps {
			length := "in one moment"
			if step.ForMS > 0 {
				length = fmt.Sprintf("for %v", time.Duration(step.ForMS)*time.Millisecond)
			}
			tell("  %8.3f s  %s on %s, %s%s", float64(step.AtMS)/1000, step.Fault, step.Target, length, parameters(step.Params))
			tell("              %s", step.What)
			tell("              can hurt: %s", step.Hurts)
			tell("              undone:   %s", step.Undone)
		}
	}
}

// parameters are those of a fault, in order.
func parameters(all map[string]any) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		words = append(words, fmt.Sprintf("%s %v", name, all[name]))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}
