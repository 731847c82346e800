package fuzz

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// What a case may be at the most: more is a slip of the pen, and would take
// for ever.
const (
	maxBytes  = 1 << 20
	maxNodes  = 1000
	maxSteps  = 10_000
	maxLease  = 24 * time.Hour
	maxLength = 30 * 24 * time.Hour
	maxEvents = 20_000_000
	maxDrift  = 0.5
)

// Validate explains what is wrong with the case, if anything is: a
// *FormatError.
func (c *Case) Validate() error {
	t := c.Timings
	switch {
	case c.Subject == "":
		return wrong("\"subject\" is empty: give an elector's name, such as \"recount\"")
	case c.Nodes < 1:
		return wrong("\"nodes\" is %d: an election needs at least one candidate", c.Nodes)
	case c.Nodes > maxNodes:
		return wrong("\"nodes\" is %d: give at most %d", c.Nodes, maxNodes)
	case t.Lease > maxLease:
		return wrong("\"lease\" is %v: give at most %v", t.Lease, maxLease)
	case t.Lease%time.Millisecond != 0:
		return wrong("\"lease\" is %v: stores count whole milliseconds, so give a multiple of 1ms", t.Lease)
	case !(c.Drift > 0 && c.Drift <= maxDrift):
		return wrong("\"drift\" is %v: give a share of time above 0 and up to %v, such as 0.01", c.Drift, maxDrift)
	}
	if err := t.Validate(); err != nil {
		return wrong("%v", err)
	}
	if need, have := t.Renew+requestTimeout(t)+t.Retry, usable(t.Lease, c.Drift)+time.Millisecond; need > have {
		return wrong("one failed renewal would end a term: 1.5 × renew + retry is %v and must fit into lease × (1 − drift) − 1ms = %v: give a smaller renew or retry", need, have)
	}
	if err := c.Behavior.validate(t.Lease); err != nil {
		return err
	}
	if err := c.validateTimes(); err != nil {
		return err
	}
	if err := c.validateSchedule(); err != nil {
		return err
	}
	return c.validatePromises()
}

// validateTimes looks at everything that is a time or a rate.
func (c *Case) validateTimes() error {
	n := c.Network
	for _, field := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"network.latency", n.Latency, 0}, {"network.jitter", n.Jitter, 0}, {"network.spike", n.Spike, 0},
		{"writes", c.Writes, time.Millisecond}, {"observes", c.Observes, time.Millisecond},
		{"quiet", c.Quiet, 0}, {"return_within", c.ReturnBound, 0}, {"failover_excess", c.FailoverBound, 0},
	} {
		if field.value < field.least || field.value > maxLength {
			return wrong("%q is %v: give a time from %v to %v", field.name, field.value, field.least, maxLength)
		}
	}
	for _, field := range []struct {
		name  string
		value int
	}{{"network.spike_one_in", n.SpikeRate}, {"network.loss_one_in", n.LossRate}} {
		if field.value < 0 {
			return wrong("%q is %d: give one message in how many, or 0 for none", field.name, field.value)
		}
	}
	if n.Latency <= 0 {
		return wrong("\"network.latency\" is %v: a message takes some time, so give a little more", n.Latency)
	}
	return nil
}

func (c *Case) validateSchedule() error {
	if len(c.Schedule) > maxSteps {
		return wrong("\"schedule\" has %d steps: give at most %d", len(c.Schedule), maxSteps)
	}
	names := nodeNames[:c.Nodes]
	for i, step := range c.Schedule {
		effect := step.Fault.Effect()
		onStore := effect.Store && !effect.Divides
		switch hits := step.Target == faults.Store; {
		case step.End() > maxLength:
			return wrong("step %d of the schedule ends at %v: give at most %v", i+1, step.End(), maxLength)
		case onStore && !hits:
			return wrong("step %d of the schedule puts %s on %v: it hits the store, so give \"the store\"", i+1, step.Fault.Name(), step.Target)
		case !onStore && hits:
			return wrong("step %d of the schedule puts %s on the store: it hits candidates, so give \"the leader\", for one", i+1, step.Fault.Name())
		case isNode(step.Target) && !slices.Contains(names, step.Target.String()):
			return wrong("step %d of the schedule hits %v: the candidates are n1 to n%d", i+1, step.Target, c.Nodes)
		}
	}
	// Every step may wait for a leader.
	length := c.Schedule.End() + c.Quiet + time.Duration(len(c.Schedule))*5*c.Timings.Lease
	if events := int64(length/c.Writes) + int64(length/c.Timings.Renew) + int64(c.Nodes)*int64(length/c.Observes); events > maxEvents {
		return wrong("the run would have about %d events: give a shorter schedule, or longer times from one write, renewal and observation to the next", events)
	}
	return nil
}

// isNode reports whether the target is a candidate by name.
func isNode(t faults.Target) bool {
	return t == faults.Node(t.String())
}

func (c *Case) validatePromises() error {
	names := slices.Collect(maps.Keys(c.Waived))
	slices.Sort(names)
	if c.Failed.Promise != "" {
		names = append(names, c.Failed.Promise)
	}
	for _, p := range names {
		if !known(p) {
			var all []string
			for _, p := range checker.Promises {
				all = append(all, string(p))
			}
			return wrong("there is no promise %q: give one of %s", p, strings.Join(all, ", "))
		}
	}
	return nil
}

// Validate explains why no case can have these pins, if none can.
func (p Pins) Validate() error {
	t := p.Timings
	switch {
	case p.Nodes < 0 || p.Nodes > maxNodes:
		return fmt.Errorf("%d candidates: give from 1 to %d", p.Nodes, maxNodes)
	case t.Lease < 0 || t.Renew < 0 || t.Retry < 0:
		return fmt.Errorf("lease %v, renew %v, retry %v: a time must be positive, or left out to be drawn", t.Lease, t.Renew, t.Retry)
	case !(p.Drift >= 0 && p.Drift <= maxDrift):
		return fmt.Errorf("drift %v: give a share of time above 0 and up to %v, such as 0.01, or leave it out", p.Drift, maxDrift)
	case t.Lease == 0 && (t.Renew > 0 || t.Retry > 0):
		return errors.New("renew and retry without a lease: give the lease too")
	case t.Retry > 0 && t.Renew == 0:
		return errors.New("retry without renew: give renew too")
	}
	if t.Lease == 0 {
		return nil
	}
	// Whatever is drawn for the rest must fit.
	c := Case{Subject: "x", Nodes: 1, Timings: t, Drift: max(p.Drift, largestDrift), Network: sim.DefaultNetwork(), Writes: t.Lease, Observes: t.Lease}
	if p.Drift > 0 {
		c.Drift = p.Drift
	}
	if t.Renew == 0 {
		c.Timings.Renew = t.Lease / 3
	}
	if t.Retry == 0 {
		c.Timings.Retry = time.Millisecond
	}
	var format *FormatError
	if err := c.Validate(); errors.As(err, &format) {
		return errors.New(format.problem)
	}
	return nil
}
