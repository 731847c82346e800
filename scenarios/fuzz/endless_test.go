package fuzz

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// spinning is a machine that never returns, until the test is over.
type spinning struct {
	virtual.Decider
	over *atomic.Bool
}

func (s *spinning) Step(now time.Duration, in machine.Input) machine.Output {
	for in.Kind == machine.Answer && !s.over.Load() {
	}
	return s.Decider.Step(now, in)
}

// waking is a machine that wants to be woken at once, on and on: the world spins.
type waking struct {
	virtual.Decider
	over *atomic.Bool
}

func (s *waking) Step(now time.Duration, in machine.Input) machine.Output {
	out := s.Decider.Step(now, in)
	if !s.over.Load() {
		out.Wake = now
	}
	return out
}

// A case that does not end is a failure that says what goes on, and its file is read again.
func TestEndlessCaseIsAFailure(t *testing.T) {
	before := limits
	limits.Processor = time.Second
	defer func() { limits = before }()
	var over atomic.Bool
	defer over.Store(true)
	// It is chance which function of a spinning world runs at the moment of the look.
	for name, where := range map[string]string{"spins": "fuzz.(*spinning).Step", "wakes": "something spins"} {
		o := production(1, 50)
		o.Failures, o.Workers, o.Pins.Subject = 1, 1, name
		o.Subjects = map[string]virtual.Subject{
			"spins": {Decide: func(cfg machine.Config) virtual.Decider { return &spinning{machine.New(cfg), &over} }},
			"wakes": {Decide: func(cfg machine.Config) virtual.Decider { return &waking{machine.New(cfg), &over} }},
		}
		r := Run(t.Context(), o)
		if len(r.Failures) != 1 || r.Failures[0].Case.Failed.Promise != Ends || !strings.Contains(r.Failures[0].Case.Failed.Reason, where) {
			t.Fatalf("%s: %v, %+v", name, r.Err, r.Failures)
		}
		text, err := r.Failures[0].Case.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := Parse(text); err != nil || c.Failed != r.Failures[0].Case.Failed {
			t.Errorf("%v, %+v", err, c.Failed)
		}
	}
}
