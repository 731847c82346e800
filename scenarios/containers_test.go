package scenarios_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live/containers"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// inContainers runs scenarios in containers, with everything that belongs to them
// gone in the end. It is skipped where Docker, or its image of Redis, is not.
func inContainers(t *testing.T, set scenarios.Settings, names ...string) []scenarios.Outcome {
	t.Helper()
	if race.Enabled {
		t.Skip("candidates with the race detector are too slow to start in containers")
	}
	if testing.Short() {
		t.Skip("containers take a minute")
	}
	there, err := containers.Open(t.Context(), containers.Options{})
	var missing *redisserver.Error
	if errors.As(err, &missing) {
		t.Skipf("no containers here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := there.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	list, err := scenarios.Find(names...)
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	outcomes := scenarios.Runner{World: there, Parallel: 3, Logs: func(string) (string, error) { return logs, nil }}.Run(t.Context(), list, set)
	for _, o := range outcomes {
		if o.Result == nil {
			t.Fatalf("%s is not whole: %v", o.Scenario.Name, o.Err)
		}
		if world := o.History.Header.World; world != containers.World {
			t.Errorf("%s was in the world %q", o.Scenario.Name, world)
		}
		keep(t, o, logs)
	}
	return outcomes
}

// containerLease is longer than the usual one: Docker takes its time to act.
const containerLease = 2 * time.Second

// The production elector keeps its promises where hosts are containers, and every
// fault takes effect there.
func TestContainers(t *testing.T) {
	names := []string{"crash-leader", "pause-leader", "partition-leader", "sentinel-failover", "isolated-old-master"}
	for _, o := range inContainers(t, scenarios.Settings{Subject: "recount", Nodes: 3, Lease: containerLease}, names...) {
		whole(t, o)
		for _, f := range o.Result.Asked {
			if f.Verdict == checker.Unknown && progress(f.Promise) && disturbed(o) {
				t.Logf("%s: %s, on a machine that was busy: %s", o.Scenario.Name, f.Promise, f.Reason)
			} else if f.Verdict != checker.Pass {
				t.Errorf("%s: %s: %v: %s %v", o.Scenario.Name, f.Promise, f.Verdict, f.Reason, f.Evidence)
			}
		}
	}
}

// progress reports whether the promise is about how fast somebody leads again.
func progress(p checker.Promise) bool {
	return p == checker.LeaderReturns || p == checker.FailoverBound || p == checker.Stable
}

// disturbed reports whether the machine or the store was not up to the run.
func disturbed(o scenarios.Outcome) bool {
	return slices.ContainsFunc(o.History.Events, func(e history.Event) bool { return history.Uninjected(e.Fault) })
}

// A bug is caught where hosts are containers, too: a leader whose container is
// disconnected goes on believing.
func TestContainersCanary(t *testing.T) {
	const name = "canary-believes-on"
	c := canaries()[name]
	for _, o := range inContainers(t, scenarios.Settings{Subject: name, Nodes: 3, Lease: containerLease}, c.scenario) {
		whole(t, o)
		c.expect(t, o)
	}
}
