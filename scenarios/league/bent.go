package league

import (
	"errors"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// bent is the production machine with a bug around it: something alters what
// goes in, or what comes out.
type bent struct {
	*machine.Machine
	cfg    machine.Config
	now    time.Duration
	asked  map[uint64]asked // every request so far, by number
	answer asked            // the request that the input at hand answers
	result machine.Result   // what the answer is
	latest asked            // the last request
	before func(b *bent, now *time.Duration, in *machine.Input)
	after  func(b *bent, now time.Duration, out *machine.Output)
}

// asked is a request and when it was made, by the machine's time.
type asked struct {
	machine.Request
	at time.Duration
}

func (b *bent) Step(now time.Duration, in machine.Input) machine.Output {
	at := now
	b.now, b.answer, b.result = now, asked{}, in.Result
	if in.Kind == machine.Answer {
		b.answer = b.asked[in.Request]
	}
	if b.before != nil {
		b.before(b, &at, &in)
	}
	out := b.Machine.Step(at, in)
	for _, r := range out.Requests {
		b.latest = asked{Request: r, at: at}
		b.asked[r.Number] = b.latest
	}
	if b.after != nil {
		b.after(b, now, &out)
	}
	return out
}

// outcome is the request that an input answers, and whether it does.
func (b *bent) outcome(in *machine.Input, call machine.Call, result machine.Result) (asked, bool) {
	if in.Kind != machine.Answer || in.Result != result {
		return asked{}, false
	}
	r := b.asked[in.Request]
	return r, r.Call == call
}

// timedOut says whether the request that an input answers had been given up.
func (b *bent) timedOut(in *machine.Input) bool {
	r := b.asked[in.Request]
	return b.now >= r.at+r.Timeout
}

// configured is the production machine with other settings than it was given.
func configured(change func(*machine.Config)) virtual.Subject {
	return virtual.Subject{Decide: func(cfg machine.Config) virtual.Decider {
		change(&cfg)
		return machine.New(cfg)
	}}
}

// wrapped is a production machine with a bug around it. Each machine gets hooks
// of its own.
func wrapped(hooks func(b *bent)) virtual.Subject {
	return virtual.Subject{Decide: func(cfg machine.Config) virtual.Decider {
		b := &bent{Machine: machine.New(cfg), cfg: cfg.WithDefaults(), asked: map[uint64]asked{}}
		hooks(b)
		return b
	}}
}

// listening is a production machine that misunderstands what it is told.
func listening(before func(b *bent, in *machine.Input)) virtual.Subject {
	return wrapped(func(b *bent) {
		b.before = func(b *bent, _ *time.Duration, in *machine.Input) { before(b, in) }
	})
}

var errSomething = errors.New("something went wrong")
