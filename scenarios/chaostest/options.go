package chaostest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

// Option changes what Run does.
type Option func(*settings) error

// The environment's part. What an option says counts more.
const (
	// EnvWorlds names the worlds to run in, separated by commas, as in "virtual,live".
	// Nothing in it: see Worlds.
	EnvWorlds = "RECOUNT_WORLDS"
	// EnvRedis says which Redis the live world uses: see Redis.
	EnvRedis = "RECOUNT_REDIS"
	// EnvOut is the folder for the reports: see Reports.
	EnvOut = "RECOUNT_OUT"
)

// settings are what the options come to.
type settings struct {
	elector      New
	worlds       []World
	scenarios    []scenarios.Scenario
	set          scenarios.Settings
	redis        string
	out          string
	plans        int
	drawn        uint64 // from which plans are drawn; 0: from one that is drawn itself
	clocked      bool
	cell         bool // this process is a candidate in virtual time
	allowUnknown bool
}

// subject is what histories call the elector, and what tells a candidate's process that
// it is one.
const subject = "chaostest"

// settle makes settings of the options, or says what is wrong with them.
func settle(elector New, options []Option, short bool, getenv func(string) string) (*settings, error) {
	s := &settings{elector: elector, redis: getenv(EnvRedis), out: getenv(EnvOut)}
	if elector == nil {
		return nil, errors.New("chaostest: New is nil: give a function that makes a candidate and competes until its context is done")
	}
	s.set = scenarios.Settings{Subject: subject, Seed: 1, Foreign: true}
	for _, o := range options {
		if o == nil {
			return nil, errors.New("chaostest: an option is nil: leave it out")
		}
		if err := o(s); err != nil {
			return nil, fmt.Errorf("chaostest: %w", err)
		}
	}
	if err := s.set.Timings().Validate(); err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	if err := s.chooseWorlds(short, getenv(EnvWorlds)); err != nil {
		return nil, err
	}
	if s.scenarios == nil {
		return s, Scenarios(standard...)(s)
	}
	return s, nil
}

// chooseWorlds settles in which worlds to run: those of the option or the environment,
// else all, or virtual time alone with -short.
func (s *settings) chooseWorlds(short bool, environment string) error {
	if s.worlds == nil && environment != "" {
		var named []World
		for name := range strings.SplitSeq(environment, ",") {
			named = append(named, World(strings.TrimSpace(name)))
		}
		if err := Worlds(named...)(s); err != nil {
			return fmt.Errorf("chaostest: %s=%q: %w", EnvWorlds, environment, err)
		}
	}
	switch {
	case s.worlds != nil:
	case short:
		s.worlds = []World{Virtual}
	default:
		s.worlds = known
	}
	return nil
}

// Scenarios are those to run, by name, in this order; "chaos list" lists all. Without
// it there are six: steady, crash-leader, resign-leader, partition-leader, replies-lost
// and pause-leader.
func Scenarios(names ...string) Option {
	return func(s *settings) error {
		if len(names) == 0 {
			return errors.New("Scenarios: no name is given")
		}
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return fmt.Errorf("Scenarios: %s is named twice", name)
			}
		}
		found, err := scenarios.Find(names...)
		s.scenarios = found
		return err
	}
}

// Worlds are those to run in. Without it they are those that the environment variable
// RECOUNT_WORLDS names, or else all three, and with -short only Virtual.
func Worlds(worlds ...World) Option {
	return func(s *settings) error {
		if len(worlds) == 0 {
			return errors.New("no world is given: there are Virtual, Bubble and Live")
		}
		for _, w := range worlds {
			if i := slices.Index(worlds, w); slices.Contains(worlds[i+1:], w) {
				return fmt.Errorf("the world %q is named twice", w)
			}
			if !slices.Contains(known, w) {
				return fmt.Errorf("there is no world %q: there are %q, %q and %q", w, Virtual, Bubble, Live)
			}
		}
		s.worlds = worlds
		return nil
	}
}

