package reports

import (
	"encoding/json"
	"encoding/xml"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// report.json has every field of the contract, under exactly that name.
func TestReportHasTheFieldsOfTheContract(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal(must(JSON(New(badRun())))(t), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"recount_report", "verdict", "scenario", "subject", "world", "redis", "seed", "nodes", "lease_ms", "duration_ms",
		"promises", "failovers", "failover_ms", "excess_ms", "dual_belief_ms", "leaderless_ms", "availability",
		"writes", "faults", "ops", "repro",
	}
	has(t, "report.json", got, want...)
	has(t, "promises", first(t, got, "promises"), "name", "verdict", "reason", "evidence")
	has(t, "failovers", first(t, got, "failovers"), "fault", "election", "at_ms", "detect_ms", "wait_ms", "acquire_ms", "announce_ms", "total_ms", "excess_ms")
	has(t, "faults", first(t, got, "faults"), "name", "injected", "effective")
	has(t, "failover_ms", got["failover_ms"].(map[string]any), "count", "min", "max")
	has(t, "writes", got["writes"].(map[string]any), "accepted", "refused", "stale_accepted")
	has(t, "ops", got["ops"].(map[string]any), "ok", "fail", "info")
}

// The judges of LeaseLinearizable stand in the report of every history that was checked.
func TestReportHasTheJudges(t *testing.T) {
	h, _ := goodRun()
	rep := New(h, checker.Check(h, checker.Options{}))
	if rep.Lease == nil || rep.Lease.Intervals.Reason == "" || rep.Lease.StoreOrder.Reason == "" || rep.Lease.Porcupine.Promise != checker.LeaseLinearizable {
		t.Errorf("the judges: %+v", rep.Lease)
	}
}

func has(t *testing.T, where string, object map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, ok := object[name]; !ok {
			t.Errorf("%s lacks %q", where, name)
		}
	}
}

func first(t *testing.T, object map[string]any, name string) map[string]any {
	t.Helper()
	list, ok := object[name].([]any)
	if !ok || len(list) == 0 {
		t.Fatalf("%q is no list with entries", name)
	}
	return list[0].(map[string]any)
}

// A report that was written and read again is the same report.
func TestParseReadsWhatJSONWrote(t *testing.T) {
	for _, s := range stories {
		want := New(s.run())
		got, err := Parse(must(JSON(want))(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Report{})); diff != "" {
			t.Errorf("%s: -written +read\n%s", s.name, diff)
		}
	}
	if _, err := Parse([]byte(`{"recount_report":9}`)); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("a report of another version: error %v", err)
	}
}

// A report that names a promise as an earlier version did is read as one with the present name.
func TestOldNameOfAPromiseIsRead(t *testing.T) {
	r, err := Parse([]byte(`{"recount_report":1,"promises":[{"name":"LossHeeded","verdict":"fail","reason":"because"}]}`))
	if err != nil || len(r.Promises) != 1 || r.Promises[0].Promise != checker.StepsDownOnLoss || r.Promises[0].Verdict != checker.Fail {
		t.Errorf("%+v, %v", r, err)
	}
}

// Quantiles are nearest-rank: always a value of the sample.
func TestQuantilesAreNearestRank(t *testing.T) {
	for n, want := range map[int][3]float64{5: {}, 10: {5}, 100: {50, 90}, 101: {51, 91}, 1000: {500, 900, 990}} {
		var sample []time.Duration
		for i := n; i >= 1; i-- {
			sample = append(sample, time.Duration(i)*time.Millisecond)
		}
		q := quantilesOf(sample)
		if got := [3]float64{q.P50.Value, q.P90.Value, q.P99.Value}; got != want || q.Count != n || q.Min != 1 || q.Max != float64(n) {
			t.Errorf("of 1…%d: got %+v, want %v", n, q, want)
		}
	}
}

// An empty sample has no quantiles: a 0 would read as an instant failover.
func TestEmptyQuantilesAreLeftOut(t *testing.T) {
	if got := string(must(json.Marshal(Quantiles{}))(t)); got != `{"count":0}` {
		t.Errorf("got %s", got)
	}
}

// A run without time or terms makes a report all the same, never NaN.
func TestReportOfAnEmptyRun(t *testing.T) {
	h, r := &history.History{}, &checker.Result{Availability: math.NaN()}
	rep := New(h, r)
	text := string(must(JSON(rep))(t))
	for _, want := range []string{`"verdict": "unknown"`, `"availability": 0`, `"failovers": []`, `"promises": []`, `"faults": []`} {
		if !strings.Contains(text, want) {
			t.Errorf("report.json lacks %s:\n%s", want, text)
		}
	}
	reportPage(t, rep, h, r)
}

