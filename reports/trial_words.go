package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
)

// joint is one subject in one scenario, in all worlds of the trial.
type joint struct {
	cells []*TrialCell // those that apply, in the order of the worlds
	whys  []string     // why it does not apply, where it applies in no world

	runs, failed, undecided int
	first                   checker.Promise // broken first; "" if none is
	differs                 bool
}

// joint finds the cells of a subject in a scenario.
func (t *Trial) joint(subject, scenario string) joint {
	var j joint
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Subject != subject || c.Scenario != scenario {
			continue
		}
		if c.NotApplicable != "" {
			if !slices.Contains(j.whys, c.NotApplicable) {
				j.whys = append(j.whys, c.NotApplicable)
			}
			continue
		}
		j.cells = append(j.cells, c)
		j.runs, j.failed, j.undecided = j.runs+c.Runs, j.failed+c.Failed, j.undecided+c.UndecidedRuns
		if j.first == "" && len(c.Promises) > 0 {
			j.first = c.Promises[0]
		}
		j.differs = j.differs || c.Agreement == "differ"
	}
	return j
}

// applies reports whether the scenario applies in any world.
func (j *joint) applies() bool { return len(j.cells) > 0 }

// verdict is that of all worlds together.
func (j *joint) verdict() checker.Verdict {
	verdict := checker.Pass
	for _, c := range j.cells {
		switch c.Verdict {
		case checker.Fail:
			return checker.Fail
		case checker.Unknown:
			verdict = checker.Unknown
		}
	}
	if len(j.cells) == 0 {
		return checker.Unknown
	}
	return verdict
}

// broken reports whether a promise is broken in any world.
func (j *joint) broken(p checker.Promise) bool {
	return slices.ContainsFunc(j.cells, func(c *TrialCell) bool { return slices.Contains(c.Promises, p) })
}

// twoLed is the longest time of two leaders in the worlds in which that is a
// broken promise.
func (j *joint) twoLed() float64 {
	longest := 0.0
	for _, c := range j.cells {
		if slices.Contains(c.Promises, checker.AtMostOneLeader) {
			longest = max(longest, c.TwoLedMS)
		}
	}
	return longest
}

// word is what a broken promise is called where there is little room.
func word(p checker.Promise) string { return checker.InWords(p).Word }

// trialLegend explains what stands in the cells of the matrix.
func trialLegend() []string {
	lines := []string{
		"A cell says which promise broke first, and in how many of the runs any did.",
		"kept: every promise, in all runs. ?: so many runs are undecided. -: does not apply. !: the worlds differ.",
	}
	for _, r := range checker.Table() {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", r.Word, r.Broken, r.Name))
	}
	return lines
}

// brief is a cell of the matrix in eleven columns.
func (j *joint) brief() string {
	between := " "
	if j.differs {
		between = "!"
	}
	switch {
	case !j.applies():
		return "-"
	case j.failed > 0:
		return fmt.Sprintf("%s%s%d/%d", word(j.first), between, j.failed, j.runs)
	case j.verdict() == checker.Pass:
		return "kept"
	case j.runs == 0:
		return "? not run"
	default:
		return fmt.Sprintf("? %d/%d", j.undecided, j.runs)
	}
}

// trialSummary is a row of the small table.
type trialSummary struct {
	Two     string // two leaders at once
	Stale   string // stale writes accepted
	Returns string // the leader returns
	Crash   string // worst failover after a crash, in leases
	Worst   string // worst failover, in leases
	Broken  string // scenarios in which a promise was broken
	Differs string // scenarios in which the worlds differ
}

// crashScenario is whose failovers are those after a crash.
const crashScenario = "crash-leader"

