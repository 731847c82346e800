package fuzzreport

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
)

// ran is what a short run with the production elector found.
func ran(t *testing.T) *fuzz.Result {
	t.Helper()
	r := fuzz.Run(t.Context(), fuzz.Options{Seed: 1, Schedules: 100, Pins: fuzz.Pins{Subject: "recount"}})
	if r.Err != nil || len(r.Failures) > 0 {
		t.Fatal(r.Err, r.Failures)
	}
	r.Seconds = 0.5
	return &r
}

// broken is the same run with a failure that a person may have put there.
func broken(t *testing.T) *fuzz.Result {
	r := ran(t)
	c := fuzz.Case{
		Subject: "<b>bold</b>", Nodes: 3, Timings: sim.Timings{Lease: 15 * time.Second, Renew: 5 * time.Second, Retry: time.Second}, Drift: 0.01,
		Schedule: faults.Schedule{{At: time.Second, For: 2 * time.Second, Fault: faults.Crash{}, Target: faults.Leader}},
		Failed:   fuzz.Failed{Promise: checker.Stable, Reason: "the leader changed <script>alert(1)</script>"},
	}
	drawn := c
	drawn.Schedule = append(drawn.Schedule, drawn.Schedule...)
	r.Failures = []fuzz.Failure{{Case: c, Drawn: drawn, Seed: 7, Schedules: 42, Seconds: 0.25}}
	return r
}

// traces are what is left of broken's failure.
var traces = []Trace{{File: "out/stable-7.json", Command: "chaos fuzz --seed 7 --schedules 1"}}

// print writes what a terminal shows.
func print(t *testing.T, out *bytes.Buffer, r *fuzz.Result, traces []Trace, last string) {
	t.Helper()
	if err := Print(out, Document(r, traces, ""), last); err != nil {
		t.Fatal(err)
	}
}

// The text says what broke, what it takes to break it, how to repeat it, and
// what was met; all in 80 columns.
func TestText(t *testing.T) {
	var out bytes.Buffer
	print(t, &out, broken(t), traces, "the end")
	text := out.String()
	for _, want := range []string{
		"Stable is broken: the leader changed", "found after 42 schedules (0.2 s), shrunk from 2 faults to 1",
		"crash at 1s for 2s on the leader", "chaos replay out/stable-7.json", "as drawn: chaos fuzz --seed 7 --schedules 1", "100 schedules in 0.5 s (200 a second)", "the end",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "confidence") {
		t.Error("a run that found something is confident that there is nothing")
	}
	out.Reset()
	print(t, &out, ran(t), nil, "")
	if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "With 95 % confidence a fault with a chance of 1 in 33 a schedule would have been seen") {
		t.Error(out.String())
	}
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// The map has a row for every fault that is drawn, blank where nothing can be met, and a
// sign for what was met. A transfer is not drawn: candidates hand over by themselves.
func TestMap(t *testing.T) {
	var out bytes.Buffer
	Map(&out, ran(t).Coverage)
	for _, f := range faults.Catalogue() {
		if drawn := f != (faults.Transfer{}) && !f.Effect().Attended; drawn != strings.Contains(out.String(), "  "+f.Name()+" ") {
			t.Errorf("a row for %s is wanted: %t, in\n%s", f.Name(), drawn, out.String())
		}
	}
	row := regexp.MustCompile(`(?m)^  pause-before-write  +([.▂▄▆█]{6})$`)
	if !row.MatchString(out.String()) {
		t.Errorf("a write can be held for the leader and for nobody else:\n%s", out.String())
	}
	if !strings.ContainsAny(out.String(), "▂▄▆█") {
		t.Errorf("nothing was met:\n%s", out.String())
	}
}

// The page needs nothing from elsewhere, runs no script, and shows what it was
// told as text.
func TestHTML(t *testing.T) {
	page, err := Document(broken(t), traces, "chaos fuzz --seed 1").HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "src=", "<b>bold"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"Stable is broken", "chaos replay out/stable-7.json", "chaos fuzz --seed 7 --schedules 1", "chaos fuzz --seed 1", "default-src", `title="crash, leader, lease`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page does not have %q", want)
		}
	}
	again, err := Document(broken(t), traces, "chaos fuzz --seed 1").HTML()
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("%v: the same run gives another page", err)
	}
}

// Numbers are written as people read them.
func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 20_000: "20,000", 1_234_567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	if count(1, "fault") != "1 fault" || count(2, "fault") != "2 faults" || Confidence(&fuzz.Result{}) != "No schedule was run: nothing is known" {
		t.Error("a count, or the confidence of nothing")
	}
}
