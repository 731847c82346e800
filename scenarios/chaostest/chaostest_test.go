package chaostest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/chaostest"
)

// electorVariable names the test of an elector that a process of this program is to
// run: it fails as a user's test does, and another test looks at how.
const electorVariable = "CHAOSTEST_TEST"

// electorTest is a test as a user writes it, and what comes of it.
type electorTest struct {
	run   func(t *testing.T)
	fails bool
	says  []string // patterns
}

func electorTests() map[string]electorTest {
	only := func(world chaostest.World, elector chaostest.New, more ...chaostest.Option) func(t *testing.T) {
		return func(t *testing.T) {
			chaostest.Run(t, elector, append([]chaostest.Option{chaostest.Worlds(world), chaostest.Scenarios("crash-leader")}, more...)...)
		}
	}
	const virtual, bubble, live = chaostest.Virtual, chaostest.Bubble, chaostest.Live
	return map[string]electorTest{
		"Nil":          {only(bubble, nil), true, []string{`New is nil: give a function`}},
		"NilOption":    {only(bubble, sound, nil), true, []string{`an option is nil`}},
		"NoScenario":   {only(bubble, sound, chaostest.Scenarios("crash-leder")), true, []string{`no scenario is called "crash-leder"`}},
		"NoWorld":      {only("real", sound), true, []string{`there is no world "real": there are "virtual", "bubble" and "live"`}},
		"Several":      {only(bubble, sound, chaostest.Scenarios("sentinel-failover")), true, []string{`sentinel-failover has a store of several servers`}},
		"Sound":        {only(bubble, sound), false, []string{`pass: \d+ failovers`}},
		"SoundVirtual": {only(virtual, sound), false, []string{`pass: \d+ failovers`}},
		"SoundLive":    {only(live, sound), false, []string{`pass: \d+ failovers`}},
		"Bare":         {only(bubble, bugs{bare: true}.compete), false, []string{`pass: `}},
		"Writes":       {only(bubble, bugs{writes: true}.compete), false, []string{`pass: `}},
		"Clocked":      {only(bubble, bugs{clocked: true}.compete, chaostest.Clocked(), chaostest.Scenarios("clock-slow", "pause-leader")), false, []string{`pass: `}},
		"BareAndQuiet": {only(bubble, bugs{bare: true, quiet: true}.compete, chaostest.Scenarios("partition-leader", "replies-lost")), false, []string{`pass: `}},
		"Quiet":        {only(bubble, bugs{quiet: true}.compete), false, []string{`pass: `}},
		"Silent":       {only(bubble, bugs{silent: true}.compete), true, []string{`AtMostOneLeader is undecided: the program does not say`}},
		"SilentLive":   {only(live, bugs{silent: true}.compete), true, []string{`AtMostOneLeader is undecided: the program does not say`}},
		"Allowed":      {only(bubble, bugs{silent: true}.compete, chaostest.AllowUnknown()), false, []string{`AtMostOneLeader is undecided`}},
		"ClocksFreeV":  {only(virtual, sound, chaostest.Scenarios("clock-slow")), false, []string{`pass: `}},
		"EndlessV":     {only(virtual, bugs{endless: true}.compete, chaostest.Scenarios("partition-leader")), true, []string{`AtMostOneLeader is broken: n\d \(token \d+\) and n\d \(token \d+\) both believed they led`, `#\d+  [\d.]+ s  n\d  elected`, `report: .*report\.html`}},
		"PausedV":      {only(virtual, sound, chaostest.Scenarios("pause-leader", "replies-lost", "resign-leader")), false, []string{`pass: `}},
		"SilentV":      {only(virtual, bugs{silent: true}.compete), true, []string{`AtMostOneLeader is undecided: the program does not say`}},
		"ErrorV":       {only(virtual, returnsError), true, []string{`n\d: the elector returned before its context was done: no way to lead`}},
		"PanicV":       {only(virtual, panics), true, []string{`NoPanic is broken: n\d panicked at \S+ s: out of order`}},
		"ElsewhereV":   {only(virtual, panicsElsewhere), true, []string{`n2: the elector panicked, outside of the goroutine that called New: out of order elsewhere`, `n2\.log`}},
		"NeverV":       {only(virtual, neverReturns, chaostest.Scenarios("resign-leader")), true, []string{`n\d: the elector did not return within 4.999s after its context was done`}},
		"Clocks":       {only(bubble, sound, chaostest.Scenarios("clock-fast")), true, []string{`clock-fast sets the clocks of candidates.*Clocked`}},
		"WallClocks":   {only(virtual, sound, chaostest.Scenarios("clock-jump")), true, []string{`clock-jump sets the wall clocks of candidates`}},
		"TwiceNamed":   {only(virtual, sound, chaostest.Scenarios("steady", "steady")), true, []string{`steady is named twice`}},
		"NoLease":      {only(virtual, sound, chaostest.Lease(0)), true, []string{`Lease\(0s\): a lease lasts`}},
		"NilTest":      {func(*testing.T) { chaostest.Run(nil, sound) }, true, []string{`chaostest: Run needs the test that calls it`}},
		"Short": {func(t *testing.T) {
			chaostest.Run(t, sound, chaostest.Scenarios("steady"), chaostest.Fuzz(2), chaostest.Seed(1))
		}, false, []string{`--- PASS: TestOfElector/Short/virtual/steady`, `2 plans, drawn from seed 1, broke nothing`}},
		"JSONV":        {only(virtual, bugs{json: true}.compete), false, []string{`pass: `}},
		"TransactsV":   {only(virtual, bugs{watches: true}.compete), false, []string{`pass: `}},
		"TransactsB":   {only(bubble, bugs{watches: true}.compete), false, []string{`pass: `}},
		"DialsV":       {only(virtual, dialsItself), true, []string{`no candidate connected by Candidate\.Dial`}},
		"Endless":      {only(bubble, bugs{endless: true}.compete, chaostest.Scenarios("partition-leader")), true, []string{`AtMostOneLeader is broken: n\d \(token \d+\) and n\d \(token \d+\) both believed they led`, `#\d+  [\d.]+ s  n\d  elected`, `report: .*report\.html`}},
		"Error":        {only(bubble, returnsError), true, []string{`n\d: the elector returned before its context was done: no way to lead`}},
		"ErrorLive":    {only(live, returnsError), true, []string{`n\d: it ended at once.*the elector returned before its context was done: no way to lead`}},
		"NoError":      {only(bubble, returnsNil), true, []string{`n\d: the elector returned before its context was done, without an error`}},
		"Panic":        {only(bubble, panics), true, []string{`NoPanic is broken: n\d panicked at \S+ s: out of order`}},
		"PanicLive":    {only(live, panics), true, []string{`n\d: it ended at once.*it panicked: out of order`}},
		"Elsewhere":    {only(bubble, panicsElsewhere), true, []string{`the elector panicked, outside of the goroutine that called New: out of order elsewhere`, `output\.log`}},
		"Elsewhere2":   {only(live, panicsElsewhere), true, []string{`panicked.*out of order elsewhere`}},
		"NeverReturns": {only(bubble, neverReturns, chaostest.Scenarios("resign-leader")), true, []string{`n\d: the elector did not return within 20s after its context was done`}},
		"DialsItself":  {only(bubble, dialsItself), true, []string{`no candidate connected by Candidate\.Dial`}},
		"Twice": {func(t *testing.T) {
			only(bubble, sound)(t)
			only(bubble, sound)(t)
		}, true, []string{`chaostest\.Run was called before`}},
		"Harmless": {func(t *testing.T) {
			t.Parallel()
			fmt.Print("begun")
			t.Run("a (b)/c d", func(t *testing.T) {
				t.Parallel()
				chaostest.Run(t, func(ctx context.Context, c *chaostest.Candidate) error {
					fmt.Print("half a line")
					return sound(ctx, c)
				}, chaostest.Scenarios("steady"))
			})
		}, false, []string{`--- PASS: TestOfElector/Harmless/a_\(b\)/c_d/bubble/steady`, `--- PASS: TestOfElector/Harmless/a_\(b\)/c_d/live/steady`}},
		"Fuzz":      {only(bubble, bugs{endless: true}.compete, chaostest.Scenarios("steady"), chaostest.Fuzz(50), chaostest.Seed(1)), true, []string{saves, `AtMostOneLeader is broken`}},
		"FuzzSound": {only(bubble, sound, chaostest.Scenarios("steady"), chaostest.Fuzz(10), chaostest.Seed(1)), false, []string{`10 plans, drawn from seed 1, broke nothing`}},
	}
}

