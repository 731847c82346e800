package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recount-io/recount/checker"
)

// Every format of one measurement, and those that say more beside a baseline.
func TestGoldenFailovers(t *testing.T) {
	r := measured()
	golden(t, "failovers.json", must(FailoversJSON(r))(t))
	golden(t, "failovers.csv", must(FailoversCSV(r))(t))
	golden(t, "failovers.bench.txt", FailoversBenchmark(r))
	golden(t, "failovers.xml", must(FailoversJUnit(r))(t))
	goldenDocument(t, "failovers", built(r.Document())(t), Screen{Where: "out/index.html"})
	beside := compared(60 * time.Millisecond)
	for _, text := range []string{"crash.excess.p90 > 1.2x", "crash.total.p50 > +80ms"} {
		beside.Judge(parsed(text))
	}
	beside.Finish()
	d := built(beside.Document())(t)
	golden(t, "failovers-beside.md", d.Markdown())
	golden(t, "failovers-beside.txt", printed(t, d, Screen{Color: true}))
}

// A measurement that was written and read again is the same measurement. What it was compared
// with is not in the file.
func TestReadFailoversReadsWhatWasWritten(t *testing.T) {
	for name, want := range map[string]*Failovers{"all": measured(), "beside": compared(time.Millisecond), "nothing": {Cells: []FailoverCell{}}} {
		want.Finish()
		text := must(FailoversJSON(want))(t)
		got, err := ReadFailovers(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want.Baseline = nil
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Failovers{})); diff != "" {
			t.Errorf("%s: -written +read\n%s", name, diff)
		}
		if again := must(FailoversJSON(got))(t); !bytes.Equal(again, text) {
			t.Errorf("%s: written again it is %s, and was %s", name, again, text)
		}
	}
}

// JSON that is no measurement is refused, and the message says what it should be: reports of
// other kinds, another version, half a file, and failovers of runs that are not there.
func TestReadFailoversRefusesAnythingElse(t *testing.T) {
	h, result := goodRun()
	whole := must(FailoversJSON(measured()))(t)
	for name, text := range map[string][]byte{
		"nothing": nil, "a number": []byte("1"), "null": []byte("null"), "a list": []byte("[]"), "an empty object": []byte("{}"),
		"the report of a run": must(JSON(New(h, result)))(t), "a trial": must(TrialJSON(tried()))(t),
		"another version": bytes.Replace(whole, []byte(`"recount_failovers": 1`), []byte(`"recount_failovers": 2`), 1),
		"half a file":     whole[:len(whole)/2], "two files": append(bytes.Clone(whole), whole...),
		"a text for a number": bytes.Replace(whole, []byte(`"nodes": 3`), []byte(`"nodes": "3"`), 1),
		"run -1":              []byte(`{"recount_failovers":1,"cells":[{"runs":[{}],"failovers":[{"run":-1}]}]}`),
		"run 1 of one":        []byte(`{"recount_failovers":1,"cells":[{"runs":[{}],"failovers":[{"run":1}]}]}`),
	} {
		r, err := ReadFailovers(text)
		if err == nil || r != nil || !strings.Contains(err.Error(), `failovers.json of "chaos failover"`) {
			t.Errorf("%s: %v, error %v", name, r, err)
		}
	}
}

// Fields have the names that other programs rely on, and durations are milliseconds. Figures
// that a sample does not carry are left out.
func TestFailoversJSONHasTheFieldsOfTheContract(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal(must(FailoversJSON(measured()))(t), &got); err != nil {
		t.Fatal(err)
	}
	has(t, "failovers.json", got, "recount_failovers", "verdict", "world", "redis", "machine", "started", "took_ms", "seed", "lease_ms", "renew_ms", "retry_ms", "nodes", "asked", "repro", "control", "cells", "gates")
	c := first(t, got, "cells")
	has(t, "cells", c, "cause", "summary", "elector", "verdict", "runs", "faults", "stalled", "unexplained", "unexplained_per_hour", "requests_per_minute", "total_ms", "excess_ms", "unserved_ms", "parts_ms", "failovers")
	has(t, "runs", first(t, c, "runs"), "seed", "verdict", "folder", "repro")
	has(t, "failovers", first(t, c, "failovers"), "run", "at_ms", "from", "to", "wait_ms", "detect_ms", "acquire_ms", "announce_ms", "total_ms", "excess_ms", "unserved_ms")
	has(t, "gates", first(t, got, "gates"), "fail_if", "verdict", "sentence")
	total := c["total_ms"].(map[string]any)
	has(t, "total_ms", total, "count", "min", "max", "p50", "p50_interval", "p90", "p90_interval", "p99_at_least")
	if _, has := total["p99"]; has || total["count"] != 59.0 || c["stalled"] != 1.0 {
		t.Errorf("of 60 failovers, one of which was held up: %v, %v held up", total, c["stalled"])
	}
	if none := got["cells"].([]any)[3].(map[string]any)["total_ms"].(map[string]any); len(none) != 1 || none["count"] != 0.0 {
		t.Errorf("a cell that was not measured has %v", none)
	}
}

