package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// Step is one entry of a schedule: a fault, put on Target at At and taken off
// For later.
type Step struct {
	At     time.Duration // since the first leader of the run was seen
	For    time.Duration // ignored where the fault is over once applied
	Fault  Fault
	Target Target
}

// End is when the step's fault is off again.
func (s Step) End() time.Duration {
	if s.Fault.Effect().Instant {
		return s.At
	}
	return s.At + s.For
}

func (s Step) String() string {
	return fmt.Sprintf("%v at %v for %v on %v", s.Fault.Name(), s.At, s.For, s.Target)
}

// Schedule is a timed list of faults.
type Schedule []Step

// Sorted returns the schedule in the order of its steps' beginnings.
func (s Schedule) Sorted() Schedule {
	sorted := slices.Clone(s)
	slices.SortStableFunc(sorted, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return sorted
}

// End is when every fault of the schedule is off.
func (s Schedule) End() time.Duration {
	var end time.Duration
	for _, step := range s {
		end = max(end, step.End())
	}
	return end
}

// NeedsPrivateStore reports whether a fault of the schedule hits the store
// itself.
func (s Schedule) NeedsPrivateStore() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().Store })
}

// NeedsServerProcess reports whether a fault of the schedule hits the store in a way that
// no client of it can.
func (s Schedule) NeedsServerProcess() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().Store && !step.Fault.Effect().Client })
}

// NeedsForgetfulStore reports whether a fault of the schedule makes the store
// older than it was, which not every one can be.
func (s Schedule) NeedsForgetfulStore() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().Older })
}

// NeedsAttendedStore reports whether a fault of the schedule asks for what Attendant has,
// which not every world does.
func (s Schedule) NeedsAttendedStore() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().Attended })
}

// NeedsUser reports whether a fault of the schedule is about the user that candidates log
// in as, so that they must not be anybody.
func (s Schedule) NeedsUser() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().User })
}

// NeedsPasswordFile reports whether a fault of the schedule changes the store's password,
// which candidates then have to read from a file.
func (s Schedule) NeedsPasswordFile() bool {
	return slices.ContainsFunc(s, func(step Step) bool { return step.Fault.Effect().Password })
}

// Event returns the history's event for the step's fault in the given phase.
func (s Step) Event(id string, phase history.Phase, targets []string) history.Event {
	effect := s.Fault.Effect()
	e := history.Event{
		Kind: history.Fault, ID: id, Fault: s.Fault.Name(), Phase: phase, Targets: targets,
		Params: s.Fault.Params(), Shorten: effect.Shorten, Void: effect.Void,
	}
	if phase == history.On {
		e.Effect = &history.Effect{Cuts: effect.Cuts, Holds: effect.Holds, Skews: effect.Skews}
	}
	return e
}
