package league

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Hunt is what is done to find a mutant. The same seed finds the same.
type Hunt struct {
	Seed   uint64
	Limit  int  // schedules, or runs of its scenario, at the most
	Shrink bool // what is found is shrunk
}

// Sighting is what a hunt came to.
type Sighting struct {
	Found     bool
	Failed    fuzz.Failed // by which it was found
	Seed      uint64      // with which it is found at once
	Schedules int         // or runs of a scenario: how many it took, or were made in vain
	Seconds   float64     // of the machine's time, without shrinking
	Faults    int         // of the schedule that shows it
	Text      string      // that schedule in a few words

	// Elsewhere are the promises that were broken before, and that the mutant
	// is not about; Disputes those in which the checkers contradict each other.
	Elsewhere, Disputes []fuzz.Failed
}

// patience is how many broken promises are dismissed in one hunt, because the
// mutant is not about them, until it is given up.
const patience = 1000

// counts tells whether the mutant is found by that.
func (m *Mutant) counts(f fuzz.Failed) bool {
	return slices.Contains(m.Breaks, f.Promise) && !disputed(f)
}

// disputed tells whether it is the checkers that disagree.
func disputed(f fuzz.Failed) bool { return strings.Contains(f.Reason, "harness") }

func (s *Sighting) dismiss(f fuzz.Failed) {
	if disputed(f) {
		s.Disputes = append(s.Disputes, f)
	} else {
		s.Elsewhere = append(s.Elsewhere, f)
	}
}

// Find hunts the mutant: as it is to be hunted, until it is found.
func (m *Mutant) Find(ctx context.Context, h Hunt) (Sighting, error) {
	if m.Scenario != "" {
		return m.findByScenario(ctx, h)
	}
	return m.findAtRandom(ctx, h)
}

// unshrunk is the time that is given to shrinking where nobody wants it.
const unshrunk = -1

func (m *Mutant) findAtRandom(ctx context.Context, h Hunt) (s Sighting, err error) {
	pins := m.Pins
	pins.Subject = m.Name
	o := fuzz.Options{Pins: pins, Subjects: map[string]virtual.Subject{m.Name: m.Subject}, Shrink: unshrunk}
	if h.Shrink {
		o.Shrink = fuzz.DefaultShrink
	}
	for s.Schedules < h.Limit && len(s.Elsewhere)+len(s.Disputes) < patience {
		o.Seed, o.Schedules = h.Seed+uint64(s.Schedules), h.Limit-s.Schedules
		r := fuzz.Run(ctx, o)
		s.Schedules += r.Schedules
		if r.Err != nil {
			return s, fmt.Errorf("league: %s: %w", m.Name, r.Err)
		}
		if len(r.Failures) == 0 {
			s.Seconds += r.Seconds
			return s, nil
		}
		f := &r.Failures[0]
		s.Seconds += f.Seconds
		if m.counts(f.Drawn.Failed) {
			s.Found, s.Failed, s.Seed = true, f.Drawn.Failed, f.Seed
			s.Faults, s.Text = len(f.Case.Schedule), oneLine(&f.Case)
			return s, nil
		}
		s.dismiss(f.Drawn.Failed)
	}
	return s, nil
}

func (m *Mutant) findByScenario(ctx context.Context, h Hunt) (s Sighting, err error) {
	world := virtual.World{Subjects: map[string]virtual.Subject{m.Name: m.Subject}}
	begun := time.Now()
	for ; s.Schedules < h.Limit && len(s.Elsewhere)+len(s.Disputes) < patience; s.Seconds = time.Since(begun).Seconds() {
		plan, err := m.plan(m.Name, h.Seed+uint64(s.Schedules))
		if err != nil {
			return s, err
		}
		s.Schedules++
		all, err := broken(ctx, &world, plan)
		if err != nil {
			return s, fmt.Errorf("league: %s: %w", m.Name, err)
		}
		if i := slices.IndexFunc(all, m.counts); i >= 0 {
			s.Seconds = time.Since(begun).Seconds()
			s.Found, s.Failed, s.Seed = true, all[i], plan.Seed
			if h.Shrink {
				plan = m.dropSteps(ctx, &world, plan, all[i].Promise)
			}
			s.Faults, s.Text = len(plan.Schedule), fmt.Sprintf("%d candidates, lease %v", plan.Nodes, plan.Timings.Lease)
			s.Text = strings.Join(append([]string{s.Text}, stepLines(plan.Schedule)...), "; ")
			return s, nil
		}
		for _, f := range all {
			s.dismiss(f)
		}
	}
	return s, nil
}

// broken are the promises that a run of the plan breaks, those first that were
// asked for first.
func broken(ctx context.Context, world *virtual.World, plan sim.Plan) (all []fuzz.Failed, err error) {
	h, err := world.Run(ctx, plan, "")
	if err != nil {
		return nil, err
	}
	r := checker.Check(h, checker.Options{})
	for _, f := range r.Asked {
		if f.Verdict == checker.Fail {
			all = append(all, fuzz.Failed{Promise: f.Promise, Reason: f.Reason})
		}
	}
	if f, is := fuzz.Verdict(r); is && disputed(f) {
		all = append(all, f)
	}
	return all, nil
}

// dropSteps leaves out the steps of a scenario that the mutant does not need to
// be found.
func (m *Mutant) dropSteps(ctx context.Context, world *virtual.World, plan sim.Plan, promise checker.Promise) sim.Plan {
	for i := 0; i < len(plan.Schedule); {
		fewer := plan
		fewer.Schedule = slices.Delete(slices.Clone(plan.Schedule), i, i+1)
		all, err := broken(ctx, world, fewer)
		if err == nil && slices.ContainsFunc(all, func(f fuzz.Failed) bool { return f.Promise == promise && m.counts(f) }) {
			plan = fewer
		} else {
			i++
		}
	}
	return plan
}

// oneLine is a case in a few words.
func oneLine(c *fuzz.Case) string {
	words := []string{fmt.Sprintf("%d candidates, lease %v, drift %v", c.Nodes, c.Timings.Lease, c.Drift)}
	if c.Nodes == 1 {
		words[0] = strings.Replace(words[0], "candidates", "candidate", 1)
	}
	return strings.Join(append(words, stepLines(c.Schedule)...), "; ")
}

func stepLines(s faults.Schedule) []string {
	if len(s) == 0 {
		return []string{"no fault at all"}
	}
	var lines []string
	for _, step := range s {
		lines = append(lines, stepLine(step))
	}
	return lines
}

func stepLine(s faults.Step) string {
	text := fmt.Sprintf("at %v %s", s.At, s.Fault.Name())
	params := s.Fault.Params()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != "cut" && name != "keep_data" { // the fault's name says it
			text += fmt.Sprintf(" %s=%v", name, params[name])
		}
	}
	if s.Target != faults.Store {
		text += fmt.Sprintf(" on %v", s.Target)
	}
	if !s.Fault.Effect().Instant {
		text += fmt.Sprintf(" for %v", s.For)
	}
	return text
}
