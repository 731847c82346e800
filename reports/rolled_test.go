package reports

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// longRun is a run that was judged in pieces, and broke a promise.
func longRun() (history.Header, *checker.Summary) {
	h, _ := badRun()
	head := h.Header
	head.World, head.Repro = "virtual", "chaos run mixed --redis redis://app:hunter2@here/0 --rolling"
	return head, &checker.Summary{
		Verdict: checker.Fail,
		Asked: []checker.Finding{
			{Promise: checker.WellFormed, Verdict: checker.Pass, Reason: "it is", Evidence: []int64{3}},
			{Promise: checker.AtMostOneLeader, Verdict: checker.Fail, Reason: "n3 and n5 both led", Evidence: []int64{1_000_001, 1_000_204}},
		},
		Measured: []checker.Finding{{Promise: checker.Stable, Verdict: checker.Unknown, Reason: "faults were on"}},
		Faults:   []checker.FaultCount{{Name: "pause", Injected: 5000, Effective: 5000}},
		Terms:    4321, End: 8760 * time.Hour, Availability: 0.999, Events: 45_000_000, Links: 35_727, Longest: 1522,
		Failovers: checker.FailoverSummary{
			Count:  4320,
			Total:  checker.Quantiles{Min: 20 * time.Second, Max: 41 * time.Second, P50: checker.Quantile{Value: 25 * time.Second, Low: 24 * time.Second, High: 26 * time.Second, Bounded: true}},
			Excess: checker.Quantiles{Max: 4 * time.Millisecond, P99: checker.Quantile{Value: 3 * time.Millisecond, Low: 2 * time.Millisecond, High: 4 * time.Millisecond, Bounded: true}},
		},
	}
}

// The report of a run that was judged as it grew has every figure of the
// summary, lists nothing that was not kept, and is read back as it was written.
func TestRolledHasTheSummary(t *testing.T) {
	head, s := longRun()
	rep := Rolled(head, s)
	if rep.Verdict != checker.Fail || rep.Terms != 4321 || rep.Events != 45_000_000 || rep.Pieces != 35_727 || rep.Longest != 1522 || rep.DurationMS != 8760*3600_000 {
		t.Errorf("%+v", rep)
	}
	if want := (Quantiles{Count: 4320, Min: 20_000, Max: 41_000, P50: Quantile{25_000, 24_000, 26_000, true}}); rep.FailoverMS != want {
		t.Errorf("failovers: %+v", rep.FailoverMS)
	}
	if want := (Quantiles{Count: 4320, Max: 4, P99: Quantile{3, 2, 4, true}}); rep.ExcessMS != want {
		t.Errorf("excess: %+v", rep.ExcessMS)
	}
	if p := rep.Promises[1]; len(p.Evidence) != 2 || len(p.Events) != 0 || len(rep.Failovers) != 0 {
		t.Errorf("%+v, %d failovers", p, len(rep.Failovers))
	}
	got, err := Parse(must(JSON(rep))(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rep, got, cmpopts.IgnoreUnexported(Report{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// What a person or a build server gets to see of such a run says what was
// broken and by which events, that there are failovers although they are not
// listed, and no password.
func TestRolledIsReadable(t *testing.T) {
	rep := Rolled(longRun())
	files, err := RolledFiles(rep)
	if err != nil || len(files) != len(rep.Files) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range rep.Files {
		if text := string(files[name]); text == "" || strings.Contains(text, "hunter2") {
			t.Errorf("%s is empty or has the password:\n%s", name, text)
		}
	}
	page := string(files["report.md"])
	for _, part := range []string{
		"| total | 4320 | 20000 | 25000 (24000 to 26000) |", "| excess | 4320 | 0 | – | – | 3.00 (2.00 to 4.00) |",
		"They are not listed one by one", "| histories that they were judged in | 35,727 |", "| events of the longest history | 1,522 |",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("report.md lacks %q:\n%s", part, page)
		}
	}
	if strings.Contains(page, "| detect |") {
		t.Error("report.md has a row for what is not known")
	}
	var suites junitSuites
	if err := xml.Unmarshal(files["junit.xml"], &suites); err != nil || suites.Failures != 1 {
		t.Errorf("%d failures, %v", suites.Failures, err)
	}
	var out strings.Builder
	if err := SuiteDocument([]*Report{rep}, "").Print(&out, Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"4,320 failovers", "n3 and n5 both led"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the summary lacks %q:\n%s", part, out.String())
		}
	}
}

// A run without a failover has no quantiles, and what broke a promise in the
// history that is kept is shown with its events.
func TestRolledEdges(t *testing.T) {
	head, s := longRun()
	s.Failovers = checker.FailoverSummary{}
	s.Guilty, _ = badRun()
	s.Asked[1].Evidence = []int64{s.Guilty.Events[2].Seq, s.Guilty.Events[3].Seq}
	rep := Rolled(head, s)
	if page := string(reportMarkdown(t, rep)); !strings.Contains(page, "None: no leader was lost") {
		t.Error(page)
	}
	if rep.FailoverMS != (Quantiles{}) || len(rep.Promises[1].Events) != 2 || rep.Events != 45_000_000 {
		t.Errorf("%+v, %d events", rep.FailoverMS, len(rep.Promises[1].Events))
	}
}
