package chaostest

import (
	"context"
	"flag"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live"
)

// livePlace is real time.
type livePlace struct{ session *live.Session }

var _ place = (*livePlace)(nil)

// openLive starts what the runs of a test share, which ends with the test.
func openLive(t *testing.T, s *settings) *livePlace {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skipf("the live world runs on Linux and macOS, not on %s", runtime.GOOS)
	}
	session, err := live.Open(context.Background(), live.Options{Redis: s.redis, Self: again(parentOf(t))})
	if err != nil {
		t.Fatalf("the live world cannot be opened: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the end of the live world: %v", err)
		}
	})
	what, why := session.Redis()
	t.Logf("Redis: %s (%s)", what, why)
	return &livePlace{session}
}

func (l *livePlace) world() World { return Live }

func (l *livePlace) lacks(s scenarios.Scenario) string {
	if s.NeedsPrivateStore() && !l.session.Private() {
		return s.Name + " hits the store itself, and only a Redis of the test's own may be hit: use Redis(\"process\") for it, or Worlds(Bubble)"
	}
	forgetful, why := l.session.Forgetful()
	switch {
	case s.NeedsForgetfulStore() && !forgetful:
		return s.Name + " sets the store back: " + why
	case s.NeedsPasswordFile():
		return s.Name + " changes the store's password, and an elector under test is given a URL"
	case s.NeedsAttendedStore() && !forgetful:
		return s.Name + " changes connections or users of the store: use Redis(\"process\") for it"
	}
	return ""
}

// Run implements scenarios.World.
func (l *livePlace) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	return l.session.Run(ctx, plan, logs)
}

// parentOf is the name of the test that called Run, of a world's subtest.
func parentOf(t *testing.T) string {
	name := t.Name()
	return name[:strings.LastIndexByte(name, '/')]
}

// once refuses a second call of Run in one test: the processes of both would be
// started with the same flags.
func (r *runner) once(t *testing.T) {
	t.Helper()
	name := t.Name()
	if world, _, again := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "#"); again {
		t.Fatalf("chaostest.Run was called before in %s, or it has another subtest called %s: give each call a subtest of its own, or its processes could not be told apart", parentOf(t), world)
	}
}

// again are the arguments with which this program comes to the call of Run in the test
// of that name, and does nothing else.
func again(test string) []string {
	var levels []string
	for level := range strings.SplitSeq(test, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	arguments := []string{"-test.run=" + strings.Join(levels, "/"), "-test.count=1", "-test.timeout=0"}
	if testing.Short() {
		arguments = append(arguments, "-test.short")
	}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			arguments = append(arguments, "-"+f.Name+"="+f.Value.String())
		}
	})
	if flag.NArg() > 0 {
		arguments = append(append(arguments, "--"), flag.Args()...)
	}
	return arguments
}
