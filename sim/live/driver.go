package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// healTime bounds the healing of one fault. It does not depend on the run's
// context: a run that was stopped heals all the same.
const healTime = 15 * time.Second

// driver carries out a schedule: it puts each fault on at its time, holds it,
// takes it off, and writes all of it to the history.
type driver struct {
	world    faults.World
	recorder *history.Recorder
	leaders  *leadership
	seed     uint64
	patience time.Duration // how long a fault waits for the leader that it is meant for
	report   func(Progress)
}

// drive returns once every fault of the schedule is off again. After ctx is
// done nothing more is put on. The error is that of a world which could not do
// what it was asked to.
func (d *driver) drive(ctx context.Context, s faults.Schedule) error {
	begin := time.Now()
	errs := make([]error, len(s))
	var steps sync.WaitGroup
	for i, step := range s.Sorted() {
		steps.Go(func() {
			if sleep(ctx, time.Until(begin.Add(step.At))) {
				errs[i] = d.step(ctx, i, step)
			} else {
				d.missed(i, step, errStopped)
			}
		})
	}
	steps.Wait()
	return errors.Join(errs...)
}

func (d *driver) step(ctx context.Context, i int, step faults.Step) error {
	id := faultID(i)
	random := rand.New(rand.NewPCG(d.seed, uint64(i)))
	targets, err := d.resolve(ctx, step.Target, random)
	if err != nil {
		if ctx.Err() != nil {
			err = errStopped
		}
		d.missed(i, step, err)
		return nil
	}
	// A fault on all candidates leaves no other ones to look for: a leader whose
	// clock is wrong, as everybody's is, must be cut off just then.
	if step.Target != faults.All {
		d.leaders.disturb(targets, true)
		defer d.leaders.disturb(targets, false)
	}
	effect := step.Fault.Effect()
	d.recorder.Stamp(step.Event(id, history.On, targets))
	d.report(Progress{Fault: step.Fault.Name(), Targets: targets, On: true})
	defer d.report(Progress{Fault: step.Fault.Name(), Targets: targets})

	evidence, err := step.Fault.Apply(ctx, d.world, targets)
	since := d.recorder.Now()
	if !effect.Instant {
		sleep(ctx, step.For-(d.recorder.Now()-since))
	}
	off := step.Event(id, history.Off, targets)
	off.Since = history.At(since)
	if effect.Immediate {
		off.At = d.recorder.Now()
	}
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTime)
	defer cancel()
	more, healErr := step.Fault.Heal(healing, d.world, targets)
	if !effect.Immediate {
		off.At = d.recorder.Now()
	}
	off.Evidence = joined(evidence, more)
	noEffect := errors.Join(err, healErr)
	off.Effective = history.Bool(noEffect == nil)
	if noEffect != nil {
		off.Evidence = joined(off.Evidence, noEffect.Error())
	}
	d.recorder.Record(off)
	if ctx.Err() != nil {
		return nil // stopped in the middle: what did not work then says nothing
	}
	return errors.Join(broken(step, err), broken(step, healErr))
}

// resolve finds the nodes that the target means, waiting for a leader if it
// takes one to tell.
func (d *driver) resolve(ctx context.Context, t faults.Target, random *rand.Rand) ([]string, error) {
	view, _ := d.leaders.view()
	if t.NeedsLeader() {
		view, _ = d.leaders.await(ctx, d.patience)
	}
	return t.Resolve(view, random.IntN)
}

// errStopped is why a fault was never put on in a run that ended early.
var errStopped = errors.New("the run was stopped before it was put on")

// missed records a fault that was not put on: it took no effect.
func (d *driver) missed(i int, step faults.Step, why error) {
	id := faultID(i)
	d.recorder.Stamp(step.Event(id, history.On, nil))
	off := step.Event(id, history.Off, nil)
	off.Effective, off.Evidence = history.Bool(false), why.Error()
	d.recorder.Stamp(off)
}

func faultID(i int) string { return fmt.Sprintf("f%d", i+1) }

// broken is err unless it only says that a fault took no effect: that is for
// the checkers to judge.
func broken(step faults.Step, err error) error {
	if err == nil || errors.Is(err, faults.ErrNoEffect) {
		return nil
	}
	return fmt.Errorf("live: %v: %w", step, err)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

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
