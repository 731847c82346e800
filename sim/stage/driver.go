package stage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Driver carries out a schedule: each step on a goroutine of its own. It is the
// sim.Stage on which that happens.
type Driver struct {
	faults.World
	Recorder *history.Recorder
	Leaders  *Leadership
	Seed     uint64
	Patience time.Duration                                     // how long a fault waits for the leader that it is meant for
	Late     func() time.Duration                              // how late a step is; nil: as time makes it
	Report   func(step faults.Step, targets []string, on bool) // may be nil

	_ struct{}
}

var _ sim.Stage = (*Driver)(nil)

// Drive returns once every fault of the schedule is off again. After ctx is
// done nothing more is put on. A step waits for those before it on the same target
// that should be over by then: where a world is slow to heal, faults that follow each
// other still do. The error is that of a world which could not do what it was asked to.
func (d *Driver) Drive(ctx context.Context, s faults.Schedule) error {
	begin := time.Now()
	errs := make([]error, len(s))
	one := sim.Driver{Seed: d.Seed, Patience: d.Patience, Report: d.Report}
	var steps sync.WaitGroup
	sorted := s.Sorted()
	over := make([]chan struct{}, len(s))
	for i, step := range sorted {
		at := begin.Add(step.At)
		if d.Late != nil {
			at = at.Add(d.Late())
		}
		over[i] = make(chan struct{})
		steps.Go(func() {
			defer close(over[i])
			due := Sleep(ctx, time.Until(at))
			for j, before := range sorted[:i] {
				if before.End() <= step.At && before.Target.Meets(step.Target) {
					<-over[j]
				}
			}
			if due && ctx.Err() == nil {
				errs[i] = one.Step(ctx, d, i, step)
			} else {
				one.Miss(d, i, step, sim.ErrStopped)
			}
		})
	}
	steps.Wait()
	return errors.Join(errs...)
}

// Now implements sim.Stage.
func (d *Driver) Now() time.Duration { return d.Recorder.Now() }

// Stamp implements sim.Stage.
func (d *Driver) Stamp(e history.Event) { d.Recorder.Stamp(e) }

// Record implements sim.Stage.
func (d *Driver) Record(e history.Event) { d.Recorder.Record(e) }

// Sleep implements sim.Stage.
func (d *Driver) Sleep(ctx context.Context, t time.Duration) bool { return Sleep(ctx, t) }

// View implements sim.Stage.
func (d *Driver) View() faults.View {
	view, _ := d.Leaders.View()
	return view
}

// AwaitLeader implements sim.Stage.
func (d *Driver) AwaitLeader(ctx context.Context, patience time.Duration) faults.View {
	view, _ := d.Leaders.Await(ctx, patience)
	return view
}

// Disturb implements sim.Stage.
func (d *Driver) Disturb(nodes []string, disturbed bool) { d.Leaders.Disturb(nodes, disturbed) }

// Sleep waits for d and reports whether it did, and not ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Each calls act with the numbers below n, all at once, and returns when all
// calls have returned: what faults.World asks for where acts take time.
func Each(n int, act func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { act(i) })
	}
	all.Wait()
}