// The verdict is fail if a promise was broken or a gate failed, whether or not its cell has
// failovers. Else it is unknown if something is undecided, or nothing was measured.
func TestFailoversVerdict(t *testing.T) {
	cell := func(v checker.Verdict, failovers int) FailoverCell {
		c := cellOf("crash", "recount", 1, failovers, time.Millisecond)
		c.Verdict = v
		return c
	}
	stalled := cell(checker.Pass, 1)
	stalled.Failovers[0].Stalled = true
	short := cell(checker.Pass, 3)
	short.Incomplete = true
	without := FailoverCell{Cause: "crash", Elector: "honua", Why: "does not apply"}
	gate := func(v checker.Verdict) []Gate { return []Gate{{Verdict: v}} }
	for name, test := range map[string]struct {
		cells []FailoverCell
		gates []Gate
		want  checker.Verdict
	}{
		"nothing":                         {nil, nil, checker.Unknown},
		"kept":                            {[]FailoverCell{cell(checker.Pass, 3)}, gate(checker.Pass), checker.Pass},
		"broken":                          {[]FailoverCell{cell(checker.Pass, 3), cell(checker.Fail, 3)}, nil, checker.Fail},
		"undecided":                       {[]FailoverCell{cell(checker.Pass, 3), cell(checker.Unknown, 3)}, nil, checker.Unknown},
		"one cell does not apply":         {[]FailoverCell{cell(checker.Pass, 3), without}, nil, checker.Pass},
		"no cell applies":                 {[]FailoverCell{without}, nil, checker.Unknown},
		"all failovers held up":           {[]FailoverCell{stalled}, nil, checker.Unknown},
		"broken without failovers":        {[]FailoverCell{cell(checker.Fail, 0)}, nil, checker.Fail},
		"broken without failovers beside": {[]FailoverCell{cell(checker.Pass, 3), cell(checker.Fail, 0)}, nil, checker.Fail},
		"a gate failed":                   {[]FailoverCell{cell(checker.Pass, 3)}, append(gate(checker.Unknown), gate(checker.Fail)...), checker.Fail},
		"a gate is undecided":             {[]FailoverCell{cell(checker.Pass, 3)}, gate(checker.Unknown), checker.Unknown},
		"broken, and a gate kept":         {[]FailoverCell{cell(checker.Fail, 3)}, gate(checker.Pass), checker.Fail},
		"nothing measured, a gate failed": {nil, gate(checker.Fail), checker.Fail},
		"fewer than were asked for":       {[]FailoverCell{cell(checker.Pass, 3), short}, gate(checker.Pass), checker.Unknown},
		"fewer, and broken":               {[]FailoverCell{cell(checker.Fail, 3), short}, nil, checker.Fail},
	} {
		r := &Failovers{Cells: test.cells, Gates: test.gates}
		if r.Finish(); r.Verdict != test.want {
			t.Errorf("%s: %v, want %v", name, r.Verdict, test.want)
		}
		if r.Finish(); r.Verdict != test.want {
			t.Errorf("%s, finished again: %v, want %v", name, r.Verdict, test.want)
		}
	}
	stopped := &Failovers{Cells: []FailoverCell{cell(checker.Pass, 3)}, Stopped: "it was stopped"}
	if stopped.Finish(); stopped.Verdict != checker.Unknown {
		t.Errorf("stopped: %v, want unknown", stopped.Verdict)
	}
}

// A broken promise is a failure in junit.xml also where no failover followed, since a case
// that is skipped looks as if it had passed.
func TestJUnitShowsWhatBrokeWithoutFailovers(t *testing.T) {
	r := &Failovers{Cells: []FailoverCell{{Cause: "crash", Elector: "recount", Why: "no failover followed, 3 times in a row", Runs: []FailoverRun{{Verdict: checker.Fail}}, Verdict: checker.Fail, Broken: []TrialBroken{{checker.AtMostOneLeader, 1, "two led"}}}}}
	r.Finish()
	text := string(must(FailoversJUnit(r))(t))
	if !strings.Contains(text, `<failure message="AtMostOneLeader: two led">`) || strings.Contains(text, "<skipped") || !strings.Contains(text, `failures="1"`) {
		t.Errorf("junit.xml is\n%s", text)
	}
}

