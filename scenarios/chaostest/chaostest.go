package chaostest

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
)

// New makes one candidate of the elector under test, and competes with it until ctx is
// done; then it resigns, if the elector can, and returns. It is called once in each
// process, or what stands for one in fake time, and again after a crash.
//
// It must make whatever it needs itself, clients of Redis too: what was made outside of
// the call does not belong to fake time. To return before ctx is done, with an error or
// without, and to panic, is a failure of the elector, and the test says so. So is not
// to return within ten leases and ten seconds after ctx is done, in Virtual within five
// seconds or a lease.
type New func(ctx context.Context, c *Candidate) error

// Run tests an elector: each scenario in each world, as subtests "virtual/crash-leader"
// and the like, which -run selects as usual. The test fails if a promise is broken or,
// unless [AllowUnknown] says otherwise, cannot be decided. Call it once in a test; a
// test of several electors has a subtest for each.
func Run(t *testing.T, elector New, options ...Option) {
	if t == nil {
		panic("chaostest: Run needs the test that calls it, and t is nil")
	}
	t.Helper()
	s, err := settle(elector, options, testing.Short(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if Child() {
		s.work(t) // and ends the process
	}
	r := &runner{settings: s, artifacts: openArtifacts(t)}
	for _, world := range s.worlds {
		t.Run(string(world), func(t *testing.T) { r.in(t, world) })
	}
}

// Child reports whether this process is one that Run has started: a candidate, or what
// looks after candidates. What a TestMain starts for other tests need not be started
// there.
func Child() bool {
	for _, variable := range []string{envSupervisor, envSubject, envJob, envCell} {
		if os.Getenv(variable) != "" {
			return true
		}
	}
	return false
}

// World is a world in which candidates live.
type World string

// The worlds.
const (
	// Virtual is virtual time: one agenda, on which everything happens one after the
	// other, a model of the network and of Redis, and candidates that are processes, each
	// in fake time of its own. So their clocks can run at different rates, whatever they
	// take their time from, and what one does never races with what another one does. It
	// runs on every system.
	Virtual World = "virtual"
	// Bubble is fake time: the elector's own code with its goroutines and timers, on
	// connections in memory to a model of Redis, in a bubble of testing/synctest. It
	// takes hardly any time, and runs on every system.
	Bubble World = "bubble"
	// Live is real time: candidates are processes, each with a proxy of its own on
	// its way to a real Redis. It runs on Linux and macOS.
	Live World = "live"
)

// known are all worlds, in the order in which they run.
var known = []World{Virtual, Bubble, Live}

// standard are the scenarios that run if none are named: what befalls every elector
// sooner or later.
var standard = []string{"steady", "crash-leader", "resign-leader", "partition-leader", "replies-lost", "pause-leader"}

// runner runs the scenarios of one test.
type runner struct {
	*settings
	artifacts *artifacts
}

// in runs all scenarios in a world.
func (r *runner) in(t *testing.T, world World) {
	t.Helper()
	r.once(t)
	test := parentOf(t)
	var place place
	if world == Live {
		place = openLive(t, r.settings)
	} else {
		place = r.fake(world, test, nil)
	}
	for _, s := range r.scenarios {
		t.Run(s.Name, func(t *testing.T) {
			if why := r.refuses(s, place); why != "" {
				t.Fatal(why)
			}
			if !s.Alone {
				t.Parallel()
			}
			r.run(t, place, s)
		})
	}
	if r.plans > 0 && (world == Bubble || world == Virtual && !slices.Contains(r.worlds, Bubble)) {
		t.Run("fuzz", func(t *testing.T) { r.fuzz(t, world, test) })
	}
}

// fake is a world whose time is not real, for the plans of scenarios, or for one that was
// drawn.
func (r *runner) fake(world World, test string, drawn *fuzz.Case) place {
	if world == Bubble {
		return &bubblePlace{settings: r.settings, test: test, drawn: drawn}
	}
	return &virtualPlace{settings: r.settings, test: test}
}

// place is a world that is ready.
type place interface {
	scenarios.World
	world() World
	// lacks is why a scenario cannot be carried out there, "" if it can.
	lacks(s scenarios.Scenario) string
}