// Lease is how long a lease lasts unless it is renewed, at least 100ms; one second
// without this option. Candidates are told. All times of a scenario are in leases.
func Lease(d time.Duration) Option {
	return func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("Lease(%v): a lease lasts for at least 100ms", d)
		}
		s.set.Lease = d
		return nil
	}
}

// Candidates is how many there are; without this option as many as the scenario says,
// mostly five.
func Candidates(n int) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("Candidates(%d): an election needs at least one candidate", n)
		}
		s.set.Nodes = n
		return nil
	}
}

// Seed is that of every random choice of the scenarios, 1 without this option, and of
// the plans that Fuzz draws.
func Seed(seed uint64) Option {
	return func(s *settings) error {
		s.set.Seed, s.drawn = seed, seed
		return nil
	}
}

// Fuzz draws that many plans, each of other timings and faults, and runs them in
// Bubble, or in Virtual if Bubble is not among the worlds. One that breaks a promise is made smaller, saved as a file of a few lines
// under testdata/chaostest, and run first from then on: keep it with the test.
func Fuzz(plans int) Option {
	return func(s *settings) error {
		if plans < 1 {
			return fmt.Errorf("Fuzz(%d): give how many plans to draw, at least one", plans)
		}
		s.plans = plans
		return nil
	}
}

// Redis says which Redis the live world uses: auto, embedded, process, docker or a URL,
// as "chaos run --redis" does. Without it that is what RECOUNT_REDIS says, or auto: a
// redis-server on PATH, else one written in Go.
func Redis(which string) Option {
	return func(s *settings) error {
		s.redis = which
		return nil
	}
}

// Reports is the folder that gets the reports of all runs. Without it they go to the
// folder that RECOUNT_OUT names, to the test's artifacts with -artifacts, or else to a
// temporary folder, which is removed if all passed.
func Reports(folder string) Option {
	return func(s *settings) error {
		s.out = folder
		return nil
	}
}

// Clocked says that the elector takes its time from Candidate.Clock and nowhere else.
// Outside of Virtual, scenarios can set its clocks only then.
func Clocked() Option {
	return func(s *settings) error {
		s.clocked = true
		return nil
	}
}

// AllowUnknown lets the test pass although a promise could not be decided. The reason is
// logged.
func AllowUnknown() Option {
	return func(s *settings) error {
		s.allowUnknown = true
		return nil
	}
}

// refuses is why a scenario says nothing about an elector like this one in that place,
// "" if it does.
func (s *settings) refuses(of scenarios.Scenario, in place) string {
	plan, err := of.Plan(s.set)
	if err != nil {
		return err.Error()
	}
	if plan.Topology != sim.OneServer || plan.Replicas > 0 {
		return of.Name + " has a store of several servers, and a candidate here gets the address of one: \"chaos run --exec\" runs it"
	}
	for _, step := range plan.Schedule {
		switch step.Fault.(type) {
		case faults.ClockRate, faults.Suspend:
			if !s.clocked && in.world() != Virtual {
				return of.Name + " sets the clocks of candidates, which outside of virtual time only an elector notices that takes its time from Candidate.Clock: if it does, say so with Clocked(), or run in Worlds(Virtual)"
			}
		case faults.ClockJump:
			return of.Name + " sets the wall clocks of candidates, which an elector in Go does not notice: time.Now has a monotonic clock in it, and Candidate.Clock is one"
		case faults.Transfer:
			return of.Name + " has a leader hand its lease over, which a candidate here is not told to: \"chaos run --exec --transfers\" runs it"
		case faults.CounterDeleted:
			return of.Name + " deletes the counter of tokens, and which key that is nobody knows here"
		}
	}
	return in.lacks(of)
}

// The variables by which a process that Run started knows what it is.
const (
	envSupervisor = "RECOUNT_SUPERVISOR"
	envSubject    = protocol.EnvSubject
	envJob        = "RECOUNT_CHAOSTEST_JOB"
	envCell       = "RECOUNT_CHAOSTEST_CELL"
)
