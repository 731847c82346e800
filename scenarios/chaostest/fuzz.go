package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
)

// fuzz runs what is saved of former failures of a test, and then plans that are drawn,
// until one fails.
func (r *runner) fuzz(t *testing.T, world World, test string) {
	t.Helper()
	folder := filepath.Join("testdata", "chaostest", fileName(test))
	saved, err := filesIn(folder, ".json")
	if err != nil {
		t.Fatalf("what was saved of former failures: %v", err)
	}
	for _, name := range saved {
		t.Run(name, func(t *testing.T) { r.repeat(t, world, test, filepath.Join(folder, name)) })
	}
	if t.Failed() {
		return // one thing at a time
	}
	ctx, cancel := untilDeadline(t)
	defer cancel()
	seed := r.drawn
	if seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	source := rand.New(rand.NewPCG(seed, 0))
	for i := range r.plans {
		c := r.draw(max(source.Uint64N(1<<53), 1))
		var o scenarios.Outcome
		o, c.Failed = r.try(ctx, world, test, c, "")
		switch {
		case ctx.Err() != nil:
			t.Errorf("the test's -timeout came after %d of %d plans: give it more time, or fewer plans", i, r.plans)
			return
		case c.Failed.Reason != "":
			r.found(ctx, t, world, test, c, folder)
			return
		case o.Err != nil:
			t.Fatal(sentence(o.Err))
		}
	}
	t.Logf("%d plans, drawn from seed %d, broke nothing", r.plans, seed)
}

// draw is the case of that number, less what an elector of which nothing is known cannot
// be held to.
func (r *runner) draw(number uint64) fuzz.Case {
	c := fuzz.Draw(fuzz.Pins{Subject: subject, Nodes: r.set.Nodes, Timings: sim.Timings{Lease: r.set.Timings().Lease}, Plain: true}, number)
	c.Network = sim.DefaultNetwork()
	c.Schedule = slices.DeleteFunc(c.Schedule, func(step faults.Step) bool { return !step.Fault.Effect().Fair })
	c.Judge()
	return c
}

// textBytes is about the size of the longest script that an elector may send.
const textBytes = 4096

// drawnPlan is a drawn case as the bubble carries it out. What a cut has held up arrives
// after it; nobody knows how soon the elector tries again, so the bounds are at least
// those of the scenarios.
func drawnPlan(c *fuzz.Case) sim.Plan {
	plan := c.Plan()
	plan.Subject, plan.Foreign, plan.OwesWrites, plan.Margin, plan.Steadfast = subject, true, false, 0, false
	var late time.Duration
	for _, step := range plan.Schedule {
		effect := step.Fault.Effect()
		if effect.Cuts {
			late = max(late, step.For)
		}
		late = max(late, effect.Late(textBytes)-effect.Delay)
	}
	plan.ReturnBound = max(plan.ReturnBound, plan.Timings.Lease+plan.Timings.Lease/2) + late
	plan.Quiet = max(plan.Quiet, plan.ReturnBound+plan.Timings.Lease)
	if plan.FailoverBound > 0 {
		plan.FailoverBound = max(plan.FailoverBound, plan.Timings.Lease/2) + late
	}
	return plan
}

// try runs a case and tells what it broke, if its reason is not empty.
func (r *runner) try(ctx context.Context, world World, test string, c fuzz.Case, logs string) (o scenarios.Outcome, failed fuzz.Failed) {
	c.Failed = fuzz.Failed{}
	in := r.fake(world, test, &c)
	o.Plan = drawnPlan(&c)
	o.History, o.Err = in.Run(ctx, o.Plan, logs)
	if o.History == nil {
		if o.Err != nil && ctx.Err() == nil {
			failed.Reason = sentence(o.Err)
		}
		return o, failed
	}
	scenarios.ExcuseTokenless(o.History)
	o.Result = checker.Check(o.History, checker.Options{})
	if blamed := blames(o.History); len(blamed) > 0 {
		return o, fuzz.Failed{Reason: blamed[0]}
	}
	failed, _ = fuzz.Verdict(o.Result)
	return o, failed
}

