package faults

import (
	"context"
	"math"
	"time"
)

// ClockRate makes its targets' clocks run too fast (Rate > 1) or too slow.
type ClockRate struct{ Rate float64 }

// ClocksOfStopped reports what a change of clocks does to a candidate that does not run: it
// starts with them. Wrong clocks have no effect until then. Right ones leave nothing to undo.
func ClocksOfStopped(node string, right bool) (string, error) {
	if right {
		return node + " is not running; it will start with right clocks", nil
	}
	return "", NoEffect("%s is not running; it will start with its clocks so", node)
}

// Name implements Fault.
func (ClockRate) Name() string { return "clock-rate" }

// Params implements Fault.
func (c ClockRate) Params() map[string]any { return map[string]any{"rate": c.Rate} }

func (ClockRate) with(p *params) Fault {
	const such = "a number above 0, such as 1.01; 1 is right"
	rate := p.number("rate", such)
	if rate <= 0 {
		p.fail("rate is %v: give %s", rate, such)
	}
	return ClockRate{Rate: rate}
}

// Apply implements Fault.
func (c ClockRate) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.SetClockRate(ctx, node, c.Rate) })
}

// Heal implements Fault.
func (ClockRate) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.SetClockRate(ctx, node, 1) })
}

// Effect implements Fault.
func (c ClockRate) Effect() Effect {
	return Effect{Summary: "a candidate's clocks run too fast or too slow", Undone: "the candidate is told to let its clocks run right again", Skews: true, Rate: c.Rate}
}

// ClockJump moves its targets' wall clocks by Offset, and back on healing.
type ClockJump struct{ Offset time.Duration }

// Name implements Fault.
func (ClockJump) Name() string { return "clock-jump" }

// Params implements Fault.
func (c ClockJump) Params() map[string]any {
	return map[string]any{"offset_ms": milliseconds(c.Offset)}
}

func (ClockJump) with(p *params) Fault {
	return ClockJump{Offset: p.duration("offset_ms", math.MinInt64)}
}

// Apply implements Fault.
func (c ClockJump) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.JumpClock(ctx, node, c.Offset) })
}

// Heal implements Fault.
func (c ClockJump) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.JumpClock(ctx, node, -c.Offset) })
}

// Effect implements Fault.
func (ClockJump) Effect() Effect {
	return Effect{Summary: "a candidate's wall clock jumps by an offset", Undone: "the candidate is told to put it back", Skews: true, Simple: true, Harmless: true}
}
