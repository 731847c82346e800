package scenarios

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/sim"
)

// Leases is a span of time in leases: scenarios keep their shape whatever the
// length of a lease.
type Leases float64

// of is the span for a lease of the given length.
func (n Leases) of(lease time.Duration) time.Duration {
	return time.Duration(float64(n) * float64(lease))
}

// Scenario is a situation that an election must survive. It is data: the same
// value runs in every world.
type Scenario struct {
	Name    string
	File    string // that it was read from, as on a command line; "": it is of the catalogue
	Summary string // what happens
	Breaks  string // what it would take to break the promises
	Beyond  string // where the fault lies beyond what the elector promises: what still holds, and what is only measured

	Nodes    int          // 0: five
	Topology sim.Topology // of the store; all but one server are for the live world only
	Replicas int          // how many replicas must confirm each grant and renewal
	Schedule func(Shape) faults.Schedule
	Quiet    Leases // how long the run is watched after all is healed; 0: three leases

	// Steadfast says that the leader must not change at all: the faults are
	// such that it can keep its lease. FailoverBound then does not apply.
	Steadfast bool
	// NeedsLeader says that a run of which nobody leads at the beginning is of no use.
	NeedsLeader bool
	// Waived are the promises that do not apply, and why. All others are asked
	// for.
	Waived map[checker.Promise]string
	// Excess bounds every failover's excess; 0: half a lease.
	Excess Leases
	// Return bounds the time from healing to a leader; 0: one and a half
	// leases.
	Return Leases
	// Drift is the tolerated difference of clock rates; 0: DefaultDrift. A larger
	// one stands out from the milliseconds that everything else takes.
	Drift float64
	// Alone says that nothing else runs beside the scenario: its failovers are
	// the figures that people look at, and are not to hold others' work.
	Alone bool
	// Long scenarios are not part of the standard suite.
	Long bool
}

// Shape is what a scenario's schedule is made for.
type Shape struct {
	Lease    time.Duration
	Renew    time.Duration
	Drift    float64
	Nodes    []string
	Duration time.Duration // the faults' share of the run, for schedules that can be of any length
	Random   *rand.Rand    // from the run's seed

	// OneKey says that nothing is known of the elector's lease but one key. Who
	// deletes that takes the lease away, and no elector of that kind can know:
	// what the deletion is there to show beside another fault cannot show then.
	OneKey bool

	// FixedClocks says that candidates cannot be told their clocks: what is drawn has
	// no fault on them.
	FixedClocks bool
}

// at is a step that begins and lasts so many leases.
func (s Shape) at(begin, length Leases, fault faults.Fault, target faults.Target) faults.Step {
	return faults.Step{At: begin.of(s.Lease), For: length.of(s.Lease), Fault: fault, Target: target}
}

// Settings are what a user may change about a scenario. Zero values leave it
// as it is.
type Settings struct {
	Subject  string
	Nodes    int
	Lease    time.Duration
	Renew    time.Duration
	Retry    time.Duration
	Duration time.Duration // the faults go on, or are repeated, for so long
	Seed     uint64
	Network  sim.Network // of the virtual world; zero: sim.DefaultNetwork
	Flags    string      // of the command that repeats the run, for its report
	Repro    string      // the whole of it; "": chaos run, with the scenario and the flags

	// Foreign says that nothing is known of the elector but what it does: one
	// that leads and never names a token is taken to have none (see Tokenless), and
	// none is documented to keep a margin.
	Foreign bool

	// FixedClocks says that candidates cannot be told their clocks.
	FixedClocks bool

	RequestTimeout time.Duration // of the production elector; 0: its default
	Drift          float64       // of a scenario that asks for none; 0: DefaultDrift
}

// Defaults of the settings.
const (
	DefaultNodes = 5
	DefaultLease = time.Second
	DefaultDrift = 0.01

	writesPerLease = 100
	lateness       = 15 * time.Millisecond // of faults, as in the live world
)

// Timings are the election's durations under these settings: a lease is
// renewed after a third of it, and a failed request repeated after a
// twentieth.
func (s Settings) Timings() sim.Timings {
	t := sim.Timings{Lease: s.Lease, Renew: s.Renew, Retry: s.Retry, RequestTimeout: s.RequestTimeout}
	if t.Lease == 0 {
		t.Lease = DefaultLease
	}
	if t.Renew == 0 {
		t.Renew = t.Lease / 3
	}
	if t.Retry == 0 {
		t.Retry = t.Lease / 20
	}
	return t
}