// summary is the row of a subject.
func (t *Trial) summary(subject string) trialSummary {
	var applied, broken, undecided, decided, two, stale, lost, differ int
	longest, crash, worst, where := 0.0, 0.0, 0.0, ""
	for _, s := range t.Scenarios {
		j := t.joint(subject, s.Name)
		if j.runs == 0 {
			continue
		}
		applied++
		count := func(n *int, when bool) {
			if when {
				*n++
			}
		}
		count(&broken, j.failed > 0)
		count(&undecided, j.verdict() == checker.Unknown)
		count(&decided, j.undecided < j.runs)
		count(&two, j.broken(checker.AtMostOneLeader))
		if slices.ContainsFunc(j.cells, func(c *TrialCell) bool { return c.Stale > 0 }) {
			stale, where = stale+1, s.Name
		}
		count(&lost, j.broken(checker.LeaderReturns))
		count(&differ, j.differs)
		longest = max(longest, j.twoLed())
		for _, c := range j.cells {
			if s.Name == crashScenario {
				crash = max(crash, c.FailoverMax)
			}
			worst = max(worst, c.FailoverMax)
		}
	}
	row := trialSummary{Two: "no", Stale: "no", Returns: "always", Crash: t.leases(crash), Worst: t.leases(worst), Broken: fmt.Sprintf("%d of %d", broken, applied), Differs: fmt.Sprint(differ)}
	if undecided > 0 {
		row.Broken += fmt.Sprintf(" (%d undecided)", undecided)
	}
	if decided == 0 { // what was not seen is not known not to be
		row.Two, row.Returns = "?", "?"
	}
	if two > 0 {
		row.Two = fmt.Sprintf("in %d, up to %s", two, t.leases(longest))
	}
	if stale > 0 {
		row.Stale = fmt.Sprintf("in %d", stale)
	}
	if stale == 1 {
		row.Stale += " (" + where + ")"
	}
	if lost > 0 {
		row.Returns = fmt.Sprintf("not in %d", lost)
	}
	return row
}

// leases writes a time in leases: "1.3 leases". "–" for none.
func (t *Trial) leases(millis float64) string {
	if millis == 0 || t.LeaseMS == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f leases", millis/t.LeaseMS)
}

// about says in one line what was tried.
func (t *Trial) about() string {
	var parts []string
	for _, w := range t.Worlds {
		parts = append(parts, fmt.Sprintf("%s of each in the %s world", plural(w.Runs, "run"), w.Name))
	}
	parts = append(parts, fmt.Sprintf("seeds from %d", t.Seed), "lease "+duration(t.LeaseMS))
	if t.Redis != "" {
		parts = append(parts, "redis "+t.Redis)
	}
	return strings.Join(parts, " · ")
}

// line sums the trial up in a sentence.
func (t *Trial) line() string {
	var kept, failed, undecided, none int
	for _, s := range t.Subjects {
		for _, scenario := range t.Scenarios {
			switch j := t.joint(s.Name, scenario.Name); {
			case !j.applies():
				none++
			case j.verdict() == checker.Fail:
				failed++
			case j.verdict() == checker.Pass:
				kept++
			default:
				undecided++
			}
		}
	}
	text := fmt.Sprintf("%s, %s: %d kept, %d broken, %d undecided, %d not applicable", plural(len(t.Subjects), "subject"), plural(len(t.Scenarios), "scenario"), kept, failed, undecided, none)
	if len(t.Worlds) > 1 {
		text += "; " + t.differ()
	}
	if t.Stopped {
		text += "; the trial was stopped early"
	}
	return text
}

// differ says how far the worlds agree.
func (t *Trial) differ() string {
	both, cells := 0, map[[2]string]bool{}
	for _, s := range t.Subjects {
		for _, scenario := range t.Scenarios {
			if j := t.joint(s.Name, scenario.Name); len(j.cells) > 1 && j.cells[0].Runs > 0 && j.cells[1].Runs > 0 {
				both++
			}
		}
	}
	for _, d := range t.Differences {
		cells[[2]string{d.Subject, d.Scenario}] = true
	}
	return fmt.Sprintf("the worlds differ in %d of %s that ran in both", len(cells), plural(both, "cell"))
}

// sentence says what differs.
func (d *TrialDifference) sentence() string {
	return fmt.Sprintf("%s in %s: %s is broken in %d of %d live runs and in %d of %d virtual ones (chance alone: %s); %s",
		d.Subject, d.Scenario, d.Promise, d.Live, d.LiveRuns, d.Virtual, d.VirtRuns, chance(d.Chance), sentence(d.Reason))
}

// measured is what was measured, in words.
func (c *TrialClaim) measured() string {
	if c.Samples == 0 {
		return or(c.Note, "nothing was measured")
	}
	text := strings.TrimSpace(figureText(c.Value) + " " + c.Unit)
	if c.Where != "" {
		text += " in " + c.Where
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// limit is what the claim allows, in words.
func (c *TrialClaim) limit() string { return strings.TrimSpace(figureText(c.Limit) + " " + c.Unit) }

// holds is the verdict on a claim in a word.
func (c *TrialClaim) holds() string {
	switch c.Verdict {
	case checker.Pass:
		return "holds"
	case checker.Fail:
		return "does not hold"
	default:
		return "undecided"
	}
}

// figureText writes a value with no more digits than mean something.
func figureText(x float64) string {
	if x == float64(int64(x)) {
		return fmt.Sprint(int64(x))
	}
	return fmt.Sprintf("%.2f", x)
}
