// Package failover measures how long an election is without a leader: of each cause and
// each elector as many failovers as the question needs, one cause and one elector after the
// other, so that what else the machine does meets all of them alike.
//
// docs/failover.md tells how to read what comes out.
package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
)

// Elector is one whose failovers are measured.
type Elector struct {
	Name  string
	World scenarios.World // in which it runs

	// What has to be known of it to judge it fairly: see trial.Subject.
	Waived      map[checker.Promise]string
	Applies     func(scenarios.Scenario) (applies bool, why string)
	Stranger    bool
	FixedClocks bool

	// Repro is the command that repeats one run.
	Repro func(c Cause, seed uint64) string
}

// Measurement says what to measure, and when that is enough.
type Measurement struct {
	Causes   []Cause
	Electors []Elector
	Settings scenarios.Settings // the seed is that of the first run of each cell
	Parallel int                // runs at once; 0: one

	// A cell has enough when it has Count failovers, if that is above 0, or when Precise says
	// so, which is asked before each further run.
	Count   int
	Precise func(c *Cell) bool
	// Most is how long runs are begun; 0: for ever.
	Most time.Duration

	// Logs makes the folder for the logs of a run.
	Logs func(folder string) (string, error)
	// Done hears of each run that has ended, one call at a time; may be nil. Its error ends
	// the measurement.
	Done func(c *Cell, r *Run, o scenarios.Outcome) error
}

// Cell is what was measured of one elector after one cause.
type Cell struct {
	Cause   Cause
	Elector string
	Why     string // why it cannot be measured; "" if it can
	Ended   string // why it was given up; "" if it was not
	Runs    []*Run // in the order of their seeds, once the measurement is over

	elector *Elector
	begun   int // runs
	running int
}

// Run is what a measurement keeps of one run.
type Run struct {
	Seed      uint64
	Folder    string // of its files, below that of the measurement
	Repro     string
	Verdict   checker.Verdict
	Broken    []checker.Finding
	Trouble   string // why the run is not whole; "" if it is
	Undecided string // the first promise that is not decided, and why; "" if all are

	Failovers   []Failover // after the cause
	Unexplained []checker.Failover
	Faults      int           // how often the cause was put on
	Requests    int           // about the lease, of all candidates
	Processor   time.Duration // that candidates took of processors, within Watched
	Watched     time.Duration // for which that is known of one candidate or another
	Lasted      time.Duration
}

// Failover is one failover, and whether the machine held it up: then it tells of the machine,
// and not of the elector.
type Failover struct {
	checker.Failover
	Stalled  bool
	Unserved time.Duration // without an accepted write: from the last one before it to the one that ends it
}

// Sample are the failovers of each run that the machine did not hold up.
func (c *Cell) Sample(of func(Failover) time.Duration) [][]time.Duration {
	var all [][]time.Duration
	for _, r := range c.Runs {
		var sample []time.Duration
		for _, f := range r.Failovers {
			if !f.Stalled {
				sample = append(sample, of(f))
			}
		}
		all = append(all, sample)
	}
	return all
}

// Count is how many failovers the sample has.
func (c *Cell) Count() int {
	n := 0
	for _, run := range c.Sample(func(Failover) time.Duration { return 0 }) {
		n += len(run)
	}
	return n
}

// fruitless is after how many runs without a failover, or without a history, a cell is given
// up.
const fruitless = 3

// hopeless tells why further runs of the cell would bring nothing.
func (c *Cell) hopeless() (why string) {
	if len(c.Runs) < fruitless {
		return ""
	}
	for _, r := range c.Runs[len(c.Runs)-fruitless:] {
		if slices.ContainsFunc(r.Failovers, func(f Failover) bool { return !f.Stalled }) {
			return ""
		}
		why = r.Trouble
		if len(r.Failovers) > 0 {
			why = "the machine held up every failover"
		}
	}
	if why == "" {
		why = "no failover followed"
	}
	return fmt.Sprintf("%s, %d times in a row", why, fruitless)
}

// Run measures until every cell has enough, Most is over, or ctx ends. It returns a cell
// for every cause and elector, whatever came of it. The error is ctx's, or that of Done.
func (m *Measurement) Run(ctx context.Context) ([]*Cell, error) {
	var cells []*Cell
	for _, c := range m.Causes {
		for i := range m.Electors {
			cell := &Cell{Cause: c, Elector: m.Electors[i].Name, elector: &m.Electors[i]}
			if m.Electors[i].Applies != nil {
				if applies, why := m.Electors[i].Applies(c.Scenario()); !applies {
					cell.Why = why
				}
			}
			cells = append(cells, cell)
		}
	}
	w := &work{Measurement: m, until: time.Now().Add(m.Most), next: newRota(cells)}
	w.changed = sync.NewCond(&w.mu)
	var working sync.WaitGroup
	for range max(m.Parallel, 1) {
		working.Go(func() {
			for cell := w.take(ctx); cell != nil; cell = w.take(ctx) {
				w.give(cell, w.one(ctx, cell))
			}
		})
	}
	working.Wait()
	for _, c := range cells {
		c.order()
	}
	return cells, errors.Join(w.err, ctx.Err())
}

// work is a measurement under way.
type work struct {
	*Measurement
	until time.Time

	mu      sync.Mutex
	changed *sync.Cond
	next    *rota
	err     error
}

// task is one run of a cell.
type task struct {
	cell *Cell
	run  int
}

