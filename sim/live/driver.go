package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// driver carries out a schedule in real time: each step on a goroutine of its
// own. It is the stage on which that happens.
type driver struct {
	faults.World
	recorder *history.Recorder
	leaders  *leadership
	seed     uint64
	patience time.Duration // how long a fault waits for the leader that it is meant for
	report   func(Progress)
}

var _ sim.Stage = (*driver)(nil)

// drive returns once every fault of the schedule is off again. After ctx is
// done nothing more is put on. The error is that of a world which could not do
// what it was asked to.
func (d *driver) drive(ctx context.Context, s faults.Schedule) error {
	begin := time.Now()
	errs := make([]error, len(s))
	one := sim.Driver{Seed: d.seed, Patience: d.patience, Report: d.tell}
	var steps sync.WaitGroup
	for i, step := range s.Sorted() {
		steps.Go(func() {
			if sleep(ctx, time.Until(begin.Add(step.At))) {
				errs[i] = one.Step(ctx, d, i, step)
			} else {
				one.Miss(d, i, step, sim.ErrStopped)
			}
		})
	}
	steps.Wait()
	return errors.Join(errs...)
}

func (d *driver) tell(step faults.Step, targets []string, on bool) {
	d.report(Progress{Fault: step.Fault.Name(), Targets: targets, On: on})
}

// Now implements sim.Stage.
func (d *driver) Now() time.Duration { return d.recorder.Now() }

// Stamp implements sim.Stage.
func (d *driver) Stamp(e history.Event) { d.recorder.Stamp(e) }

// Record implements sim.Stage.
func (d *driver) Record(e history.Event) { d.recorder.Record(e) }

// Sleep implements sim.Stage.
func (d *driver) Sleep(ctx context.Context, t time.Duration) bool { return sleep(ctx, t) }

// View implements sim.Stage.
func (d *driver) View() faults.View {
	view, _ := d.leaders.view()
	return view
}

// AwaitLeader implements sim.Stage.
func (d *driver) AwaitLeader(ctx context.Context, patience time.Duration) faults.View {
	view, _ := d.leaders.await(ctx, patience)
	return view
}

// Disturb implements sim.Stage.
func (d *driver) Disturb(nodes []string, disturbed bool) { d.leaders.disturb(nodes, disturbed) }

// sleep waits for d and reports whether it did, and not ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
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
