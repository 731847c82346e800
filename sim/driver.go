package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// HealTime bounds the healing of one fault. It does not depend on the run's
// context: a run that was stopped heals all the same.
const HealTime = 15 * time.Second

// ErrStopped is why a fault was never put on in a run that ended early.
var ErrStopped = errors.New("the run was stopped before it was put on")

// Stage is a world in which a schedule is carried out: what happens in it is
// recorded, and time passes in it.
type Stage interface {
	faults.World

	// Now is the time since the start of the run.
	Now() time.Duration
	// Stamp records an event as happening now, Record with the time that it
	// carries.
	Stamp(history.Event)
	Record(history.Event)
	// Sleep lets d pass and reports whether it did, and not ctx ended first.
	Sleep(ctx context.Context, d time.Duration) bool
	// View is who runs and who leads; AwaitLeader waits until somebody leads
	// and is at work, or until patience ends.
	View() faults.View
	AwaitLeader(ctx context.Context, patience time.Duration) faults.View
	// Disturb marks nodes as hit by a fault, or that fault as over.
	Disturb(nodes []string, disturbed bool)
}

// Driver carries out the steps of a schedule: it puts each fault on, holds it,
// takes it off, and writes all of it to the history.
type Driver struct {
	Seed     uint64
	Patience time.Duration                                     // how long a fault waits for the leader that it is meant for
	Report   func(step faults.Step, targets []string, on bool) // may be nil
}

// Step carries out the i-th step of a schedule, whose time has come, and
// returns when its fault is off again. The error is that of a world which
// could not do what it was asked to.
func (d *Driver) Step(ctx context.Context, s Stage, i int, step faults.Step) error {
	targets, err := d.resolve(ctx, s, i, step.Target)
	if err != nil {
		if ctx.Err() != nil {
			err = ErrStopped
		}
		d.Miss(s, i, step, err)
		return nil
	}
	// A fault on all candidates leaves no other ones to look for: a leader whose
	// clock is wrong, as everybody's is, must be cut off just then.
	if step.Target != faults.All {
		s.Disturb(targets, true)
		defer s.Disturb(targets, false)
	}
	s.Stamp(step.Event(faultID(i), history.On, targets))
	d.report(step, targets, true)
	defer d.report(step, targets, false)
	return d.hold(ctx, s, i, step, targets)
}

// hold applies the step's fault, holds and heals it.
func (d *Driver) hold(ctx context.Context, s Stage, i int, step faults.Step, targets []string) error {
	effect := step.Fault.Effect()
	evidence, err := step.Fault.Apply(ctx, s, targets)
	since := s.Now()
	if !effect.Instant {
		s.Sleep(ctx, step.For)
	}
	off := step.Event(faultID(i), history.Off, targets)
	off.Since = history.At(since)
	if effect.Immediate {
		off.At = s.Now()
	}
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), HealTime)
	defer cancel()
	more, healErr := step.Fault.Heal(healing, s, targets)
	if !effect.Immediate {
		off.At = s.Now()
	}
	off.Evidence = joined(evidence, more)
	failure := err
	if failure == nil { // what could not be put on cannot be taken off either
		failure = healErr
	}
	off.Effective = history.Bool(failure == nil)
	if failure != nil {
		off.Evidence = joined(off.Evidence, why(failure))
	}
	s.Record(off)
	if ctx.Err() != nil {
		return nil // stopped in the middle: what did not work then says nothing
	}
	return errors.Join(broken(step, err), broken(step, healErr))
}

// why is what an error says of a fault of which it is known that it took no effect.
func why(err error) string {
	text := strings.ReplaceAll(err.Error(), faults.ErrNoEffect.Error()+": ", "")
	return strings.ReplaceAll(text, "\n", "; ") // of errors that were joined
}

func (d *Driver) report(step faults.Step, targets []string, on bool) {
	if d.Report != nil {
		d.Report(step, targets, on)
	}
}

// resolve finds the nodes that the target means, waiting for a leader if it
// takes one to tell.
func (d *Driver) resolve(ctx context.Context, s Stage, i int, t faults.Target) ([]string, error) {
	view := s.View()
	if !t.Known(view) {
		view = s.AwaitLeader(ctx, d.Patience)
	}
	return t.Resolve(view, rand.New(rand.NewPCG(d.Seed, uint64(i))).IntN)
}

// Miss records a fault that was not put on: it took no effect.
func (d *Driver) Miss(s Stage, i int, step faults.Step, why error) {
	s.Stamp(step.Event(faultID(i), history.On, nil))
	off := step.Event(faultID(i), history.Off, nil)
	off.Effective, off.Evidence = history.Bool(false), why.Error()
	s.Stamp(off)
}

func faultID(i int) string { return fmt.Sprintf("f%d", i+1) }

// Length is how long the fault with this ID should be on; false if the schedule has no
// such fault, or one that is over at once.
func (p Plan) Length(id string) (time.Duration, bool) {
	for i, step := range p.Schedule.Sorted() { // as they are numbered
		if faultID(i) == id {
			return step.For, !step.Fault.Effect().Instant
		}
	}
	return 0, false
}

// broken is err unless it only says that a fault took no effect: that is for
// the checkers to judge.
func broken(step faults.Step, err error) error {
	if err == nil || errors.Is(err, faults.ErrNoEffect) {
		return nil
	}
	return fmt.Errorf("sim: %v: %w", step, err)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
