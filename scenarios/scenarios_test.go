package scenarios_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/live"
)

// session is the one live session of this package's tests. The Redis is what
// RECOUNT_REDIS says: auto, embedded, process, docker or a URL.
var session = sync.OnceValues(func() (*live.Session, error) {
	opened.Store(true)
	return live.Open(context.Background(), live.Options{Redis: os.Getenv("RECOUNT_REDIS")})
})

// opened reports whether a test wanted the session.
var opened atomic.Bool

func TestMain(m *testing.M) {
	live.Main()
	subjects := map[string]candidate.Subject{"recount": candidate.Recount, "recount-unprotected": candidate.Unprotected}
	for name, c := range canaries() {
		subjects[name] = candidate.Blocking(c.elector)
	}
	candidate.Main(subjects)

	flag.Parse()
	// Scenarios mostly wait: more of them than cores may run at once.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("4") // a number is always accepted
	}
	status := bubbletest.Main(m)
	if err := closeSession(); err != nil {
		fmt.Fprintln(os.Stderr, "close the session:", err)
		status = 1
	}
	os.Exit(status)
}

// closeSession closes the session, if there is one, and looks for goroutines
// that outlive it.
func closeSession() error {
	if !opened.Load() {
		return nil
	}
	s, err := session()
	if err != nil {
		return nil // the test that wanted it has said so
	}
	return errors.Join(s.Close(), goleak.Find(
		// What hangs inside toxiproxy when a link is cut stays: nothing can reach it.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
	))
}

// open returns the session and says which Redis it uses.
func open(t *testing.T) *live.Session {
	t.Helper()
	s, err := session()
	if err != nil {
		t.Fatal(err)
	}
	what, why := s.Redis()
	t.Logf("Redis: %s (%s)", what, why)
	return s
}

// run runs one scenario and returns its outcome; its reports go below
// RECOUNT_OUT if that is set.
func run(t *testing.T, s scenarios.Scenario, set scenarios.Settings) scenarios.Outcome {
	t.Helper()
	logs := t.TempDir()
	outcomes := scenarios.Runner{
		World: open(t),
		Logs:  func(string) (string, error) { return logs, nil },
	}.Run(t.Context(), []scenarios.Scenario{s}, set)
	o := outcomes[0]
	if o.Result == nil {
		t.Fatalf("the run is not whole: %v", o.Err)
	}
	keep(t, o, logs)
	return o
}

// whole fails the test if something of the run could not be carried out.
func whole(t *testing.T, o scenarios.Outcome) {
	t.Helper()
	if o.Err != nil {
		t.Errorf("the run is not whole: %v", o.Err)
	}
}

// keep writes the reports of a run for people to read.
func keep(t *testing.T, o scenarios.Outcome, logs string) {
	t.Helper()
	out := os.Getenv("RECOUNT_OUT")
	if out == "" {
		return
	}
	files, err := reports.Files(reports.New(o.History, o.Result), o.History, o.Result)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(out, strings.ReplaceAll(t.Name(), "/", "-"))
	if !strings.HasSuffix(dir, o.Scenario.Name) { // a test of several scenarios
		dir += "-" + o.Scenario.Name
	}
	if err := os.CopyFS(filepath.Join(dir, "logs"), os.DirFS(logs)); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScenarios shows that the production elector keeps its promises in every
// scenario, and that every fault took effect.
func TestScenarios(t *testing.T) {
	private := open(t).Private()
	forgetful, why := open(t).Forgetful()
	for i, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			if race.Enabled && i%3 > 0 {
				t.Skip("the race detector watches one in three: the code of all is the same")
			}
			if s.NeedsPrivateStore() && !private {
				t.Skip("it hits the store itself, and this Redis is not the run's own")
			}
			if s.NeedsForgetfulStore() && !forgetful {
				t.Skip(why)
			}
			t.Parallel()
			o := run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			heldUp(t, o)
			for tries := 1; o.Verdict() != checker.Pass && (stalled(o) || o.Verdict() == checker.Unknown && o.Err != nil) && tries < 3; tries++ {
				t.Logf("the machine stalled in a run that is %v, or it is not whole (%v): once more", o.Verdict(), o.Err)
				o = run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			}
			keeps(t, o)
			t.Logf("%d failovers, dual belief %v, availability %.3f", len(o.Result.Failovers), o.Result.DualBelief, o.Result.Availability)
		})
	}
}

// keeps fails the test unless every promise was kept and every fault took
// effect.
func keeps(t *testing.T, o scenarios.Outcome) {
	t.Helper()
	whole(t, o)
	for _, f := range o.Result.Asked {
		if f.Verdict != checker.Pass {
			t.Errorf("%s: %v: %s %v", f.Promise, f.Verdict, f.Reason, f.Evidence)
		}
	}
	for _, f := range o.Result.Faults {
		if f.Effective != f.Injected {
			t.Errorf("fault %s: %d injected, %d effective", f.Name, f.Injected, f.Effective)
		}
	}
	if len(o.Plan.Schedule) > 0 && len(o.Result.Faults) == 0 {
		t.Error("the schedule has faults, and none was injected")
	}
}

// stalled reports whether the machine held up the run: what such a run did not
// keep says nothing about the elector.
func stalled(o scenarios.Outcome) bool {
	return slices.ContainsFunc(o.Result.Faults, func(f checker.FaultCount) bool { return history.Uninjected(f.Name) })
}

// heldUp ends a test with the race detector, which makes a machine busy, if that is why not
// all is decided: more runs would make it busier, and the test without it decides. A promise
// of safety that is broken is judged here, too.
func heldUp(t *testing.T, o scenarios.Outcome) {
	t.Helper()
	unsafe := slices.ContainsFunc(o.Result.Asked, func(f checker.Finding) bool {
		return f.Verdict == checker.Fail && f.Promise != checker.LeaderReturns && f.Promise != checker.FailoverBound && f.Promise != checker.Stable
	})
	if race.Enabled && o.Verdict() != checker.Pass && stalled(o) && !unsafe {
		t.Skipf("the machine is too busy: the run is %v", o.Verdict())
	}
}

// TestCanaries shows that three broken electors are caught, each on the
// promise that it breaks, and that the finding names the two events.
func TestCanaries(t *testing.T) {
	for name, c := range canaries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := c.find()
			if err != nil {
				t.Fatal(err)
			}
			o := run(t, s, scenarios.Settings{Subject: name, Seed: 1})
			whole(t, o)
			c.expect(t, o)
		})
	}
}
