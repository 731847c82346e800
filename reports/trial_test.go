package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
)

// tried is a trial of three subjects: one that keeps everything, one that breaks
// much, and one with a long name that lives in one world only.
func tried() *Trial {
	t := &Trial{
		Seed: 42, LeaseMS: 1000, Redis: "process 7.0.15", Repro: "chaos trial --redis redis://user:s3cret@host/0 --seed 42",
		Worlds:   []TrialWorld{{"live", 3}, {"virtual", 20}},
		Subjects: []TrialSubject{{Name: "recount", Summary: "the production elector"}, {Name: "titan", Summary: "a flag without a deadline", Source: "the titan document"}, {Name: "recount-unprotected", Summary: "without protection"}},
		Scenarios: []TrialScenario{
			{Name: "crash-leader", Summary: "the leader is killed"}, {Name: "pause-leader", Summary: "the leader is suspended"},
			{Name: "restart-without-data", Summary: "the store forgets"}, {Name: "sentinel-failover", Summary: "the primary is killed"},
		},
		Claims: []TrialClaim{
			{Subject: "titan", World: "live", Claim: "At most one leader", Fact: "two leaders", Verdict: checker.Fail, Value: 0.812, Unit: "leases", Samples: 6, Where: "pause-leader"},
			{Subject: "titan", World: "virtual", Claim: "Failover within the TTL | 30 s", Fact: "failover", Verdict: checker.Pass, Limit: 1, Value: 0.95, Unit: "leases", Samples: 80, Where: "crash-leader"},
			{Subject: "titan", World: "virtual", Claim: "Renewal < 5 ms", Fact: "renewal", Limit: 5, Unit: "ms", Note: "no renewal was measured"},
		},
		Differences: []TrialDifference{{Subject: "titan", Scenario: "crash-leader", Promise: checker.FailoverBound, Live: 0, LiveRuns: 3, Virtual: 7, VirtRuns: 20, Chance: 0.316, Reason: "the failover after crash took 600 ms too long"}},
	}
	for _, world := range t.Worlds {
		for _, s := range t.Subjects {
			for i, scenario := range t.Scenarios {
				t.Cells = append(t.Cells, cellFor(s.Name, scenario.Name, world, i))
			}
		}
	}
	t.Finish()
	return t
}

func cellFor(subject, scenario string, world TrialWorld, i int) TrialCell {
	c := TrialCell{Subject: subject, Scenario: scenario, World: world.Name, Verdict: checker.Pass, Runs: world.Runs, Kept: world.Runs, Agreement: "agree", Repro: "chaos run " + scenario}
	one := []time.Duration{900 * time.Millisecond, 1200 * time.Millisecond, time.Duration(i) * 700 * time.Millisecond}
	excess := []time.Duration{5 * time.Millisecond, 9 * time.Millisecond, 11 * time.Millisecond}
	c.FailoversOf(append(one, one...), append(excess, excess...), 0)
	broken := func(runs int, reason string, promises ...checker.Promise) {
		c.Verdict, c.Failed, c.Kept, c.Promises = checker.Fail, runs, world.Runs-runs, promises
		for _, p := range promises {
			c.Broken = append(c.Broken, TrialBroken{p, runs, reason})
		}
		c.Evidence = &TrialEvidence{Promise: promises[0], Folder: fmt.Sprintf("%s/%s/%s-1", subject, scenario, world.Name), Events: 48, Command: "chaos run " + scenario}
		if world.Name == "virtual" {
			c.Evidence.Of, c.Evidence.Replay, c.Evidence.Command = 1637, c.Evidence.Folder+"/case.json", "chaos replay out/case.json"
		}
	}
	switch {
	case scenario == "sentinel-failover" && (world.Name == "virtual" || subject == "titan"):
		c = TrialCell{Subject: subject, Scenario: scenario, World: world.Name, NotApplicable: "the store is several servers"}
	case subject == "recount-unprotected" && world.Name == "live":
		c = TrialCell{Subject: subject, Scenario: scenario, World: world.Name, NotApplicable: "the elector exists in the virtual world only"}
	case subject == "titan" && scenario == "crash-leader" && world.Name == "virtual":
		broken(7, "the failover after crash took 600 ms too long", checker.FailoverBound)
		c.Agreement = "differ"
	case subject == "titan" && scenario == "crash-leader":
		c.Agreement = "differ"
	case subject == "titan" && scenario == "pause-leader":
		broken(world.Runs-1, "n1 and n2 both believed for 812 ms", checker.AtMostOneLeader, checker.LeaseLinearizable)
		c.TwoLedMS, c.Stale = 812, 4
	case subject == "titan":
		c.Verdict, c.Kept, c.UndecidedRuns, c.Undecided = checker.Unknown, world.Runs-1, 1, "WellFormed: the machine stalled"
	}
	return c
}

