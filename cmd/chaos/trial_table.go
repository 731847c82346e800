package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
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

// parts are what of a trial can stand in a Markdown file, by the mark that
// begins it. All of them end at the next <!-- end -->.
func parts() map[string]func(*reports.Trial) []byte {
	return map[string]func(*reports.Trial) []byte{
		"<!-- trial -->":             reports.TrialTable,
		"<!-- trial matrix -->":      reports.TrialMatrix,
		"<!-- trial failovers -->":   reports.TrialFailovers,
		"<!-- trial claims -->":      reports.TrialClaims,
		"<!-- trial differences -->": reports.TrialDifferences,
	}
}

// endMark ends what a trial writes into a Markdown file.
const endMark = "<!-- end -->"

// updateTrial writes the parts of the trial anew for which a Markdown file has
// marks.
func updateTrial(path string, table *reports.Trial) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return misuse.Of(fmt.Errorf("--update: %w", err))
	}
	updated, err := withParts(text, table)
	if err != nil {
		return misuse.Of(fmt.Errorf("--update: %s: %w", path, err))
	}
	if bytes.Equal(updated, text) {
		return nil
	}
	if err := os.WriteFile(path, updated, 0o644); err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	return nil
}

// updatable refuses a file of --update that cannot be written in the end, before
// anything is started.
func updatable(paths []string, rewrite func(text []byte) error) error {
	for _, path := range paths {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("--update: %w", err)
		}
		text, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("--update: %w", err)
		}
		if err := rewrite(text); err != nil {
			return fmt.Errorf("--update: %s: %w", path, err)
		}
	}
	return nil
}

// withParts replaces what stands between the marks.
func withParts(text []byte, table *reports.Trial) ([]byte, error) {
	found := false
	for mark, part := range parts() {
		before, rest, has := bytes.Cut(text, []byte(mark))
		if !has {
			continue
		}
		_, after, ends := bytes.Cut(rest, []byte(endMark))
		if !ends {
			return nil, fmt.Errorf("no %s follows %s: add one where the table is to end", endMark, mark)
		}
		found = true
		text = slices.Concat(before, []byte(mark+"\n\n"), part(table), []byte("\n"+endMark), after)
	}
	if !found {
		return nil, fmt.Errorf("there is no line <!-- trial -->: add one, and %s below it, where the table is to stand", endMark)
	}
	return text, nil
}