// Plan decides everything about a run of the scenario.
func (s Scenario) Plan(set Settings) (sim.Plan, error) {
	timings := set.Timings()
	if err := timings.Validate(); err != nil {
		return sim.Plan{}, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	plan := sim.Plan{
		Scenario: s.Name, Subject: set.Subject, Timings: timings, Drift: first(s.Drift, set.Drift, DefaultDrift), Seed: set.Seed, Network: set.Network,
		Lateness:      lateness,
		Repro:         first(set.Repro, strings.TrimSpace("chaos run "+first(s.File, s.Name)+" "+set.Flags)),
		Topology:      s.Topology,
		Replicas:      s.Replicas,
		Nodes:         first(set.Nodes, s.Nodes, DefaultNodes),
		Quiet:         first(s.Quiet, 3).of(timings.Lease),
		Writes:        timings.Lease / writesPerLease,
		FailoverBound: first(s.Excess, 0.5).of(timings.Lease),
		ReturnBound:   first(s.Return, 1.5).of(timings.Lease),
		Waived:        map[string]string{},
		Steadfast:     s.Steadfast,
		NeedsLeader:   s.NeedsLeader,
		Foreign:       set.Foreign,
	}
	if !set.Foreign {
		plan.Margin, plan.OwesWrites = MarginOf(set.Subject), true
	}
	for _, promise := range checker.Promises {
		if why, waived := s.waived(promise); waived {
			plan.Waived[string(promise)] = why
		} else {
			plan.Promises = append(plan.Promises, string(promise))
		}
	}
	if s.Schedule != nil {
		plan.Schedule = s.schedule(Shape{
			Lease: timings.Lease, Renew: timings.Renew, Drift: plan.Drift, Nodes: plan.NodeNames(), Duration: set.Duration,
			Random: rand.New(rand.NewPCG(set.Seed, 0)), OneKey: set.Foreign, FixedClocks: set.FixedClocks,
		})
	} else {
		plan.Quiet = max(plan.Quiet, set.Duration)
	}
	return plan, nil
}

// waived tells why a promise does not apply, if it does not.
func (s Scenario) waived(p checker.Promise) (why string, waived bool) {
	if p == checker.FailoverBound && s.Steadfast {
		return "the leader does not change in this scenario", true
	}
	why, waived = s.Waived[p]
	return why, waived
}

// schedule is the scenario's schedule, repeated as often as the shape's
// duration has room for it.
func (s Scenario) schedule(shape Shape) faults.Schedule {
	once := s.Schedule(shape)
	period := once.End() + shape.Lease + shape.Lease/2
	repeated := slices.Clone(once)
	for begin := period; begin+once.End() <= shape.Duration; begin += period {
		for _, step := range once {
			step.At += begin
			repeated = append(repeated, step)
		}
	}
	return repeated
}

// first returns the first value that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// NeedsPrivateStore reports whether the scenario hits the store itself, which it
// may only do where the store is the run's own.
func (s Scenario) NeedsPrivateStore() bool {
	plan, err := s.Plan(Settings{})
	return err != nil || plan.Schedule.NeedsPrivateStore()
}

// NeedsServerProcess reports whether the scenario hits the store in a way that no client of
// it can: it freezes it, for instance.
func (s Scenario) NeedsServerProcess() bool {
	plan, err := s.Plan(Settings{})
	return err != nil || plan.Schedule.NeedsServerProcess()
}

// NeedsClocks reports whether the scenario sets candidates' clocks even where it could do
// without.
func (s Scenario) NeedsClocks() bool {
	plan, err := s.Plan(Settings{FixedClocks: true})
	return err != nil || slices.ContainsFunc(plan.Schedule, func(step faults.Step) bool {
		effect := step.Fault.Effect()
		return effect.Skews && !effect.Store
	})
}

// NeedsForgetfulStore reports whether the scenario makes the store older than it
// was: the virtual world's can be, and a redis-server of the harness's own.
func (s Scenario) NeedsForgetfulStore() bool {
	plan, err := s.Plan(Settings{})
	return err != nil || plan.Schedule.NeedsForgetfulStore()
}

// NeedsAttendedStore reports whether the scenario needs a store that is attended to while
// candidates are connected: a redis-server of the harness's own, or that of a bubble.
func (s Scenario) NeedsAttendedStore() bool {
	plan, err := s.Plan(Settings{})
	return err != nil || plan.Schedule.NeedsAttendedStore()
}

// NeedsPasswordFile reports whether candidates have to read the store's password from a
// file, for each connection.
func (s Scenario) NeedsPasswordFile() bool {
	plan, err := s.Plan(Settings{})
	return err != nil || plan.Schedule.NeedsPasswordFile()
}

// Faults are the names of the faults that the scenario injects.
func (s Scenario) Faults() []string {
	plan, err := s.Plan(Settings{})
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, step := range plan.Schedule {
		names[step.Fault.Name()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Find returns the scenarios of these names, in this order. "all" stands for
// all of them, no name at all for the standard suite.
func Find(names ...string) ([]Scenario, error) {
	if len(names) == 0 {
		return Standard(), nil
	}
	if slices.Equal(names, []string{"all"}) {
		return All(), nil
	}
	var found []Scenario
	every := Every()
	for _, name := range names {
		i := slices.IndexFunc(every, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario is called %q%s: \"chaos list\" lists them", name, spelling.Hint(name, append([]string{"all"}, Names(every)...)))
		}
		found = append(found, every[i])
	}
	return found, nil
}

// Standard is the short standard suite: every scenario that is not long.
func Standard() []Scenario {
	return slices.DeleteFunc(All(), func(s Scenario) bool { return s.Long })
}

// Names are the scenarios' names.
func Names(list []Scenario) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}
