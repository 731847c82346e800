package main

import (
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios/trial"
)

// table is the trial as it is reported.
func (r *trialRun) table(t *trial.Trial, cells []*trial.Cell, repro string) *reports.Trial {
	lease := t.Settings.Timings().Lease
	table := &reports.Trial{
		Seed: t.Settings.Seed, LeaseMS: inMillis(lease), Redis: strings.TrimPrefix(r.redis, "Redis: "), Repro: repro,
	}
	for _, p := range t.Places {
		table.Worlds = append(table.Worlds, reports.TrialWorld{Name: p.Name, Runs: p.Runs})
	}
	for _, s := range t.Subjects {
		table.Subjects = append(table.Subjects, reports.TrialSubject{Name: s.Name, Summary: s.Summary, Source: s.Source})
		for _, p := range t.Places {
			for _, m := range trial.Measure(s, p.Name, cells, lease) {
				table.Claims = append(table.Claims, claimOf(m))
			}
		}
	}
	for _, s := range t.Scenarios {
		table.Scenarios = append(table.Scenarios, reports.TrialScenario{Name: s.Name, Summary: s.Summary, Beyond: s.Beyond})
	}
	agreements := map[[2]string]trial.Agreement{}
	for _, live := range cells {
		if live.World != liveWorld {
			continue
		}
		for _, virtual := range cells {
			if virtual.World != virtualWorld || virtual.Subject != live.Subject || virtual.Scenario != live.Scenario {
				continue
			}
			agreement, differences := trial.Compare(live, virtual)
			agreements[[2]string{live.Subject, live.Scenario}] = agreement
			for _, d := range differences {
				table.Differences = append(table.Differences, reports.TrialDifference{
					Subject: d.Subject, Scenario: d.Scenario, Promise: d.Promise, Live: d.Live, LiveRuns: d.OfLive,
					Virtual: d.Virtual, VirtRuns: d.OfVirtual, Chance: d.Chance, Reason: d.Reason,
				})
			}
		}
	}
	for _, c := range cells {
		cell := r.cell(c)
		cell.Agreement = string(agreements[[2]string{c.Subject, c.Scenario}])
		table.Cells = append(table.Cells, cell)
	}
	return table
}

func inMillis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// cell is a cell as it is reported.
func (r *trialRun) cell(c *trial.Cell) reports.TrialCell {
	cell := reports.TrialCell{
		Subject: c.Subject, Scenario: c.Scenario, World: c.World, Verdict: c.Verdict(), NotApplicable: c.Why,
		Runs: len(c.Runs), Kept: c.Count(checker.Pass), Failed: c.Count(checker.Fail), UndecidedRuns: c.Count(checker.Unknown),
		TwoLedMS: inMillis(c.TwoLed()), Stale: c.Stale(),
	}
	if cell.Verdict == checker.Unknown || cell.UndecidedRuns > 0 {
		cell.Undecided = c.Undecided()
	}
	cell.FailoversOf(c.Failovers())
	if p := c.First(); p != "" {
		cell.Promises = append(cell.Promises, p)
	}
	for _, b := range c.Broken() {
		cell.Broken = append(cell.Broken, reports.TrialBroken{Name: b.Promise, Runs: b.Runs, Reason: b.Reason})
		if !slices.Contains(cell.Promises, b.Promise) {
			cell.Promises = append(cell.Promises, b.Promise)
		}
	}
	if len(c.Runs) > 0 {
		cell.Repro = c.Runs[0].Repro
	}
	if e := c.Shortest; e != nil {
		cell.Repro = e.Plan.Repro
		cell.Evidence = r.evidence(c, e)
	}
	return cell
}

// evidence is what shows what a cell broke.
func (r *trialRun) evidence(c *trial.Cell, e *trial.Evidence) *reports.TrialEvidence {
	shown := &reports.TrialEvidence{
		Promise: e.Promise, Folder: trial.Folder(c, int(e.Plan.Seed-r.flags.settings.Seed)), Events: e.Events, Of: e.Of, Command: reports.Redact(e.Plan.Repro),
	}
	if e.Case != nil {
		shown.Replay = shown.Folder + "/" + caseFile
		shown.Command = "chaos replay " + r.out.dir + "/" + shown.Replay
	}
	return shown
}

func claimOf(m trial.Measured) reports.TrialClaim {
	return reports.TrialClaim{
		Subject: m.Subject, World: m.World, Claim: m.Text, Fact: string(m.Fact), Verdict: m.Verdict, Limit: m.Limit,
		Value: m.Value, Unit: m.Fact.Unit(), Samples: m.Samples, Where: m.Where, Note: m.Note,
	}
}

// trialParts are what of a trial can stand in a Markdown file, by the mark that begins it.
func trialParts(table *reports.Trial) map[string]part {
	whole := func(text func(*reports.Trial) []byte) part { return func([]byte) []byte { return text(table) } }
	return map[string]part{
		"<!-- trial -->":             whole(reports.TrialTable),
		"<!-- trial matrix -->":      whole(reports.TrialMatrix),
		"<!-- trial failovers -->":   whole(reports.TrialFailovers),
		"<!-- trial claims -->":      whole(reports.TrialClaims),
		"<!-- trial differences -->": whole(reports.TrialDifferences),
	}
}