// saves is what is said of a drawn plan that fails.
const saves = `a drawn plan fails, with \d+ of its \d+ faults; it is saved as testdata/chaostest/TestOfElector-Fuzz/\S+\.json and runs first from now on`

// TestOfElector is the tests of electors, for processes that are told to run one: by it
// for those of TestElectors, which looks at what they say, by their own flag for those
// that they start. Here there is nothing to show.
func TestOfElector(t *testing.T) {
	named := os.Getenv(electorVariable)
	if named == "" {
		return
	}
	t.Run(named, electorTests()[named].run)
}

// Each test of an elector passes or fails as it should, and says why, in a process of
// its own. Those with a V are in virtual time, where candidates are processes that take
// turns: the race detector would only make them slow.
func TestElectors(t *testing.T) {
	for name, want := range electorTests() {
		if name == "Fuzz" {
			continue // see TestFuzzSaves
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if race.Enabled && strings.HasSuffix(name, "V") {
				t.Skip("without the race detector")
			}
			folder := t.TempDir()
			var more []string
			if name == "Short" {
				more = []string{"-test.short"}
			}
			out, failed := runElectorTest(t, name, folder, more...)
			if failed != want.fails {
				t.Errorf("it fails: %v, want %v", failed, want.fails)
			}
			for _, pattern := range want.says {
				if !regexp.MustCompile(pattern).MatchString(out) {
					t.Errorf("it does not say %s", pattern)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// runElectorTest runs the test of an elector in a folder.
func runElectorTest(t *testing.T, name, folder string, more ...string) (out string, failed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, append([]string{"-test.run=^TestOfElector$", "-test.v", "-test.timeout=5m"}, more...)...)
	cmd.Dir = folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RECOUNT_") || strings.HasPrefix(variable, chaostest.EnvRedis+"=") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, electorVariable+"="+name, chaostest.EnvOut+"="+filepath.Join(folder, "reports"))
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}

// What a drawn plan broke is saved, and runs first the next time: nothing is drawn as long
// as it fails.
func TestFuzzSaves(t *testing.T) {
	folder := t.TempDir()
	out, failed := runElectorTest(t, "Fuzz", folder)
	for _, pattern := range electorTests()["Fuzz"].says {
		if !failed || !regexp.MustCompile(pattern).MatchString(out) {
			t.Fatalf("it does not say %s:\n%s", pattern, out)
		}
	}
	out, failed = runElectorTest(t, "Fuzz", folder)
	if again := regexp.MustCompile(`--- FAIL: TestOfElector/Fuzz/bubble/fuzz/\S+\.json`); !failed || !again.MatchString(out) || strings.Contains(out, "a drawn plan") {
		t.Errorf("it is not what runs first:\n%s", out)
	}
	reports, _ := filepath.Glob(filepath.Join(folder, "reports", "*", "bubble", "fuzz", "*", "history.jsonl"))
	if len(reports) != 2 {
		t.Errorf("reports: %q", reports)
	}
}

// In virtual time one seed gives one history, to the byte, whatever the elector draws by
// crypto/rand.
func TestVirtualRepeats(t *testing.T) {
	if race.Enabled {
		t.Skip("without the race detector")
	}
	var texts []string
	for range 2 {
		folder := t.TempDir()
		if out, failed := runElectorTest(t, "SoundVirtual", folder); failed {
			t.Fatal(out)
		}
		text, err := os.ReadFile(filepath.Join(folder, "reports", "TestOfElector-SoundVirtual", "virtual", "crash-leader", "history.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		one, other := strings.Split(texts[0], "\n"), strings.Split(texts[1], "\n")
		for i := range one {
			if i >= len(other) || one[i] != other[i] {
				t.Fatalf("they differ from line %d of %d and %d on: %s", i+1, len(one), len(other), one[i])
			}
		}
		t.Fatal("they differ")
	}
}