// Nothing but a run that passed makes a suite pass.
func TestOverall(t *testing.T) {
	run := func(verdicts ...checker.Verdict) (out []*Report) {
		for _, v := range verdicts {
			out = append(out, &Report{Verdict: v})
		}
		return out
	}
	for _, test := range []struct {
		runs []*Report
		want checker.Verdict
	}{
		{run(), checker.Unknown},
		{run(checker.Pass), checker.Pass},
		{run(checker.Pass, checker.Unknown), checker.Unknown},
		{run(checker.Unknown, checker.Fail, checker.Pass), checker.Fail},
	} {
		if got := Overall(test.runs); got != test.want {
			t.Errorf("got %v, want %v", got, test.want)
		}
	}
}

// In junit.xml a broken promise is a failure, an undecided one an error, a
// measured one skipped; and a run that did not pass is never green.
func TestJUnitIsNeverGreenByDefault(t *testing.T) {
	bare := &Report{Scenario: "bare"}
	count := func(r *Report) (failures, errs, skipped int) {
		var doc junitSuites
		if err := xml.Unmarshal(must(JUnit([]*Report{r}))(t), &doc); err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Suites[0].Cases {
			switch {
			case c.Failure != nil:
				failures++
			case c.Error != nil:
				errs++
				if c.Error.Type != "undecided" {
					t.Errorf("%s: type %q", c.Name, c.Error.Type)
				}
			case c.Skipped != nil:
				skipped++
			}
		}
		if doc.Failures != failures || doc.Errors != errs || doc.Skipped != skipped {
			t.Errorf("%s: the sums do not fit the cases", r.Scenario)
		}
		return failures, errs, skipped
	}
	for _, test := range []struct {
		r    *Report
		want [3]int
	}{
		{New(goodRun()), [3]int{0, 0, 1}},
		{New(badRun()), [3]int{1, 0, 1}},
		{New(unknownRun()), [3]int{0, 1, 0}},
		{bare, [3]int{0, 1, 0}},
	} {
		f, e, s := count(test.r)
		if got := [3]int{f, e, s}; got != test.want {
			t.Errorf("%s: failures, errors, skipped: got %v, want %v", test.r.Scenario, got, test.want)
		}
	}
}

// The summary keeps to the terminal's width, is plain ASCII without colour,
// and lets no program under test steer the terminal.
func TestSummaryKeepsToTheTerminal(t *testing.T) {
	var runs []*Report
	for _, s := range stories {
		runs = append(runs, New(s.run()))
	}
	runs[1].Scenario += "\x1b[2J-with-a-name-that-is-much-too-long-for-any-terminal"
	runs[1].Promises[0].Reason += strings.Repeat(" and so on", 20)
	for _, columns := range []int{40, 80, 200} {
		for line := range strings.Lines(string(printed(t, SuiteDocument(runs, ""), Screen{Width: columns}))) {
			line = strings.TrimSuffix(line, "\n")
			if len(line) > columns && !strings.Contains(line, "repeat: ") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%d columns at width %d: %q", len(line), columns, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
				t.Errorf("not plain ASCII at %d: %q", i, line)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(string(printed(t, SuiteDocument(runs, ""), Screen{Color: true}))), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "FAIL") {
		t.Errorf("the last line is not the overall verdict: %q", last)
	}
}

// A small sample has no quantile, but a lower bound of it: P99 of four failovers is their maximum.
func TestNoQuantileOfTooFew(t *testing.T) {
	var sample []time.Duration
	for n := range 400 {
		sample = append(sample, time.Duration(n+1)*time.Millisecond)
	}
	for _, test := range []struct {
		n       int
		short   string
		objects []string
	}{
		{0, "–", []string{"count"}},
		{1, "1.00 ms", []string{"count", "max", "min", "p99_at_least"}},
		{5, "1.00 to 5.00 ms", []string{"count", "max", "min", "p90_at_least", "p99_at_least"}},
		{6, "p50 3.00, longest 6.00 ms", []string{"count", "max", "min", "p50", "p50_interval", "p90_at_least", "p99_at_least"}},
		{298, "p50 149, longest 298 ms", []string{"count", "max", "min", "p50", "p50_interval", "p90", "p90_interval", "p99_at_least"}},
		{299, "p50 150, p99 297, longest 299 ms", []string{"count", "max", "min", "p50", "p50_interval", "p90", "p90_interval", "p99", "p99_interval"}},
	} {
		q := quantilesOf(sample[:test.n])
		var object map[string]any
		text := must(json.Marshal(q))(t)
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(object)); q.Short() != test.short || !slices.Equal(got, test.objects) {
			t.Errorf("of %d: %s, and %v; want %s, and %v", test.n, q.Short(), got, test.short, test.objects)
		}
		var read Quantiles
		if err := json.Unmarshal(text, &read); err != nil || read.Short() != test.short {
			t.Errorf("of %d: read as %s: %v", test.n, read.Short(), err)
		}
	}
}
