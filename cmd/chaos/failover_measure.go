package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/failover"
	"github.com/recount-io/recount/sim/live"
)

// measuring is a measurement under way.
type measuring struct {
	Main
	*failoverFlags
	screen *screen
	out    *output
	places []*place
	began  time.Time
	groups *groups

	measured int              // runs
	cells    []*failover.Cell // those of which a run has ended
	reported time.Time        // when it last said how far it is
}

// keeps is how many runs of each cell keep their files, though all is well in them.
func (m *measuring) keeps() uint64 {
	return uint64(max(1, mostKept/(len(m.wanted)*(len(m.subjects)+len(m.execs)))))
}

// open opens the worlds of all electors: one for those inside this program, and one for each
// command.
func (m *measuring) open(ctx context.Context) (electors []failover.Elector, err error) {
	connections := connections(m.planned, m.parallel)
	enter := func(open func() (*place, error)) *place {
		if err != nil {
			return nil
		}
		var there *place
		if there, err = open(); err == nil {
			if len(m.places) == 0 || m.places[0].says != there.says {
				m.screen.say("%s", there.says)
			}
			m.places = append(m.places, there)
		}
		return there
	}
	if len(m.subjects) > 0 {
		there := enter(func() (*place, error) {
			switch m.world {
			case virtualWorld:
				return inVirtual(m.virtualSubjects()), nil
			case bubbleWorld:
				return m.inBubble(), nil
			case containersWorld:
				return m.inContainers(ctx, m.screen)
			default:
				return m.inLive(ctx, m.screen, connections)
			}
		})
		for _, name := range m.subjects {
			of := subjectOf(name)
			electors = append(electors, failover.Elector{Name: name, World: there, Waived: of.waived, Applies: applicable(there, of), Repro: m.single(name, "")})
		}
	}
	for _, command := range m.execs {
		session := m.runFlags
		session.exec = command
		there := enter(func() (*place, error) { return session.inLive(ctx, m.screen, connections) })
		of := subject{name: named(command), fixedClocks: true, keeps: !m.transfers}
		electors = append(electors, failover.Elector{Name: of.name, World: there, Foreign: true, FixedClocks: true, Applies: applicable(there, of), Repro: m.single("", command)})
	}
	if err == nil {
		err = m.possible(electors)
	}
	return electors, err
}

// possible refuses a cause that can be brought about with none of the electors.
func (m *measuring) possible(electors []failover.Elector) error {
	for _, c := range m.wanted {
		why := ""
		applies := slices.ContainsFunc(electors, func(e failover.Elector) (applies bool) {
			applies, why = e.Applies(c.Scenario())
			return applies
		})
		if !applies {
			return usage.Of(fmt.Errorf("--cause %s: the scenario %s", c.Name, why))
		}
		for _, gate := range m.conditions {
			for _, e := range electors {
				if applies, why := e.Applies(c.Scenario()); !applies && gate.Cause() == c.Name && (gate.Elector() == "" || gate.Elector() == e.Name) {
					return usage.Of(fmt.Errorf("--fail-if %q: %s after %s is not measured, as the scenario %s: name another elector, as in ELECTOR/%s", gate, e.Name, c.Name, why, gate))
				}
			}
		}
	}
	return nil
}

// applicable reports whether a cause can be brought about where an elector runs.
func applicable(there *place, of subject) func(scenarios.Scenario) (bool, string) {
	return func(s scenarios.Scenario) (bool, string) {
		own := *there
		own.subject = of
		why, _ := own.lacks(s)
		return why == "", why
	}
}

// single is the command that repeats one run.
func (m *measuring) single(subject, command string) func(failover.Cause, uint64) string {
	return func(c failover.Cause, seed uint64) string {
		var subjects, execs []string
		if command == "" {
			subjects = []string{subject}
		} else {
			execs = []string{command}
		}
		return m.repro([]string{c.Name}, subjects, execs, seed, c.Times())
	}
}

// spare watches over a Redis that others use.
func (m *measuring) spare(ctx context.Context) (context.Context, error) {
	if !m.shared() || len(m.places) == 0 {
		return ctx, nil
	}
	wanted := m.parallel
	demand, err := m.budget(m.Main, m.planned, true)
	if err != nil {
		return nil, err
	}
	return m.runFlags.spare(ctx, m.places[0], demand, wanted, m.screen)
}

