package league

import (
	"context"
	"fmt"

	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// Clean is what the production elector, which no bug was planted in, came to
// under the same.
type Clean struct {
	Schedules int     // drawn at random
	Seconds   float64 // that they took
	Faults    int     // in them
	Runs      int     // of the scenarios by which mutants are hunted
	Alarms    []Alarm

	Shard campaign.Shard `json:"-"` // the part of a campaign that is run; the zero Shard is all of it
}

// Alarm is a promise that the production elector broke, or seemed to.
type Alarm struct {
	fuzz.Failed

	By   string // how it was hunted
	Seed uint64 // that repeats it
}

// subject is the production elector.
const subject = "recount"

// Sentence says what the clean runs amount to.
func (c *Clean) Sentence() string {
	text := fmt.Sprintf("%s random schedules of the production elector, with %s faults", grouped(c.Schedules), grouped(c.Faults))
	if c.Runs > 0 {
		text += fmt.Sprintf(", and %s runs of those scenarios", grouped(c.Runs))
	}
	return text + ": " + plural(len(c.Alarms), "false alarm") + "."
}

func plural(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	default:
		return fmt.Sprintf("%d %ss", n, what)
	}
}

// grouped is a number with its digits in groups of three.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// AtRandom lets the production elector live through so many random schedules, or
// through the shard's part of them.
func (c *Clean) AtRandom(ctx context.Context, seed uint64, schedules int, progress func(fuzz.Progress)) error {
	for c.Schedules < schedules {
		r := fuzz.Run(ctx, fuzz.Options{
			Seed: seed + uint64(c.Schedules), Schedules: schedules - c.Schedules, Pins: fuzz.Pins{Subject: subject},
			Shrink: unshrunk, Progress: progress, Shard: c.Shard,
		})
		c.Schedules += r.Schedules
		c.Seconds += r.Seconds
		c.Faults += r.Injected
		for i := range r.Failures {
			f := &r.Failures[i]
			c.Alarms = append(c.Alarms, Alarm{Failed: f.Drawn.Failed, By: new(Mutant).By(), Seed: f.Seed})
		}
		if r.Err != nil {
			return fmt.Errorf("league: %w", r.Err)
		}
		if c.Shard.Given() {
			break
		}
	}
	return nil
}

// ByScenario lets the production elector run every scenario by which a mutant is
// hunted, so often each, or the shard's part of these scenarios.
func (c *Clean) ByScenario(ctx context.Context, seed uint64, runs int) error {
	world := virtual.World{}
	done := map[string]bool{}
	for _, m := range Mutants() {
		if m.Scenario == "" || done[m.By()] {
			continue
		}
		done[m.By()] = true
		if !c.Shard.Takes(len(done) - 1) {
			continue
		}
		for i := range runs {
			plan, err := m.plan(subject, SeedOf(seed, i))
			if err != nil {
				return err
			}
			all, err := broken(ctx, &world, plan)
			if err != nil {
				return fmt.Errorf("league: %w", err)
			}
			c.Runs++
			for _, f := range all {
				c.Alarms = append(c.Alarms, Alarm{Failed: f, By: m.By(), Seed: plan.Seed})
			}
		}
	}
	return nil
}