// take returns the next run that is to be made, nil if there is none any more.
func (w *work) take(ctx context.Context) *task {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if ctx.Err() != nil || w.err != nil || w.Most > 0 && time.Now().After(w.until) {
			return nil
		}
		cell, waiting := w.next.pick(w.wants)
		if cell != nil {
			cell.begun++
			cell.running++
			return &task{cell, cell.begun - 1}
		}
		if !waiting {
			return nil
		}
		w.changed.Wait() // for what the runs under way bring
	}
}

// wants tells whether a cell needs a further run now, and whether it may do later.
func (w *work) wants(c *Cell) (now, later bool) {
	count := c.Count()
	if c.Why != "" || c.Ended != "" || w.Count > 0 && count >= w.Count || w.Count <= 0 && w.Precise(c) {
		return false, false
	}
	if why := c.hopeless(); why != "" {
		c.Ended = why
		return false, false
	}
	return w.Count <= 0 || count+c.running*c.Cause.Times() < w.Count, true
}

// give takes in what came of a run.
func (w *work) give(t *task, o result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	t.cell.running--
	if o.run == nil {
		return // it was stopped half-way
	}
	t.cell.Runs = append(t.cell.Runs, o.run)
	if w.Done != nil && w.err == nil {
		w.err = w.Done(t.cell, o.run, o.outcome)
	}
}

type result struct {
	run     *Run
	outcome scenarios.Outcome
}

// one makes one run.
func (w *work) one(ctx context.Context, t *task) result {
	e, set := t.cell.elector, w.Settings
	set.Subject, set.Stranger, set.FixedClocks = e.Name, e.Stranger, e.FixedClocks
	set.Seed += uint64(t.run)
	scenario := t.cell.Cause.Scenario()
	for promise, why := range e.Waived {
		scenario.Waived[promise] = why
	}
	run := &Run{Seed: set.Seed, Folder: fmt.Sprintf("%s/%s/%d", t.cell.Cause.Name, w.folder(e), t.run+1)}
	set.Repro = e.Repro(t.cell.Cause, set.Seed)
	runner := scenarios.Runner{World: e.World, Logs: func(string) (string, error) { return w.Logs(run.Folder) }}
	outcomes := runner.Run(ctx, []scenarios.Scenario{scenario}, set)
	if len(outcomes) == 0 || ctx.Err() != nil {
		return result{}
	}
	o := outcomes[0]
	run.Repro, run.Verdict = o.Plan.Repro, o.Verdict()
	if o.Err != nil {
		run.Trouble = o.Err.Error()
	}
	if o.Result != nil {
		run.observe(t.cell.Cause, o.History, o.Result)
	} else if run.Trouble == "" {
		run.Trouble = "there is no history"
	}
	return result{run, o}
}

// folder is the elector's name as that of a folder: a command has blanks and slashes. Electors
// whose names would become the same are numbered.
func (m *Measurement) folder(of *Elector) string {
	clean := func(e *Elector) string {
		return strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
				return r
			}
			return '-'
		}, e.Name), "-.")
	}
	name, same := clean(of), 0
	for i := range m.Electors {
		if e := &m.Electors[i]; clean(e) == name {
			if same++; e == of && same > 1 {
				return fmt.Sprintf("%s-%d", name, same)
			}
		}
	}
	return name
}

// observe takes from a run what a measurement needs.
func (r *Run) observe(c Cause, h *history.History, result *checker.Result) {
	held := calibration.Held(h)
	for _, f := range result.Failovers {
		stalled := held(f.At, f.At+f.Total)
		switch {
		case c.brings(f):
			r.Failovers = append(r.Failovers, Failover{f, stalled, unserved(h, f)})
		case !stalled:
			r.Unexplained = append(r.Unexplained, f)
		}
	}
	for _, f := range result.Asked {
		switch {
		case f.Verdict == checker.Fail:
			r.Broken = append(r.Broken, f)
		case f.Verdict == checker.Unknown && r.Undecided == "":
			r.Undecided = fmt.Sprintf("%s is undecided: %s", f.Promise, f.Reason)
		}
	}
	for _, f := range result.Faults {
		if f.Name == c.fault.Name() {
			r.Faults = f.Injected
		}
	}
	r.Requests = Requests(h)
	r.Lasted = result.End
	r.consumed(h)
}

// Requests is how many requests about the lease all candidates sent.
func Requests(h *history.History) int {
	return count(h, func(e *history.Event) bool { return e.Kind == history.Invoke && e.Call.OnLease() })
}

// Elected is how often somebody was elected.
func Elected(h *history.History) int {
	return count(h, func(e *history.Event) bool { return e.Kind == history.Elected })
}

func count(h *history.History, what func(*history.Event) bool) (n int) {
	for i := range h.Events {
		if what(&h.Events[i]) {
			n++
		}
	}
	return n
}

// consumed adds up what candidates took of processors from one look at a process to the next.
func (r *Run) consumed(h *history.History) {
	type look struct{ at, took time.Duration }
	last := map[string]look{}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Kind == history.Start:
			delete(last, e.Node)
		case e.Usage != nil && e.Node != "" && e.Usage.Resident > 0: // seen from outside
			now := look{e.At, time.Duration(e.Usage.Processor) * time.Millisecond}
			if before, seen := last[e.Node]; seen && now.took >= before.took {
				r.Processor += now.took - before.took
				r.Watched += now.at - before.at
			}
			last[e.Node] = now
		}
	}
}

// unserved is the time without an accepted write that the failover ends; its total where there
// was none before it.
func unserved(h *history.History, f checker.Failover) time.Duration {
	ends := slices.Max(f.Evidence) // the first accepted write of the new term
	served, before := f.At+f.Total, f.At
	for i := range h.Events {
		if e := &h.Events[i]; e.Seq < ends && e.Kind == history.Ok && e.Call == history.Write {
			before = e.At
		}
	}
	return served - before
}
