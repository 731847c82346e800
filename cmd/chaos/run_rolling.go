package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

const (
	// mostEvents is how many events the histories of a run may have together,
	// if they are kept: with their reports they take some gigabytes.
	mostEvents = 5_000_000
	// mostSteps is how many faults a rolling run may have: they are planned
	// before it begins, and take a few hundred megabytes.
	mostSteps = 2_000_000

	// calmLeases is for how many leases nothing happens between one round of a
	// rolling run's scenario and the next. A history can only be cut where it
	// has been calm for longer than a leader may take to return, and a round
	// in every few minutes is more than production will ever see.
	calmLeases = 20
	// leastLink is how many events each of the histories has at least that a
	// rolling run is made of. What judging one costs besides its events is small
	// beside so many.
	leastLink = 1024
	// newsEvery is how often a terminal is told how far a rolling run is.
	newsEvery = 10 * time.Second
)

// rolled is a scenario planned for a run that may be of any length: the
// scenario again and again, each time drawn anew, with calm in between. It is
// about the election, so few writes and questions come besides. What has a schedule
// must be planned for once through it.
func rolled(p scenarios.Planned, length time.Duration) scenarios.Planned {
	plan := &p.Plan
	lease := plan.Timings.Lease
	plan.Writes, plan.Observes = lease/3, lease
	if p.Schedule == nil {
		return p
	}
	shape := scenarios.Shape{
		Lease: lease, Drift: plan.Drift, Nodes: plan.NodeNames(), Random: rand.New(rand.NewPCG(plan.Seed, 0)),
	}
	plan.Schedule = p.Schedule(shape)
	for begin := roundOf(plan); begin < length; {
		round := p.Schedule(shape)
		end := begin + round.End() + calmLeases*lease
		if end > length {
			break
		}
		for _, step := range round {
			step.At += begin
			plan.Schedule = append(plan.Schedule, step)
		}
		begin = end
	}
	return p
}

// roundOf is how long a rolling run takes for one round of a plan.
func roundOf(plan *sim.Plan) time.Duration {
	return plan.Schedule.End() + calmLeases*plan.Timings.Lease
}

// checkSize refuses a run in virtual time that would take too much memory, and
// says what to do about it. The plans are for once through the scenarios.
func (f *runFlags) checkSize(list []scenarios.Planned) error {
	if f.world != virtualWorld {
		return nil
	}
	var events, steps float64
	for i := range list {
		plan := &list[i].Plan
		events += float64(max(f.runs, 1)) * estimate(plan, f.settings.Duration)
		steps += float64(len(plan.Schedule)) * max(1, float64(f.settings.Duration)/float64(roundOf(plan)))
	}
	switch {
	case !f.rolling && events > mostEvents:
		return usage.Of(fmt.Errorf("about %.0f million events would be kept: give --rolling, which keeps none, or a shorter --duration", events/1e6))
	case f.rolling && steps > mostSteps:
		return usage.Of(fmt.Errorf("about %.0f million faults would have to be planned: give a longer --lease, fewer scenarios or a shorter --duration", steps/1e6))
	}
	return nil
}

// estimate is roughly how many events a run records that takes so long, or
// once through its plan if that takes longer.
func estimate(plan *sim.Plan, length time.Duration) float64 {
	length = max(length, plan.Schedule.End()+plan.Quiet)
	times := func(every time.Duration) float64 { return float64(length) / float64(every) }
	return 2*times(plan.Writes) + 4*times(plan.Timings.Renew) + 3*float64(plan.Nodes)*times(plan.Asks())
}

// roll runs the scenarios in virtual time, judges their histories as they grow,
// and reports.
func (f *runFlags) roll(ctx context.Context, world *virtual.World, list []scenarios.Planned, names []string, out *output, screen *screen) error {
	out.text = true
	screen.announce(inVirtual(nil), f.settings, len(list), f.parallel, out.dir)
	slots := make(chan struct{}, min(f.parallel, runtime.GOMAXPROCS(0)))
	var running sync.WaitGroup
	var reporting sync.Mutex
	var failed error
	for i := range list {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			r := roller{world: world, screen: screen}
			rep, guilty, err := r.run(ctx, &list[i])
			reporting.Lock()
			defer reporting.Unlock()
			failed = errors.Join(failed, err)
			if rep != nil {
				out.reports = append(out.reports, rep)
				failed = errors.Join(failed, out.writeRolled(rep, guilty))
			}
		})
	}
	running.Wait()
	out.order(list)
	err := errors.Join(ctx.Err(), failed, out.finish())
	if len(out.reports) > 0 || err == nil {
		if err := screen.end(out, f, names); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return judged(reports.Overall(out.reports))
}

// writeRolled writes the reports of one run, and the first of its histories that
// broke a promise, if one did.
func (o *output) writeRolled(rep *reports.Report, guilty *history.History) error {
	if guilty != nil {
		rep.Files = append(rep.Files, "history.jsonl")
	}
	files, err := reports.RolledFiles(rep)
	if err != nil {
		return err
	}
	if guilty != nil {
		var text bytes.Buffer
		if err := guilty.Write(&text); err != nil {
			return fmt.Errorf("chaos: write the history that broke a promise: %w", err)
		}
		files["history.jsonl"] = text.Bytes()
	}
	return writeFiles(filepath.Join(o.dir, rep.Folder), files)
}

// roller carries out one scenario and judges it as it goes.
type roller struct {
	world  *virtual.World
	screen *screen
}

// run carries out the scenario, and returns the first history that broke a
// promise besides its report. What is stopped early is reported as far as it
// came; then, and where the run is not whole for another reason, there is an
// error besides.
func (r *roller) run(ctx context.Context, s *scenarios.Planned) (*reports.Report, *history.History, error) {
	plan := s.Plan
	header := r.world.Header(plan)
	var judge checker.Chain
	length := plan.Schedule.End() + plan.Quiet
	begun := time.Now()
	next, count := begun.Add(newsEvery), 0
	err := r.world.Chain(ctx, plan, leastLink, func(h *history.History) error {
		judge.Add(h)
		count += len(h.Events)
		if now := time.Now(); r.screen.terminal && now.After(next) && len(h.Events) > 0 {
			next = now.Add(newsEvery)
			r.screen.say("%s: %.0f of %.0f simulated hours, %d events", s.Name, h.Events[len(h.Events)-1].At.Hours(), length.Hours(), count)
		}
		return nil
	})
	if err != nil && count == 0 {
		return nil, nil, err
	}
	summary := judge.Summary()
	if err != nil && summary.Verdict == checker.Pass {
		summary.Verdict = checker.Unknown // only a whole run can pass
	}
	took := time.Since(begun)
	rep := reports.Rolled(header, summary)
	rep.Folder = s.Name
	r.screen.say("%s: %v; %v simulated, %.0f times faster than real time; events: %d, histories: %d, the longest of %d events",
		s.Name, summary.Verdict, summary.End.Round(time.Second), summary.End.Seconds()/max(took.Seconds(), 1e-6),
		summary.Events, summary.Links, summary.Longest)
	return rep, summary.Guilty, err
}