func (m *measuring) close() error {
	var errs []error
	for _, p := range m.places {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// done keeps the files of a run, and says how far the measurement is. The error is that of
// candidates which end at once, if none of their elector has ever been of use.
func (m *measuring) done(c *failover.Cell, r *failover.Run, o scenarios.Outcome) error {
	if !slices.Contains(m.cells, c) {
		m.cells = append(m.cells, c)
	}
	var unusable *live.CandidateError
	if errors.As(o.Err, &unusable) && !slices.ContainsFunc(m.cells, func(other *failover.Cell) bool {
		return other.Elector == c.Elector && slices.ContainsFunc(other.Runs, func(r *failover.Run) bool { return r.Lasted > 0 })
	}) {
		return fmt.Errorf("%s: %w", c.Elector, unusable)
	}
	switch {
	case o.Result == nil:
		m.screen.say("%s, %s: %s", c.Cause.Name, c.Elector, explain(o.Err))
		r.Folder = ""
	case r.Seed-m.settings.Seed >= m.keeps() && r.Verdict == checker.Pass:
		r.Folder = ""
	default:
		if _, err := m.out.save(r.Folder, o.History, o.Result); err != nil {
			return err
		}
	}
	m.measured++
	if l := m.groups.ended(c, r, m.measured); l != nil {
		m.screen.say("%d at once from now on, because %s", l.Parallel, l.Why)
	}
	if time.Since(m.reported) > reportEvery {
		m.reported = time.Now()
		m.screen.say("%s", m.progress())
	}
	return nil
}

// progress says how far the measurement is, and how long it will take.
func (m *measuring) progress() string {
	took := time.Since(m.began)
	if m.goal() == 0 {
		return fmt.Sprintf("%d runs after %v; it ends when %s is known to %s, or after %v", m.measured, took.Round(time.Second), m.quantile, m.precision, m.most)
	}
	runs := m.left()
	left := time.Duration(float64(took) * float64(runs) / float64(m.measured))
	return fmt.Sprintf("%d of about %d runs after %v; about %v left", m.measured, m.measured+runs, took.Round(time.Second), left.Round(time.Second))
}

// left is how many further runs it takes, if those bring as many failovers as the ones before:
// fewer than there are faults where the machine holds some up, or a fault does not hit the leader.
func (m *measuring) left() (runs int) {
	for _, cause := range m.wanted {
		for _, name := range m.names() {
			need, each := float64(m.count), float64(cause.Times())
			if i := slices.IndexFunc(m.cells, func(c *failover.Cell) bool { return c.Cause.Name == cause.Name && c.Elector == name }); i >= 0 {
				c := m.cells[i]
				if c.Why != "" || c.Ended != "" {
					continue
				}
				need -= float64(c.Count())
				each = float64(max(c.Count(), 1)) / float64(len(c.Runs))
			}
			runs += int(math.Ceil(max(need, 0) / each))
		}
	}
	return runs
}

// report is what was measured.
func (m *measuring) report(cells []*failover.Cell, control *reports.FailoverControl) *reports.Failovers {
	r := m.empty()
	r.Control, r.Started, r.TookMS = control, m.began.UTC().Format(time.RFC3339), inMillis(time.Since(m.began))
	r.Machine = fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if m.simulated() {
		r.Machine, r.TookMS, r.Started = "", 0, "" // it has no part in it
	} else if len(m.places) > 0 {
		r.Redis = strings.TrimPrefix(strings.SplitN(m.places[0].says, "\n", 2)[0], "Redis: ")
	}
	for _, c := range cells {
		cell := failoverCell(c)
		if n := c.Count(); n < m.goal() && c.Why == "" {
			cell.Incomplete, cell.Why = true, c.Ended
			if c.Ended == "" {
				cell.Why = fmt.Sprintf("%d of %d failovers: the measurement ended before", n, m.goal())
			}
		}
		r.Cells = append(r.Cells, cell)
	}
	r.Finish()
	for _, c := range m.conditions {
		r.Judge(c)
	}
	r.Finish()
	return r
}

// failoverCell is a cell as it is reported.
func failoverCell(c *failover.Cell) reports.FailoverCell {
	cell := reports.FailoverCell{Cause: c.Cause.Name, Summary: c.Cause.Summary, Elector: c.Elector, Why: c.Why}
	var lasted, watched, processor time.Duration
	requests := 0
	cell.Verdict = fold(c.Runs, func(r **failover.Run) checker.Verdict { return (*r).Verdict })
	for i, r := range c.Runs {
		cell.Runs = append(cell.Runs, reports.FailoverRun{Seed: r.Seed, Verdict: r.Verdict, Folder: r.Folder, Repro: r.Repro, Trouble: cmp.Or(r.Trouble, r.Undecided)})
		cell.Faults += r.Faults
		cell.Unexplained += len(r.Unexplained)
		requests += r.Requests
		lasted += r.Lasted
		watched += r.Watched
		processor += r.Processor
		for _, f := range r.Failovers {
			cell.Failovers = append(cell.Failovers, reports.Measured(i, f.Failover, f.Unserved, f.Stalled))
		}
		for _, f := range r.Broken {
			k := slices.IndexFunc(cell.Broken, func(b reports.TrialBroken) bool { return b.Name == f.Promise })
			if k < 0 {
				k, cell.Broken = len(cell.Broken), append(cell.Broken, reports.TrialBroken{Name: f.Promise, Reason: f.Reason})
			}
			cell.Broken[k].Runs++
		}
	}
	if lasted > 0 {
		cell.UnexplainedHour, cell.RequestsMinute = float64(cell.Unexplained)/lasted.Hours(), float64(requests)/lasted.Minutes()
	}
	if watched > 0 {
		cell.ProcessorMSMinute = inMillis(processor) / watched.Minutes()
	}
	return cell
}

// writeFailovers writes the report of a measurement into its folder, and shows it.
func writeFailovers(dir string, r *reports.Failovers, s *screen) error {
	doc, err := r.Document()
	if err != nil {
		return err
	}
	return publish(s, dir, r, doc, "index.html", "failovers.md", map[string]format[*reports.Failovers]{
		failoversFile: reports.FailoversJSON, "failovers.csv": reports.FailoversCSV, "junit.xml": reports.FailoversJUnit,
		"failovers.txt": func(r *reports.Failovers) ([]byte, error) { return reports.FailoversBenchmark(r), nil },
	}, failoversFile)
}

// failoversMark begins the table of failovers in a Markdown file.
const failoversMark = "<!-- failovers -->"

// failoverParts are what of a measurement can stand in a Markdown file.
func failoverParts(r *reports.Failovers) map[string]part {
	return map[string]part{failoversMark: func([]byte) []byte { return reports.FailoversTable(r) }}
}
