package virtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// How quick the world is: much like the live one on a busy machine of two
// cores, as measured by comparing the two (docs/architecture.md#how-far-the-worlds-agree).
const (
	// Lateness is by how much a candidate's timers are late, at the most.
	Lateness = 500 * time.Microsecond
	// Service is what the store's server takes for one command.
	Service = 5 * time.Microsecond
	// Delivery is what a write to the protected resource takes on its way, at
	// the most; mostly it is a tenth of that. No fault makes it slower.
	Delivery = 3 * time.Millisecond
)

// Store is what the history's header says of the store.
const Store = "virtual"

// Subject is an elector that can live in this world. The zero value is the
// production elector.
type Subject struct {
	// Decide makes the candidate's decisions in place of the production
	// elector's machine.
	Decide func(machine.Config) Decider
	// Blocking is an elector in blocking style in place of the production
	// elector.
	Blocking sim.Elector
	// Scripts are what it runs on the store; those that are nil are the
	// production elector's, run as World.Scripts says.
	Scripts Scripts
	// Unprotected makes the production elector's scripts grant at once on a
	// store that may have lost a lease.
	Unprotected bool
	// Program starts a program of its own in place of the production elector: see
	// Program. The operations on the lease are read off its connections.
	Program func(Seat) (Program, error)
	// Tapped says that an elector in blocking style does not tell what it does:
	// the operations on the lease are read off its commands.
	Tapped bool
}

// Names are those of the subjects, the world's own first.
func (w *World) Names() []string {
	return append(slices.Sorted(maps.Keys(electors)), slices.Sorted(maps.Keys(w.Subjects))...)
}

// electors are the subjects that every world has.
var electors = map[string]Subject{
	"recount":             {},
	"recount-unprotected": {Unprotected: true},
}

func (s Subject) start(n *node) process {
	switch {
	case s.Program != nil:
		return startProgram(n, s.Program)
	case s.Blocking != nil:
		return startHost(n, s.Blocking)
	}
	decide := s.Decide
	if decide == nil {
		decide = func(cfg machine.Config) Decider { return machine.New(cfg) }
	}
	return startShell(n, decide)
}

// World carries out plans in virtual time. Its methods may be called from
// several goroutines: every run is a world of its own.
type World struct {
	// Subjects are the electors that a plan can name, beside "recount".
	Subjects map[string]Subject
	// Moments, if not nil, is called when a fault is put on, with what it meets.
	// It is called on the goroutine of the run.
	Moments func(Moment)
	// Messages, if not nil, is called for each message between a candidate and the store when
	// it is sent, with whether it was one of the Network's spikes, or lost. It returns the network
	// of the candidate's next message. It is called on the goroutine of the run.
	Messages func(at time.Duration, spiked, lost bool) sim.Network
	// Reuse makes every history use the room of the one before, which is gone
	// then: for callers that make many runs, one at a time, on one goroutine.
	Reuse bool

	// Scripts is how the store runs the production elector's scripts.
	Scripts ScriptUse

	room, other []history.Event
	lua         *redismodel.Interpreter // of the run before

	_ struct{}
}

// Run carries out a plan and returns its history. There are no logs. A run
// that is stopped by ctx returns the history so far and ctx's error.
func (w *World) Run(ctx context.Context, plan sim.Plan, _ string) (*history.History, error) {
	use := w.plays(&plan)
	first := how{texts: use != ByPort, moments: w.Moments, messages: w.Messages}
	if use == Compared {
		first.effects = &effects{}
	}
	h, err := w.carryOut(ctx, plan, first, &w.room)
	if err != nil || use != Compared {
		return h, err
	}
	return h, w.compare(ctx, plan, h, first.effects)
}

// how is how a plan is carried out.
type how struct {
	texts    bool                                                  // the scripts are run by their text
	moments  func(Moment)                                          // see World.Moments
	messages func(at time.Duration, spiked, lost bool) sim.Network // see World.Messages
	effects  *effects                                              // what is noted of the scripts; nil: nothing
}

// carryOut makes the history of one run, in the room that is given if the world
// uses it again.
func (w *World) carryOut(ctx context.Context, plan sim.Plan, as how, room *[]history.Event) (*history.History, error) {
	r, err := w.prepare(plan, as)
	if err != nil {
		return nil, err
	}
	if w.Reuse {
		r.events = (*room)[:0]
	}
	err = r.live(ctx)
	r.number()
	if w.Reuse {
		*room = r.events
	}
	return &history.History{Header: header(r.spec), Events: r.events}, err
}

// Chain carries out a plan that may be of any length, as a chain of whole
// histories: it hands over each as soon as it ends. A history ends where all is
// calm, and after least events at the earliest; the next one begins by restating
// what goes on. A run in which nothing is ever calm is one history.
//
// The events of a history are valid until take returns, and no longer; its error
// is that of the run.
func (w *World) Chain(ctx context.Context, plan sim.Plan, least int, take func(*history.History) error) error {
	use := w.Scripts // two chains are not compared: how would one wait for the other?
	r, err := w.prepare(plan, how{texts: use == ByText || use == Compared, moments: w.Moments})
	if err != nil {
		return err
	}
	r.chain = newChain(r.spec, least, take)
	err = errors.Join(r.live(ctx), r.chain.failure)
	r.number()
	return errors.Join(err, take(&history.History{Header: header(r.spec), Events: r.events}))
}

// Header is the first line of the history of a plan's run.
func (w *World) Header(plan sim.Plan) history.Header { return header(plan) }

func header(plan sim.Plan) history.Header {
	h := plan.Header("virtual", Store, 0)
	h.Version = history.Version
	return h
}

func (w *World) prepare(plan sim.Plan, as how) (*run, error) {
	subject, known := w.Subjects[plan.Subject]
	if !known {
		subject, known = electors[plan.Subject]
	}
	if !known {
		return nil, fmt.Errorf("virtual: no subject is called %q here: there are %s", plan.Subject, strings.Join(w.Names(), ", "))
	}
	return w.newRun(plan, subject, as), nil
}
