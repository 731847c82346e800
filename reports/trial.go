package reports

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
)

// TrialVersion is the version of trial.json that this package writes.
const TrialVersion = 1

// Trial is trial.json: what came of every subject in every scenario. Durations
// are milliseconds rounded to a microsecond. The caller fills it in and calls
// Finish; how a trial is carried out is no business of this package.
type Trial struct {
	Version int             `json:"recount_trial"`
	Verdict checker.Verdict `json:"verdict"` // fail if a promise was broken, else unknown if a cell is undecided, else pass
	Seed    uint64          `json:"seed"`    // of the first run of each cell; the next one has the next seed
	LeaseMS float64         `json:"lease_ms"`
	Redis   string          `json:"redis,omitempty"` // of the live world
	Repro   string          `json:"repro,omitempty"`
	Stopped bool            `json:"stopped,omitempty"` // the trial ended early

	Worlds    []TrialWorld    `json:"worlds"`
	Subjects  []TrialSubject  `json:"subjects"`
	Scenarios []TrialScenario `json:"scenarios"`
	Cells     []TrialCell     `json:"cells"`
	Claims    []TrialClaim    `json:"claims"`
	// Differences are what the two worlds do not agree about, a sentence each.
	Differences []TrialDifference `json:"differences"`

	_ struct{}
}

// TrialWorld is a world of a trial.
type TrialWorld struct {
	Name string `json:"name"`
	Runs int    `json:"runs"` // of each cell
}

// TrialSubject is an elector on trial.
type TrialSubject struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source,omitempty"` // of its documentation
}

// TrialScenario is a scenario of a trial.
type TrialScenario struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Beyond  string `json:"beyond,omitempty"` // where its fault lies beyond what an elector promises
}

// TrialCell is what came of one subject in one scenario and one world.
type TrialCell struct {
	Subject  string          `json:"subject"`
	Scenario string          `json:"scenario"`
	World    string          `json:"world"`
	Verdict  checker.Verdict `json:"verdict"` // unknown also where the scenario does not apply: see NotApplicable

	NotApplicable string `json:"not_applicable,omitempty"` // why the scenario does not apply
	Undecided     string `json:"undecided,omitempty"`      // why not all runs are decided

	Runs          int `json:"runs"`
	Kept          int `json:"runs_kept"`
	Failed        int `json:"runs_broken"`
	UndecidedRuns int `json:"runs_undecided"`

	Promises []checker.Promise `json:"promises"` // those that are broken, the one that mostly breaks first in front
	Broken   []TrialBroken     `json:"broken,omitempty"`

	TwoLedMS float64 `json:"two_leaders_ms"` // the longest time in which two candidates believed
	Stale    int     `json:"stale_writes"`   // accepted in one run, at the most

	Failovers   int     `json:"failovers"`
	LeftOut     int     `json:"left_out,omitempty"`        // failovers during which the machine stalled
	FailoverP50 float64 `json:"failover_p50_ms,omitempty"` // 0 where they are too few to tell, as is that of the excess
	FailoverMax float64 `json:"failover_max_ms,omitempty"`
	ExcessP50   float64 `json:"excess_p50_ms,omitempty"`
	ExcessMax   float64 `json:"excess_max_ms,omitempty"`

	Agreement string         `json:"agreement,omitempty"` // with the other world: agree, differ, undecided, one world
	Evidence  *TrialEvidence `json:"evidence,omitempty"`
	Repro     string         `json:"repro,omitempty"` // a run that is like the evidence, or the first one
}

// TrialBroken says in how many runs a promise was broken.
type TrialBroken struct {
	Name   checker.Promise `json:"name"`
	Runs   int             `json:"runs"`
	Reason string          `json:"reason"` // in the first of them
}

// TrialEvidence is the shortest history that shows what a cell's subject broke.
type TrialEvidence struct {
	Promise checker.Promise `json:"promise"`
	Folder  string          `json:"folder"`            // with its report, below that of the trial
	Events  int             `json:"events"`            // of the history
	Of      int             `json:"of,omitempty"`      // how many it had before it was reduced; 0: it was not
	Replay  string          `json:"replay,omitempty"`  // the file, below the trial's folder, that chaos replay repeats
	Command string          `json:"command,omitempty"` // that repeats it
}

// Link is the page of the evidence, relative to that of the trial.
func (e *TrialEvidence) Link() string { return e.Folder + "/report.html" }

// TrialClaim is a documented claim beside what was measured.
type TrialClaim struct {
	Subject string          `json:"subject"`
	World   string          `json:"world"`
	Claim   string          `json:"claim"`
	Fact    string          `json:"fact"`
	Verdict checker.Verdict `json:"verdict"` // pass: it holds
	Limit   float64         `json:"limit"`
	Value   float64         `json:"value"`
	Unit    string          `json:"unit,omitempty"`
	Samples int             `json:"samples"`
	Where   string          `json:"where,omitempty"` // the scenario that the value is from
	Note    string          `json:"note,omitempty"`
}

// TrialDifference is a promise that is broken in one world only.
type TrialDifference struct {
	Subject  string          `json:"subject"`
	Scenario string          `json:"scenario"`
	Promise  checker.Promise `json:"promise"`
	Live     int             `json:"live"` // runs that broke it
	LiveRuns int             `json:"live_runs"`
	Virtual  int             `json:"virtual"`
	VirtRuns int             `json:"virtual_runs"`
	Chance   float64         `json:"chance"` // of so much, if both worlds were the same
	Reason   string          `json:"reason"` // in the first run that broke it
}

// FailoversOf fills in a cell's failovers from the total times and what of
// them is excess.
func (c *TrialCell) FailoversOf(total, excess []time.Duration, leftOut int) {
	t, e := quantilesOf(total), quantilesOf(excess)
	c.Failovers, c.LeftOut = t.Count, leftOut
	c.FailoverMax, c.ExcessMax = t.Max, e.Max
	if t.P50.Bounded {
		c.FailoverP50, c.ExcessP50 = t.P50.Value, e.P50.Value
	}
}

// Finish sets the version and the verdict, gives lists in place of nothing and
// takes out passwords.
func (t *Trial) Finish() {
	t.Version, t.Repro, t.Redis = TrialVersion, Redact(t.Repro), Redact(t.Redis)
	var decided []checker.Verdict
	for i := range t.Cells {
		c := &t.Cells[i]
		c.redact()
		if c.NotApplicable != "" {
			continue
		}
		decided = append(decided, c.Verdict)
	}
	t.Verdict = checker.Fold(slices.Values(decided))
	for i := range t.Differences {
		t.Differences[i].Reason = Redact(t.Differences[i].Reason)
	}
	t.Cells, t.Claims, t.Differences = orEmpty(t.Cells), orEmpty(t.Claims), orEmpty(t.Differences)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (c *TrialCell) redact() {
	c.Undecided, c.NotApplicable, c.Repro = Redact(c.Undecided), Redact(c.NotApplicable), Redact(c.Repro)
	c.Promises = orEmpty(c.Promises)
	for i := range c.Broken {
		c.Broken[i].Reason = Redact(c.Broken[i].Reason)
	}
}

// TrialJSON returns trial.json: indented, with a newline at its end.
func TrialJSON(t *Trial) ([]byte, error) {
	return indented("trial.json", t)
}