// Two measurements are alike if nothing but their electors differs. The difference that is
// named has both values.
func TestUnlike(t *testing.T) {
	for want, change := range map[string]func(*Failovers){
		"":                                     func(r *Failovers) { r.Seed, r.Machine, r.Redis, r.Asked, r.Cells = 7, "", "", "", nil },
		"world is virtual there and live here": func(r *Failovers) { r.World = "virtual" },
		"lease is 2s there and 1s here":        func(r *Failovers) { r.LeaseMS = 2000 },
		"interval of renewals is 100ms there":  func(r *Failovers) { r.RenewMS = 100 },
		"retry is 10ms there and 50ms here":    func(r *Failovers) { r.RetryMS = 10 },
		"candidates is 5 there and 3 here":     func(r *Failovers) { r.Nodes = 5 },
	} {
		other := measured()
		change(other)
		if got := measured().Unlike(other); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// No two cases of junit.xml have the same class and name, also where one condition is about
// several electors.
func TestJUnitNamesEachCase(t *testing.T) {
	r := measured()
	r.Gates = nil
	for _, text := range []string{"crash.total.p90 > 1s", "recount/crash.total.p99 > 1s"} {
		r.Judge(parsed(text))
	}
	seen := map[string]bool{}
	for _, name := range regexp.MustCompile(`<testcase [^>]*`).FindAllString(string(must(FailoversJUnit(r))(t)), -1) {
		if seen[name] {
			t.Errorf("twice: %s", name)
		}
		seen[name] = true
	}
	if want := 4 + 3; len(seen) != want {
		t.Errorf("%d cases, want %d: %v", len(seen), want, seen)
	}
}

// No name of a benchmark ends in a number, which benchstat would take for that of processors,
// and two electors never have the same one.
func TestBenchmarksHaveNamesOfTheirOwn(t *testing.T) {
	r := &Failovers{}
	names := []string{"honua-2", "honua", "a b", "a_b", "a/b", "a%2Fb", "日本"}
	for _, name := range names {
		r.Cells = append(r.Cells, cellOf("crash", name, 1, 1, time.Millisecond))
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(FailoversBenchmark(r))) {
		if name, _, is := strings.Cut(line, " 1 "); is {
			seen[name] = true
			if regexp.MustCompile(`-[0-9]+$`).MatchString(name) || strings.Count(name, "/") != 2 {
				t.Errorf("the benchmark is called %s", name)
			}
		}
	}
	if len(seen) != len(names) {
		t.Errorf("%d benchmarks of %d electors: %v", len(seen), len(names), seen)
	}
}

// No line is wider than the terminal. None of the formats
// holds a number that is none, or a verb without its value.
func TestFailoversFit(t *testing.T) {
	r := measured()
	r.Cells[0].Elector = "an elector with a long name, and a command line of its own"
	d := built(r.Document())(t)
	fits(t, d)
	for name, text := range map[string][]byte{
		"html": must(d.HTML())(t), "md": d.Markdown(), "json": must(FailoversJSON(r))(t), "csv": must(FailoversCSV(r))(t),
		"benchmark": FailoversBenchmark(r), "junit": must(FailoversJUnit(r))(t), "terminal": printed(t, d, Screen{}),
	} {
		text = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAll(text, nil)
		if bad := regexp.MustCompile(`NaN|[+-]?Inf\b|%!|http://|https://`).Find(text); bad != nil {
			t.Errorf("%s holds %q", name, bad)
		}
	}
}

// A run that is not decided is named with its reason: a verdict "unknown" is never without one.
func TestUndecidedRunsAreNamed(t *testing.T) {
	r := measured()
	r.Cells[0].Runs[1].Verdict, r.Cells[0].Runs[1].Trouble = checker.Unknown, "a fault took no effect"
	r.Finish()
	want := fmt.Sprintf("1 run not decided, such as that of seed %d: a fault took no effect.", r.Cells[0].Runs[1].Seed)
	if notes := strings.Join(r.notes(), "\n"); !strings.Contains(notes, want) {
		t.Errorf("notes: %s\nwant %q", notes, want)
	}
}