// Every format of a trial, and what the command writes into Markdown files.
func TestGoldenTrial(t *testing.T) {
	trial := tried()
	d := trial.Document()
	golden(t, "trial.md.txt", d.Markdown())
	golden(t, "trial.html.txt", outline(must(d.HTML())(t)))
	golden(t, "trial.txt", printed(t, d, Screen{Where: "out/index.html"}))
	small := *trial
	small.Cells = small.Cells[4:6]
	golden(t, "trial.json", must(TrialJSON(&small))(t))
}

// No line of the tables is wider than the terminal, however many subjects there
// are; and none of the formats reaches out, or shows the password.
func TestTrialFits(t *testing.T) {
	trial := tried()
	for i := range 9 {
		trial.Subjects = append(trial.Subjects, TrialSubject{Name: fmt.Sprintf("another-elector-%d", i)})
	}
	d := trial.Document()
	fits(t, d)
	for name, text := range map[string][]byte{"html": must(d.HTML())(t), "md": d.Markdown(), "json": must(TrialJSON(trial))(t), "txt": printed(t, d, Screen{})} {
		for _, bad := range []string{"s3cret", "http://", "https://", "NaN", "%!"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}

// What a cell says does not rest on colour: the verdict is a word in it, on the
// page as in the terminal, and each broken one has its link to the evidence.
func TestTrialCellsSpeak(t *testing.T) {
	page := string(must(tried().Document().HTML())(t))
	for _, want := range []string{
		`>kept</span>`, `>broken</span> <strong>AtMostOneLeader</strong>`, `>undecided</span>`, `>does not apply</span>`, "≠ the worlds differ", "two led for 812 ms",
		`<a href="./titan/pause-leader/live-1/report.html"><span class="quiet">broken 2 of 3</span></a>`, `<a href="./titan/pause-leader/virtual-1/report.html"><span class="quiet">broken 19 of 20</span></a><span class="quiet">, 48 events of 1,637`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := len(regexp.MustCompile(`<td>\s*</td>`).FindAllString(page, -1)); n > 0 {
		t.Errorf("%d empty cells", n)
	}
	text := string(printed(t, tried().Document(), Screen{}))
	for _, want := range []string{"two 21/23", "slow!7/23", "? 2/23"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal lacks %q:\n%s", want, text)
		}
	}
}

// The verdict is fail if a promise was broken, unknown if something is undecided
// or nothing was tried, else pass; what does not apply has no say.
func TestTrialVerdict(t *testing.T) {
	kept, broken, undecided := TrialCell{Verdict: checker.Pass}, TrialCell{Verdict: checker.Fail}, TrialCell{}
	none := TrialCell{NotApplicable: "no"}
	for _, test := range []struct {
		cells []TrialCell
		want  checker.Verdict
	}{
		{nil, checker.Unknown}, {[]TrialCell{none}, checker.Unknown}, {[]TrialCell{kept, none}, checker.Pass},
		{[]TrialCell{kept, undecided}, checker.Unknown}, {[]TrialCell{undecided, broken, kept}, checker.Fail},
	} {
		trial := Trial{Cells: test.cells}
		if trial.Finish(); trial.Verdict != test.want {
			t.Errorf("%v, want %v: %+v", trial.Verdict, test.want, test.cells)
		}
	}
}

// trial.json has the fields that other programs rely on.
func TestTrialJSON(t *testing.T) {
	var object struct {
		Cells []struct {
			Subject, Scenario, World, Verdict string
			Promises                          []string
			P50                               float64 `json:"failover_p50_ms"`
		}
	}
	if err := json.Unmarshal(must(TrialJSON(tried()))(t), &object); err != nil {
		t.Fatal(err)
	}
	for _, c := range object.Cells {
		if c.Subject == "titan" && c.Scenario == "pause-leader" && c.World == "virtual" {
			if got := fmt.Sprint(c); got != "{titan pause-leader virtual fail [AtMostOneLeader LeaseLinearizable] 900}" {
				t.Error(got)
			}
			return
		}
	}
	t.Error("a cell is missing")
}