// shrinkTime bounds how long a failure is made smaller.
const shrinkTime = 30 * time.Second

// found makes a failure smaller, saves it, and tells it.
func (r *runner) found(ctx context.Context, t *testing.T, world World, test string, c fuzz.Case, folder string) {
	t.Helper()
	steps := len(c.Schedule)
	c = r.shrink(ctx, world, test, c)
	text, err := c.Marshal()
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-%d.json", strings.ToLower(string(c.Failed.Promise)), c.Seed))
	if c.Failed.Promise == "" {
		path = filepath.Join(folder, fmt.Sprintf("failure-%d.json", c.Seed))
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Errorf("the plan could not be saved: %v", err)
	} else {
		t.Logf("a drawn plan fails, with %d of its %d faults; it is saved as %s and runs first from now on:\n%s", len(c.Schedule), steps, path, text)
	}
	r.report(ctx, t, world, test, c, "fuzz")
}

// repeat runs a saved case.
func (r *runner) repeat(t *testing.T, world World, test, path string) {
	t.Helper()
	ctx, cancel := untilDeadline(t)
	defer cancel()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fuzz.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v; remove the file, or take it back as it was", path, err)
	}
	r.report(ctx, t, world, test, c, filepath.Base(path))
}

// report runs a case with its logs, and fails the test unless it breaks nothing.
func (r *runner) report(ctx context.Context, t *testing.T, world World, test string, c fuzz.Case, name string) {
	t.Helper()
	dir, err := r.artifacts.folder(r.out, string(world), "fuzz", name)
	if err == nil {
		_, err = r.artifacts.folder(r.out, string(world), "fuzz", name, "logs")
	}
	if err != nil {
		t.Fatal(err)
	}
	o, failed := r.try(ctx, world, test, c, filepath.Join(dir, "logs"))
	if o.Result == nil && o.Err == nil {
		o.Err = errors.New("nothing was recorded")
	}
	v := r.judge(o, dir)
	if failed.Reason == "" && c.Failed.Reason != "" && v.verdict != checker.Fail {
		if name == "fuzz" {
			t.Errorf("%s broke, and did not again: fake time repeats only what the elector does not leave to chance. It said: %s", c.Failed.Promise, c.Failed.Reason)
		}
		return
	}
	if v.verdict == checker.Fail {
		t.Error(v.text)
	}
}

// shrink returns a case that breaks the same promise and has less of everything.
func (r *runner) shrink(ctx context.Context, world World, test string, c fuzz.Case) fuzz.Case {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	best := c
	keeps := func(change func(*fuzz.Case)) bool {
		smaller := best
		smaller.Schedule = slices.Clone(best.Schedule)
		change(&smaller)
		smaller.Judge()
		if ctx.Err() != nil || smaller.Validate() != nil {
			return false
		}
		_, failed := r.try(ctx, world, test, smaller, "")
		if failed.Reason == "" || failed.Promise != best.Failed.Promise {
			return false
		}
		best = smaller
		best.Failed = failed
		return true
	}
	for n := max(len(best.Schedule)/2, 1); n > 0; n /= 2 {
		for i := 0; i+n <= len(best.Schedule); {
			if !keeps(func(c *fuzz.Case) { c.Schedule = slices.Delete(c.Schedule, i, i+n) }) {
				i += n
			}
		}
	}
	for _, nodes := range []int{2, 3} {
		if nodes < best.Nodes && keeps(func(c *fuzz.Case) { c.Nodes = nodes }) {
			break
		}
	}
	for i := range best.Schedule {
		keeps(func(c *fuzz.Case) { c.Schedule[i].At = c.Schedule[i].At.Truncate(c.Timings.Lease / 10) })
		keeps(func(c *fuzz.Case) {
			c.Schedule[i].For = max(c.Schedule[i].For.Truncate(c.Timings.Lease/10), time.Millisecond)
		})
	}
	return best
}
