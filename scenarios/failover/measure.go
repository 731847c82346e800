package failover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	Foreign     bool
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
	Groups   func() int         // runs at once by now, at least 1; nil: Parallel

	// A cell has enough when it has Count failovers, if that is above 0, or when Precise says
	// so, which is asked after each run. Runs are taken in the order of their seeds, whichever
	// ended first: so a cell consists of the same runs however many are under way at once.
	Count   int
	Precise func(c *Cell) bool
	// Most is how long runs are begun; 0: for ever.
	Most time.Duration

	// Logs makes the folder for the logs of a run.
	Logs func(folder string) (string, error)
	// Done hears of each run of a cell, in their order and one call at a time; may be nil. Its
	// error ends the measurement.
	Done func(c *Cell, r *Run, o scenarios.Outcome) error
}

// Cell is what was measured of one elector after one cause.
type Cell struct {
	Cause   Cause
	Elector string
	Why     string // why it cannot be measured; "" if it can
	Ended   string // why it was given up; "" if it was not
	Runs    []*Run // in the order of their seeds

	elector *Elector
	column  int      // of the elector, among all
	begun   int      // runs
	running int      // of them
	ahead   []result // runs that ended before one with an earlier seed
	taken   int      // runs up to the first one that has not ended
	over    bool     // no further run is needed, or of use
	ctx     context.Context
	stop    context.CancelFunc // runs of which nothing is needed any more
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
	Elected     int           // how often a candidate was elected
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
func (c *Cell) Count() (n int) {
	for _, r := range c.Runs {
		n += r.count()
	}
	return n
}

// count is how many failovers of the run count.
func (r *Run) count() (n int) {
	for _, f := range r.Failovers {
		if !f.Stalled {
			n++
		}
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
		switch {
		case r.count() > 0:
			return ""
		case len(r.Failovers) > 0:
			why = "the machine held up every failover"
		case r.Trouble != "":
			why = r.Trouble
		case r.Elected == 0:
			why = "nobody was elected"
		default:
			why = "no failover followed"
		}
	}
	return fmt.Sprintf("given up after %d runs in a row without a failover: %s", fruitless, why)
}

// Run measures until every cell has enough, Most is over, or ctx ends. It returns a cell
// for every cause and elector, whatever came of it. The error is ctx's, or that of Done.
func (m *Measurement) Run(ctx context.Context) ([]*Cell, error) {
	var cells []*Cell
	for _, c := range m.Causes {
		for i := range m.Electors {
			cell := &Cell{Cause: c, Elector: m.Electors[i].Name, elector: &m.Electors[i], column: i}
			if m.Electors[i].Applies != nil {
				if applies, why := m.Electors[i].Applies(c.Scenario()); !applies {
					cell.Why = why
				}
			}
			cells = append(cells, cell)
		}
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	for _, c := range cells {
		c.ctx, c.stop = context.WithCancel(within)
	}
	w := &work{Measurement: m, until: time.Now().Add(m.Most), next: &rota{cells: cells}, folders: m.folders()}
	w.run(within, stop)
	return cells, errors.Join(w.err, ctx.Err())
}

// work is a measurement under way. One goroutine owns all of it and of its cells.
type work struct {
	*Measurement
	until   time.Time
	next    *rota
	folders []string // of the electors
	err     error
}

// result is what came of the run of this number of a cell.
type result struct {
	cell    *Cell
	number  int
	run     *Run // nil: it was stopped half-way
	outcome scenarios.Outcome
}

// run makes runs, as many at once as there may be, until none is to be made any more. The
// error of Done stops those that are under way.
func (w *work) run(ctx context.Context, stop context.CancelFunc) {
	ended, running := make(chan result), 0
	for {
		for running < w.atOnce() && ctx.Err() == nil && (w.Most <= 0 || !time.Now().After(w.until)) {
			cell := w.next.pick(w.wants)
			if cell == nil {
				break // what the runs under way bring may be enough
			}
			number := cell.begun
			cell.begun++
			cell.running++
			running++
			go func() { ended <- w.one(cell, number) }()
		}
		if running == 0 {
			break
		}
		w.give(<-ended)
		if running--; w.err != nil {
			stop()
		}
	}
	for _, c := range w.next.cells {
		for _, r := range c.ahead { // of those before them one was stopped
			w.take(r)
		}
	}
}

// atOnce is how many runs may be under way by now.
func (w *work) atOnce() int {
	if w.Groups != nil {
		return w.Groups()
	}
	return max(w.Parallel, 1)
}

// wants reports whether a cell needs a further run, whatever those under way bring.
func (w *work) wants(c *Cell) bool {
	if c.Why != "" || c.over {
		return false
	}
	count := c.Count() + c.running*c.Cause.Times()
	for _, r := range c.ahead {
		count += r.run.count()
	}
	return w.Count <= 0 || count < w.Count
}

// give takes in what came of a run, and of those that waited for it.
func (w *work) give(r result) {
	c := r.cell
	if c.running--; r.run == nil || c.over {
		return
	}
	at, _ := slices.BinarySearchFunc(c.ahead, r.number, func(r result, number int) int { return r.number - number })
	for c.ahead = slices.Insert(c.ahead, at, r); len(c.ahead) > 0 && c.ahead[0].number == c.taken; c.taken++ {
		next := c.ahead[0]
		c.ahead = c.ahead[1:]
		if w.take(next); c.over {
			c.ahead = nil
			c.stop()
		}
	}
}

// take makes a run one of its cell's, and reports it.
func (w *work) take(r result) {
	c := r.cell
	c.Runs = append(c.Runs, r.run)
	if c.over = w.Count > 0 && c.Count() >= w.Count || w.Count <= 0 && w.Precise(c); !c.over {
		c.Ended = c.hopeless()
		c.over = c.Ended != ""
	}
	if w.Done != nil && w.err == nil {
		w.err = w.Done(c, r.run, r.outcome)
	}
}

// one makes the run of this number of a cell.
func (w *work) one(c *Cell, number int) result {
	e, set := c.elector, w.Settings
	set.Subject, set.Foreign, set.FixedClocks = e.Name, e.Foreign, e.FixedClocks
	set.Seed += uint64(number)
	scenario := c.Cause.Scenario()
	for promise, why := range e.Waived {
		scenario.Waived[promise] = why
	}
	run := &Run{Seed: set.Seed, Folder: fmt.Sprintf("%s/%s/%d", c.Cause.Name, w.folders[c.column], number+1)}
	set.Repro = e.Repro(c.Cause, set.Seed)
	runner := scenarios.Runner{World: e.World, Logs: func(string) (string, error) { return w.Logs(run.Folder) }}
	outcomes := runner.Run(c.ctx, []scenarios.Scenario{scenario}, set)
	if len(outcomes) == 0 || c.ctx.Err() != nil {
		return result{cell: c}
	}
	o := outcomes[0]
	run.Repro, run.Verdict = o.Plan.Repro, o.Verdict()
	if o.Err != nil {
		run.Trouble = o.Err.Error()
	}
	if o.Result != nil {
		run.observe(c.Cause, o.History, o.Result)
	} else if run.Trouble == "" {
		run.Trouble = "there is no history"
	}
	return result{c, number, run, o}
}

// folders are the electors' names as those of folders: a command has blanks and slashes. Names
// that would become the same are numbered, also where a file system takes no notice of case.
func (m *Measurement) folders() (all []string) {
	used := map[string]bool{}
	for _, e := range m.Electors {
		clean := cmp.Or(strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
				return r
			}
			return '-'
		}, e.Name), "-."), "elector")
		name := clean
		for same := 2; used[strings.ToLower(name)]; same++ {
			name = fmt.Sprintf("%s-%d", clean, same)
		}
		used[strings.ToLower(name)] = true
		all = append(all, name)
	}
	return all
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
	r.Elected = Elected(h)
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
