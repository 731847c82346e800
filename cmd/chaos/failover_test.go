package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios/failover"
)

// virtually measures failovers in virtual time with these flags, and reports into a folder.
// Runs that work beside each other are tested with the race detector in scenarios/failover.
func virtually(t *testing.T, dir string, flags ...string) result {
	t.Helper()
	if race.Enabled {
		t.Skip("it computes, ten times as long with the race detector")
	}
	return chaos(t, t.Context(), nil, append([]string{"failover", "--world", "virtual", "--out", dir}, flags...)...)
}

// failoversOf reads the failovers.json of a folder.
func failoversOf(t *testing.T, dir string) *reports.Failovers {
	t.Helper()
	r, err := readFailovers(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFailoverBadInput shows that every kind of wrong use gets one line that says what is
// wrong and how to mend it, and the status for that; and that nothing is left.
func TestFailoverBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	measured := func(name, lease string) string {
		return write(name, `{"recount_failovers":1,"world":"live","lease_ms":`+lease+`,"renew_ms":333.333,"retry_ms":50,"nodes":3,"cells":[]}`)
	}
	for _, c := range []struct{ flags, want string }{
		{"--cause crsh", `no cause of a failover is called "crsh" (did you mean crash?): give some of crash, resign, `},
		{"--cause crash --cause earthquake", `"earthquake": give some of crash, `},
		{"crash", "takes no arguments"}, {"--update " + write("bare.md", "# Title\n"), "there is no line <!-- failovers -->: add one"},
		{"--fail-if crash.total>2s,5s", "is no condition: give"},
		{"--fail-if crash.length.p50>2s", `has no figure "length"`},
		{"--fail-if crash.total.max>1.2x", "give a quantile, or a duration"},
		{"--fail-if crash.excess.p90>1.2x", "it compares, so give what with: --baseline FILE"},
		{"--fail-if crash.total.p50>+10ms", "it compares, so give what with: --baseline FILE"},
		{"--fail-if pause.total.p50>1s", `"pause" is not measured: give --cause pause`},
		{"--fail-if honua/crash.total.p50>1s", `"honua" is not measured: give --subject honua`},
		{"--baseline " + filepath.Join(dir, "none"), "no such file"},
		{"--baseline " + dir, "failovers.json: no such file"},
		{"--baseline " + write("empty.json", ""), "not the failovers.json"},
		{"--baseline " + write("history.jsonl", `{"recount_history":1}`), "not the failovers.json"},
		{"--baseline " + write("report.json", `{"recount_report":1,"verdict":"pass"}`), "not the failovers.json"},
		{"--baseline " + write("later.json", `{"recount_failovers":2}`), `"recount_failovers" is 2, and has to be 1`},
		{"--baseline " + write("runs.json", `{"recount_failovers":1,"cells":[{"runs":[],"failovers":[{"run":-1}]}]}`), "of run -1"},
		{"--baseline " + measured("lease.json", "2000"), "the lease is 2s there and 1s here"},
		{"--baseline " + measured("alike.json", "1000") + " --lease 2s", "the lease is 1s there and 2s here"},
		{"--baseline " + measured("alike.json", "1000") + " --renew 100ms", "the interval of renewals is 333.333ms there and 100ms here"},
		{"--baseline " + measured("alike.json", "1000") + " --nodes 5", "the number of candidates is 3 there and 5 here"},
		{"--baseline " + measured("alike.json", "1000") + " --world virtual", "the world is live there and virtual here"},
		{"--baseline " + measured("alike.json", "1000") + " --fail-if crash.excess.p99>1.2x", "200 failovers cannot decide it: give --count 299"},
		{"--baseline " + measured("alike.json", "1000") + " --fail-if crash.excess.p90>1.2x", "has no failover of recount after crash; it has none at all"},
		{"--count 0", "--count 0: at least one failover"},
		{"--count -1", "at least one failover"},
		{"--count many", "--count is \"many\"; it must be a whole number"},
		{"--count 10 --precision 5%", "--count and --precision exclude each other"},
		{"--precision 5", "give a percentage, such as 10%"},
		{"--precision 0%", "give a percentage"},
		{"--precision -5%", "give a percentage"},
		{"--precision few%", "give a percentage"},
		{"--precision NaN%", "give a percentage"},
		{"--precision Inf%", "give a percentage"},
		{"--quantile p90", "--quantile means nothing without --precision"},
		{"--precision 5% --quantile p95", "--quantile p95: give p50, p90 or p99"},
		{"--for -1s", "--for -1s is negative"},
		{"--for 5", "--for is \"5\"; it must be a time with its unit"},
		{"--parallel 0", "at least one run"},
		{"--nodes 0", "at least one candidate"},
		{"--nodes -3", "at least one candidate"},
		{"--prefix=", "--prefix is empty"},
		{"--world vitual", "did you mean virtual?"},
		{"--world both", "use --world live, containers, virtual or bubble"},
		{"--exec true --world virtual", "--exec means nothing with --world virtual"},
		{"--exec true --world containers", "--exec means nothing with --world containers"},
		{"--exec=", "--exec is blank"},
		{"--lock-key :lock", "--lock-key means nothing without --exec"},
		{"--redis auto --world virtual", "--redis means nothing with --world virtual"},
		{"--toxiproxy 127.0.0.1:1 --world virtual", "--toxiproxy means nothing with --world virtual"},
		{"--prefix x: --world virtual", "--prefix means nothing with --world virtual"},
		{"--subject recuont", "did you mean recount?"},
		{"--subject recuont --world virtual", `no subject is called "recuont" in the virtual world: give one of recount, `},
		{"--subject honua --subject honua --world virtual", "--subject honua is given twice"},
		{"--exec true --exec true", "--exec true is given twice"},
		{"--lease 10ms", "too short"},
		{"--lease 1s --renew 1s", "not below lease"},
		{"--redis memcached", "embedded"},
		{"--redis redis://127.0.0.1:1/0", "127.0.0.1:1"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			ctx, stop := context.WithCancel(t.Context())
			if !strings.Contains(c.flags, "--redis redis:") {
				stop() // what is not refused measures nothing
			}
			defer stop()
			refused(t, chaos(t, ctx, nil, append([]string{"failover", "--out", out}, strings.Fields(c.flags)...)...), c.want)
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("the folder for reports is there: %v", err)
			}
		})
	}
	if r := virtually(t, write("file", "")); r.status != statusUsage || !strings.Contains(r.errors, "the reports cannot be written: ") || strings.Count(r.errors, "\n") != 1 {
		t.Errorf("a file for a folder: status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFailoverWritesEveryFormat shows that a measurement in virtual time ends with 0 and
// writes all its files; that --json prints the file and nothing else; that every link of
// the page leads to a file; and that without --json the summary fits the terminal.
func TestFailoverWritesEveryFormat(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"--cause", "crash", "--cause", "resign", "--subject", "recount", "--subject", "honua", "--count", "20", "--seed", "1"}
	r := virtually(t, dir, append(flags, "--json")...)
	if r.status != statusKept {
		t.Fatalf("status %d\n%s", r.status, r.errors)
	}
	for _, name := range append(reports.FailoversFiles(), "index.html") {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) == 0 {
			t.Errorf("%s has %d bytes: %v", name, len(text), err)
		} else if name == failoversFile && string(text) != r.out {
			t.Errorf("--json prints\n%s\nand the file is\n%s", r.out, text)
		}
	}
	object := failoversOf(t, dir)
	if len(object.Cells) != 4 || object.Verdict != checker.Pass || object.World != "virtual" || object.Machine != "" || object.Control != nil {
		t.Errorf("%d cells, %v, world %s, machine %q, control %v", len(object.Cells), object.Verdict, object.World, object.Machine, object.Control)
	}
	for _, c := range object.Cells {
		if c.TotalMS.Count != 20 || len(c.Runs) != 2 || c.Faults != 20 || c.RequestsMinute <= 0 || c.Why != "" {
			t.Errorf("%s of %s: %d failovers of %d runs with %d faults, %.1f requests a minute, %q", c.Cause, c.Elector, c.TotalMS.Count, len(c.Runs), c.Faults, c.RequestsMinute, c.Why)
		}
		for i, run := range c.Runs {
			want := fmt.Sprintf("chaos failover --cause %s --subject %s --world virtual --count 10 --seed %d --lease 1s", c.Cause, c.Elector, 1+i)
			if run.Repro != want || run.Folder != fmt.Sprintf("%s/%s/%d", c.Cause, c.Elector, i+1) {
				t.Errorf("the run in %s is repeated by %q, want %q", run.Folder, run.Repro, want)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`(?:href=|,|\[)"(\./[^"]+)"`).FindAllStringSubmatch(string(page), -1)
	for _, m := range links {
		if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
			t.Errorf("the page links to %s: %v", m[1], err)
		}
	}
	if len(links) < 5+8 {
		t.Errorf("the page has %d links, want those to 5 files and to 8 runs", len(links))
	}
	document := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(document, []byte("before\n"+failoversMark+"\nold\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := virtually(t, t.TempDir(), append(flags, "--update", document)...)
	text, err := os.ReadFile(document)
	inside, after, _ := strings.Cut(string(text), endMark)
	if err != nil || after != "\nafter\n" || strings.Contains(inside, "old") || strings.Count(inside, "\n| ") != 6 || !strings.Contains(inside, object.Repro) {
		t.Errorf("the document is, with %v,\n%s", err, text)
	}
	for line := range strings.Lines(shown.out) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && !strings.HasPrefix(line, "Repeat:") && !strings.HasPrefix(line, "Report") && !strings.HasPrefix(line, "Measuring") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if !strings.HasSuffix(shown.out, "\nPASS  80 failovers\n") || shown.errors != "" {
		t.Errorf("it ends with\n%s%s", shown.out[max(0, len(shown.out)-200):], shown.errors)
	}
}

// TestFailoverRepeats shows that the command which a measurement prints gives the same files
// to the byte in virtual time, however many runs are under way at once. Another seed gives
// others.
func TestFailoverRepeats(t *testing.T) {
	var files []map[string]string
	measure := func(flags ...string) *reports.Failovers {
		dir := t.TempDir()
		if r := virtually(t, dir, flags...); r.status != statusKept {
			t.Fatalf("%v: status %d\n%s%s", flags, r.status, r.out, r.errors)
		}
		files = append(files, contents(t, dir))
		return failoversOf(t, dir)
	}
	flags := []string{"--cause", "crash", "--cause", "rolling-restart", "--subject", "recount", "--subject", "pod-lua", "--count", "50", "--lease", "2s", "--nodes", "4"}
	repro := measure(append(flags, "--seed", "3", "--parallel", "1")...).Repro
	measure(append(flags, "--seed", "3", "--parallel", "5")...)
	measure(append(strings.Fields(strings.TrimPrefix(repro, "chaos failover ")), "--parallel", "3")...)
	for i, again := range files[1:] {
		if !maps.Equal(again, files[0]) || len(again) < 5*7 {
			t.Errorf("measured again (%d) there are %d files, and %d before; they differ in %v", i+1, len(again), len(files[0]), unequal(files[0], again))
		}
	}
	measure(append(flags, "--seed", "4")...)
	if files[3]["/"+failoversFile] == files[0]["/"+failoversFile] {
		t.Error("another seed gives the same failovers")
	}
}

// unequal are the names of the files that differ.
func unequal(a, b map[string]string) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}

// TestFailoverGates shows the exit status of each verdict of a gate, beside a baseline that
// is the same measurement: 0 where the condition certainly does not hold, 1 where it does,
// 2 where the sample cannot tell. A broken gate has the last word over one that is undecided.
func TestFailoverGates(t *testing.T) {
	before := t.TempDir()
	flags := []string{"--cause", "crash", "--count", "60", "--seed", "1"}
	if r := virtually(t, before, flags...); r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, test := range []struct {
		gates    []string
		status   int
		sentence string
	}{
		{nil, statusKept, "After crash, recount beside the baseline: no difference seen"},
		{[]string{"crash.excess.p90 > 2x"}, statusKept, "times that of the baseline: not > 2x"},
		{[]string{"crash.total.p50 > +500ms", "recount/crash.total.max > 1m"}, statusKept, "ms beside the baseline: not > +500ms"},
		{[]string{"crash.total.p50 > 1ms"}, statusBroken, "total p50 of recount after crash is"},
		{[]string{"crash.total.p50 < 2x"}, statusBroken, "times that of the baseline: < 2x"},
		{[]string{"crash.excess.p90 > 1.0x"}, statusUndecided, "cannot be told"},
		{[]string{"crash.excess.p90 > 1.0x", "crash.total.p50 > 1ms"}, statusBroken, "cannot be told"},
	} {
		args, dir := slices.Clone(flags), t.TempDir()
		args = append(args, "--baseline", map[bool]string{true: before, false: filepath.Join(before, failoversFile)}[len(test.gates) == 1])
		for _, text := range test.gates {
			args = append(args, "--fail-if", text)
		}
		r := virtually(t, dir, args...)
		if r.status != test.status || !strings.Contains(strings.Join(strings.Fields(r.out), " "), test.sentence) || r.errors != "" {
			t.Errorf("%q: status %d, want %d and %q\n%s%s", test.gates, r.status, test.status, test.sentence, r.out, r.errors)
		}
		if object := failoversOf(t, dir); len(object.Gates) != len(test.gates) {
			t.Errorf("%q: the JSON has the gates %+v", test.gates, object.Gates)
		}
	}
}

// TestFailoverSeesASlowElector shows that an elector that is slower than the first one is
// said to be so, by how much, and fails a gate of its own.
func TestFailoverSeesASlowElector(t *testing.T) {
	dir := t.TempDir()
	r := virtually(t, dir, "--cause", "resign", "--subject", "recount", "--subject", "pod", "--count", "40", "--seed", "1", "--fail-if", "pod/resign.excess.p50 > 500ms", "--fail-if", "recount/resign.excess.p50 > 500ms")
	if r.status != statusBroken || !strings.Contains(r.out, "After resign, pod beside recount: slower by ") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if gates := failoversOf(t, dir).Gates; len(gates) != 2 || gates[0].Verdict != checker.Fail || gates[1].Verdict != checker.Pass {
		t.Errorf("gates: %+v", gates)
	}
}

// TestFailoverBrokenPromise shows that a broken promise gives 1 and is named, also where
// no failover followed in any run.
func TestFailoverBrokenPromise(t *testing.T) {
	for _, test := range []struct {
		cause, subject, promise string
		runs                    int // in which it is broken
	}{
		{"pause", "titan", "AtMostOneLeader", 2},
		{"crash", "arco-memory", "AtMostOneLeader", 3}, // everybody leads, and nobody takes over
	} {
		dir := t.TempDir()
		r := virtually(t, dir, "--cause", test.cause, "--subject", "recount", "--subject", test.subject, "--count", "20", "--seed", "1")
		if want := fmt.Sprintf("%s after %s: %s is broken in %d runs: ", test.subject, test.cause, test.promise, test.runs); r.status != statusBroken || !strings.Contains(r.out, want) || !strings.Contains(r.out, "\nFAIL  ") {
			t.Errorf("status %d, want %d and %q\n%s%s", r.status, statusBroken, want, r.out, r.errors)
		}
		junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
		if err != nil || !strings.Contains(string(junit), test.promise) || strings.Contains(string(junit), `failures="0"`) {
			t.Errorf("%s of %s: %v in\n%s", test.cause, test.subject, err, junit)
		}
	}
}

// TestFailoverNotMeasured shows that a cause which one of the electors does not know is in the
// report with the reason, and that one which none of them knows is refused.
func TestFailoverNotMeasured(t *testing.T) {
	dir := t.TempDir()
	r := virtually(t, dir, "--cause", "crash", "--cause", "sentinel-failover")
	if r.status != statusUsage || !strings.Contains(r.errors, "--cause sentinel-failover: the scenario has a store of several servers") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	r = virtually(t, dir, "--cause", "store-restart", "--subject", "recount", "--subject", "arco-memory", "--count", "10", "--seed", "1")
	object := failoversOf(t, dir)
	if c := object.Cells[1]; r.status != statusKept || object.Cells[0].TotalMS.Count != 10 || len(c.Runs) != 0 || c.Why == "" || !strings.Contains(r.out, "arco-memory after store-restart: ") {
		t.Errorf("status %d, %d runs, %q\n%s%s", r.status, len(c.Runs), c.Why, r.out, r.errors)
	}
}

// TestFailoverRefusesGatesOnWhatIsNotMeasured shows that a condition about an elector that the
// cause does not apply to is refused before anything is measured.
func TestFailoverRefusesGatesOnWhatIsNotMeasured(t *testing.T) {
	for _, gate := range []string{"store-restart.total.p50 > 1ms", "arco-memory/store-restart.total.p50 > 1ms"} {
		r := virtually(t, filepath.Join(t.TempDir(), "out"), "--cause", "store-restart", "--subject", "recount", "--subject", "arco-memory", "--fail-if", gate)
		if r.status != statusUsage || !strings.Contains(r.errors, "arco-memory after store-restart is not measured") || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s", gate, r.status, r.out, r.errors)
		}
	}
	for want, flags := range map[string][]string{
		"is given twice": {"--fail-if", "crash.total.p50>1s", "--fail-if", "crash.total.p50>1s"},
		"--exec recount has the name of a --subject: give another path": {"--subject", "recount", "--exec", "recount"},
	} {
		refused(t, chaos(t, t.Context(), nil, append([]string{"failover"}, flags...)...), want)
	}
	r := virtually(t, t.TempDir(), "--cause", "crash", "--count", "20", "--seed", "1", "--fail-if", "crash.total.p99 > 1ms")
	if r.status != statusBroken || !strings.Contains(r.out, "20 failovers may show that the figure is above the limit, and never that it is not: that takes --count 299") {
		t.Errorf("a condition that can only hold: status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFailoverRepeatsTheQuestion shows that the command in the report has all that the
// measurement was asked, and that one run is repeated without it.
func TestFailoverRepeatsTheQuestion(t *testing.T) {
	f := failoverFlags{runFlags: runFlags{world: liveWorld, parallel: 2}, count: 60, most: time.Hour, baseline: "of before", failIf: []string{"./my  elector/crash.total.p50 > 1s"}}
	c, err := reports.ParseCondition(f.failIf[0])
	if err != nil {
		t.Fatal(err)
	}
	f.conditions, f.execs, f.causes = []*reports.Condition{c}, []string{"./my elector"}, []string{"crash"}
	want := "chaos failover --cause crash --exec './my elector' --count 60 --seed 0 --lease 1s --for 1h0m0s --parallel 2 --baseline 'of before' --fail-if './my  elector/crash.total.p50 > 1s'"
	if got := f.empty().Repro; got != want {
		t.Errorf("repeated by\n%s\nwant\n%s", got, want)
	}
	f.world, f.most, f.narrow, f.precision, f.quantile, f.baseline, f.conditions = virtualWorld, mostPrecise, .05, "5%", "p90", "", nil
	if got := f.question(); got != "" {
		t.Errorf("defaults are repeated: %q", got)
	}
}

// TestFailoverOfCandidatesThatEndAtOnce shows that a command which is no candidate ends the
// measurement with one line and the status for wrong use, and not with a verdict.
func TestFailoverOfCandidatesThatEndAtOnce(t *testing.T) {
	r := chaos(t, t.Context(), nil, "failover", "--exec", "false", "--redis", "embedded", "--out", t.TempDir())
	if r.status != statusUsage || !strings.HasPrefix(r.errors, "chaos: false: live: candidate n") || !strings.Contains(r.errors, "it ended at once (exit status 1)") || strings.Count(r.errors, "\n") != 1 || strings.Contains(r.out, "UNKNOWN") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFailoverTimeLeft shows that the runs that are left are estimated by the failovers which
// those before brought, and that a cell which was given up needs none.
func TestFailoverTimeLeft(t *testing.T) {
	wanted, err := failover.Find("crash", "resign")
	if err != nil {
		t.Fatal(err)
	}
	m := &measuring{failoverFlags: &failoverFlags{wanted: wanted, subjects: []string{"a", "b"}, count: 100}}
	half := &failover.Run{Failovers: append(make([]failover.Failover, 5), slices.Repeat([]failover.Failover{{Stalled: true}}, 5)...)}
	for _, test := range []struct {
		cell *failover.Cell
		want int
	}{
		{nil, 4 * 10},
		{&failover.Cell{Cause: wanted[0], Elector: "a", Runs: []*failover.Run{half, half}}, 3*10 + 18},
		{&failover.Cell{Cause: wanted[1], Elector: "b", Runs: []*failover.Run{{}}, Ended: "given up"}, 2*10 + 18},
	} {
		if test.cell != nil {
			m.cells = append(m.cells, test.cell)
		}
		if got := m.left(); got != test.want {
			t.Errorf("with %d cells: %d runs are left, want %d", len(m.cells), got, test.want)
		}
	}
}

// TestFailoverPrecision shows that a measurement which is asked for a precision goes on until
// the quantile is known so precisely, and no further.
func TestFailoverPrecision(t *testing.T) {
	dir := t.TempDir()
	r := virtually(t, dir, "--cause", "crash", "--precision", "1.5%", "--quantile", "p50", "--seed", "1", "--parallel", "1")
	c := failoversOf(t, dir).Cells[0]
	q := c.TotalMS.P50
	if half := (q.High - q.Low) / 2; r.status != statusKept || !q.Bounded || half > 0.015*q.Value {
		t.Errorf("status %d, p50 %+v\n%s%s", r.status, q, r.out, r.errors)
	}
	c.Failovers = slices.DeleteFunc(c.Failovers, func(f reports.MeasuredFailover) bool { return f.Run == len(c.Runs)-1 })
	short := reports.Failovers{Cells: []reports.FailoverCell{c}}
	short.Finish()
	if q := short.Cells[0].TotalMS.P50; q.Bounded && (q.High-q.Low)/2 <= 0.015*q.Value {
		t.Errorf("without the last of %d runs p50 is %+v: precise enough", len(c.Runs), q)
	}
}

// TestFailoverStopped shows that a measurement which is stopped reports what there is, says
// so, and ends with the status of a stop; and that one whose time is over ends as others do.
func TestFailoverStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	dir := t.TempDir()
	go func() {
		awaitFile(ctx, filepath.Join(dir, "crash", "recount", "2", "report.html"))
		stop()
	}()
	r := chaos(t, ctx, nil, "failover", "--world", "virtual", "--cause", "crash", "--count", "1000000", "--out", dir)
	object := failoversOf(t, dir)
	if r.status != statusStopped || object.Stopped == "" || object.Cells[0].TotalMS.Count < 20 || !strings.Contains(r.out, "It ended early: ") {
		t.Errorf("status %d, stopped %q, %d failovers\n%s%s", r.status, object.Stopped, object.Cells[0].TotalMS.Count, r.out, r.errors)
	}
	dir = t.TempDir()
	r = virtually(t, dir, "--cause", "crash", "--count", "1000000", "--for", "1ms")
	if n := failoversOf(t, dir).Cells[0].TotalMS.Count; r.status != statusUndecided || n < 10 || n > 10_000 || !strings.Contains(r.out, "the measurement ended before") {
		t.Errorf("status %d, %d failovers\n%s%s", r.status, n, r.out, r.errors)
	}
}

// TestFailoverReportAgain shows that chaos report writes the same files from the JSON alone,
// and puts two measurements beside each other. Such of different leases are refused.
func TestFailoverReportAgain(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for i, flags := range [][]string{{"--seed", "1"}, {"--seed", "2"}, {"--lease", "2s"}} {
		if r := virtually(t, dirs[i], append(flags, "--cause", "crash", "--count", "20")...); r.status != statusKept {
			t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
		}
	}
	before := contents(t, dirs[0])
	r := chaos(t, t.Context(), nil, "report", dirs[0])
	if after := contents(t, dirs[0]); r.status != statusKept || !maps.Equal(before, after) {
		t.Errorf("status %d, changed: %v\n%s%s", r.status, unequal(before, after), r.out, r.errors)
	}
	r = chaos(t, t.Context(), nil, "report", dirs[0], dirs[1])
	if r.status != statusKept || strings.Count(r.out, "beside the baseline") != 1 {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if r = chaos(t, t.Context(), nil, "report", dirs[0], dirs[2]); r.status != statusUsage || !strings.Contains(r.errors, "the lease is 1s there and 2s here") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	var object reports.Failovers
	r = chaos(t, t.Context(), nil, "report", "--json", dirs[0])
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Cells) != 1 {
		t.Errorf("status %d, %v\n%s%s", r.status, err, r.out, r.errors)
	}
}

// TestFailoverOfManyCauses shows that every cause with one server is measured for the
// production elector in virtual time, and that it keeps its promises.
func TestFailoverOfManyCauses(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	dir := t.TempDir()
	var flags []string
	for _, name := range causeNames() {
		if name != "sentinel-failover" && name != "cluster-failover" {
			flags = append(flags, "--cause", name)
		}
	}
	r := virtually(t, dir, append(flags, "--count", "20", "--seed", "1")...)
	object := failoversOf(t, dir)
	if r.status != statusKept || len(object.Cells) != len(flags)/2 {
		t.Errorf("status %d, %d cells\n%s%s", r.status, len(object.Cells), r.out, r.errors)
	}
	for _, c := range object.Cells {
		if c.TotalMS.Count < 20 || c.Why != "" || c.Unexplained > 0 || c.Stalled > 0 {
			t.Errorf("%s: %d failovers, %d unexplained, %d held up, %q", c.Cause, c.TotalMS.Count, c.Unexplained, c.Stalled, c.Why)
		}
	}
}
