package reports

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
)

// FailoversVersion is the version of failovers.json that this package writes.
const FailoversVersion = 1

// Failovers is failovers.json: how long electors were without a leader, failover by
// failover, for each cause. Durations are milliseconds rounded to a microsecond. The caller
// fills it in and calls Finish; how failovers are brought about is no business of this
// package.
type Failovers struct {
	Version int             `json:"recount_failovers"`
	Verdict checker.Verdict `json:"verdict"` // fail if a promise was broken, or a gate; else unknown if one is undecided, or not all was measured that was asked for
	World   string          `json:"world"`
	Redis   string          `json:"redis,omitempty"`
	Machine string          `json:"machine,omitempty"`
	Started string          `json:"started,omitempty"` // RFC 3339
	TookMS  float64         `json:"took_ms,omitempty"`
	Seed    uint64          `json:"seed"` // of the first run of each cell; the next one has the next seed
	LeaseMS float64         `json:"lease_ms"`
	RenewMS float64         `json:"renew_ms"`
	RetryMS float64         `json:"retry_ms"`
	Nodes   int             `json:"nodes"`
	Asked   string          `json:"asked"`             // when a cell has enough, in words
	Stopped string          `json:"stopped,omitempty"` // why the measurement ended before that
	Repro   string          `json:"repro,omitempty"`

	Control *FailoverControl `json:"control,omitempty"` // nil where the machine has no part in it
	Cells   []FailoverCell   `json:"cells"`
	Gates   []Gate           `json:"gates,omitempty"`

	Baseline *Failovers `json:"-"` // what this is compared with; nil: nothing

	_ struct{}
}

// FailoverControl is what a timer and a server without any fault saw of the machine meanwhile.
type FailoverControl struct {
	Parallel int       `json:"parallel"` // runs at once, to begin with
	TimerMS  Quantiles `json:"timer_late_ms"`
	PingMS   Quantiles `json:"ping_ms"`

	Changes []GroupChange `json:"changes,omitempty"` // of the runs at once
}

// GroupChange says that another number of runs was under way at once from some run on, and why.
type GroupChange struct {
	After    int    `json:"after_runs"`
	Parallel int    `json:"parallel"`
	Why      string `json:"why"`
}

// groups says how many runs were under way at once.
func (k *FailoverControl) groups() string {
	text, why := plural(k.Parallel, "run")+" at once", ""
	for _, l := range k.Changes {
		text += fmt.Sprintf(", %d after %s", l.Parallel, plural(l.After, "run"))
		why = l.Why
	}
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// Control sums up how late a timer was, and how long the answers of a server took.
func Control(parallel int, late, pings []time.Duration) *FailoverControl {
	return &FailoverControl{Parallel: parallel, TimerMS: quantilesOf(late), PingMS: quantilesOf(pings)}
}

// FailoverCell is what was measured of one elector after one cause.
type FailoverCell struct {
	Cause      string `json:"cause"`
	Summary    string `json:"summary"` // of the cause, in one clause
	Elector    string `json:"elector"`
	Why        string `json:"why,omitempty"`        // why there is no more of it, or nothing
	Incomplete bool   `json:"incomplete,omitempty"` // there are fewer failovers than were asked for

	Verdict checker.Verdict `json:"verdict"` // of all runs together
	Broken  []TrialBroken   `json:"broken,omitempty"`
	Runs    []FailoverRun   `json:"runs"`

	Faults            int     `json:"faults"`                            // how often the cause was put on
	Stalled           int     `json:"stalled"`                           // failovers that the machine held up: they are in no quantile
	Unexplained       int     `json:"unexplained"`                       // changes of leader for which no fault was the cause
	UnexplainedHour   float64 `json:"unexplained_per_hour"`              // of a run
	RequestsMinute    float64 `json:"requests_per_minute"`               // about the lease, of all candidates
	ProcessorMSMinute float64 `json:"processor_ms_per_minute,omitempty"` // of a candidate; 0: not known

	TotalMS    Quantiles `json:"total_ms"`
	ExcessMS   Quantiles `json:"excess_ms"`
	UnservedMS Quantiles `json:"unserved_ms"` // without an accepted write
	Parts      Parts     `json:"parts_ms"`

	Failovers []MeasuredFailover `json:"failovers"`
}

// FailoverRun is one run of a cell.
type FailoverRun struct {
	Seed    uint64          `json:"seed"`
	Verdict checker.Verdict `json:"verdict"`
	Folder  string          `json:"folder,omitempty"` // of its files; "": they were not kept
	Repro   string          `json:"repro,omitempty"`
	Trouble string          `json:"trouble,omitempty"` // why it is not whole, or not decided
}

// MeasuredFailover is one failover of a cell; see Failover.
type MeasuredFailover struct {
	Run        int     `json:"run"` // of the cell, from 0 on
	AtMS       float64 `json:"at_ms"`
	From       string  `json:"from,omitempty"`
	To         string  `json:"to,omitempty"`
	WaitMS     float64 `json:"wait_ms"`
	DetectMS   float64 `json:"detect_ms"`
	AcquireMS  float64 `json:"acquire_ms"`
	AnnounceMS float64 `json:"announce_ms"`
	TotalMS    float64 `json:"total_ms"`
	ExcessMS   float64 `json:"excess_ms"`
	UnservedMS float64 `json:"unserved_ms"`
	Stalled    bool    `json:"stalled,omitempty"` // the machine held it up: it tells of the machine
}

// Measured is a failover as the checker found it.
func Measured(run int, f checker.Failover, unserved time.Duration, stalled bool) MeasuredFailover {
	return MeasuredFailover{
		Run: run, AtMS: millis(f.At), From: f.From, To: f.To, WaitMS: millis(f.Wait), DetectMS: millis(f.Detect), AcquireMS: millis(f.Acquire),
		AnnounceMS: millis(f.Announce), TotalMS: millis(f.Total), ExcessMS: millis(f.Excess), UnservedMS: millis(unserved), Stalled: stalled,
	}
}

// metric is a figure of a failover by its name, as gates and tables have it.
type metric struct {
	name, note string
	of         func(f *MeasuredFailover) float64
}

// metrics are all there are, the most asked for first.
var metrics = []metric{
	{"total", "from the moment in which the old leader could no longer act to the first accepted write of the next one", func(f *MeasuredFailover) float64 { return f.TotalMS }},
	{"excess", "the total less the wait that no elector may skip", func(f *MeasuredFailover) float64 { return f.ExcessMS }},
	{"unserved", "from the last accepted write before it to the first one after it", func(f *MeasuredFailover) float64 { return f.UnservedMS }},
	{"wait", "until the lease of the old leader is over at the earliest", func(f *MeasuredFailover) float64 { return f.WaitMS }},
	{"detect", "from then until the request is sent that is granted", func(f *MeasuredFailover) float64 { return f.DetectMS }},
	{"acquire", "until its answer", func(f *MeasuredFailover) float64 { return f.AcquireMS }},
	{"announce", "until the first accepted write of the new term", func(f *MeasuredFailover) float64 { return f.AnnounceMS }},
}

// sample are a figure's values of each run, without the failovers that the machine held up.
func (c *FailoverCell) sample(m metric) [][]float64 {
	runs := make([][]float64, len(c.Runs))
	for i := range c.Failovers {
		if f := &c.Failovers[i]; !f.Stalled && f.Run < len(runs) {
			runs[f.Run] = append(runs[f.Run], m.of(f))
		}
	}
	return runs
}

// values are those of all runs together.
func (c *FailoverCell) values(m metric) []float64 { return slices.Concat(c.sample(m)...) }

// quantiles are those of a figure.
func (c *FailoverCell) quantiles(m metric) Quantiles { return quantilesOfMS(c.values(m)) }

// Finish computes what follows from the cells and the gates.
func (r *Failovers) Finish() {
	r.Version, r.Verdict = FailoversVersion, checker.Pass
	measured := false
	for i := range r.Cells {
		c := &r.Cells[i]
		c.TotalMS, c.ExcessMS, c.UnservedMS = c.quantiles(metrics[0]), c.quantiles(metrics[1]), c.quantiles(metrics[2])
		c.Parts = Parts{Wait: c.quantiles(metrics[3]), Detect: c.quantiles(metrics[4]), Acquire: c.quantiles(metrics[5]), Announce: c.quantiles(metrics[6])}
		c.Stalled = 0
		for _, f := range c.Failovers {
			if f.Stalled {
				c.Stalled++
			}
		}
		measured = measured || c.TotalMS.Count > 0
		if c.TotalMS.Count > 0 || c.Verdict == checker.Fail { // a promise that is broken is so without a failover, too
			r.lower(c.Verdict)
		}
	}
	for _, g := range r.Gates {
		r.lower(g.Verdict)
	}
	incomplete := r.Stopped != "" || slices.ContainsFunc(r.Cells, func(c FailoverCell) bool { return c.Incomplete })
	if !measured || incomplete {
		r.lower(checker.Unknown)
	}
}

// lower makes the verdict no better than this one.
func (r *Failovers) lower(v checker.Verdict) {
	r.Verdict = checker.Fold(func(yield func(checker.Verdict) bool) { _ = yield(r.Verdict) && yield(v) })
}

// cell finds a cell, nil if there is none with failovers.
func (r *Failovers) cell(cause, elector string) *FailoverCell {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Cause == cause && c.Elector == elector && c.TotalMS.Count > 0 {
			return c
		}
	}
	return nil
}

// causes are those of the cells, in their order, each once.
func (r *Failovers) causes() (names []string) {
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Cause) {
			names = append(names, c.Cause)
		}
	}
	return names
}

// FailoversJSON returns failovers.json.
func FailoversJSON(r *Failovers) ([]byte, error) {
	return indented("failovers.json", r)
}

// ReadFailovers reads failovers.json. It is an error if it is anything else.
func ReadFailovers(text []byte) (*Failovers, error) {
	r := &Failovers{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reports: not the failovers.json of \"chaos failover\": %w", err)
	}
	if r.Version != FailoversVersion {
		return nil, fmt.Errorf("reports: not the failovers.json of \"chaos failover\", or one of another version: \"recount_failovers\" is %d, and has to be %d", r.Version, FailoversVersion)
	}
	for _, c := range r.Cells {
		for i, f := range c.Failovers {
			if f.Run < 0 || f.Run >= len(c.Runs) {
				return nil, fmt.Errorf("reports: not the failovers.json of \"chaos failover\": failover %d of %s after %s is of run %d, and there are %d runs", i, c.Elector, c.Cause, f.Run, len(c.Runs))
			}
		}
	}
	r.Finish()
	return r, nil
}

// Unlike says in what two measurements differ besides the electors, so that a comparison
// would compare that; "" if in nothing.
func (r *Failovers) Unlike(other *Failovers) string {
	for _, d := range []struct {
		what       string
		here, that any
	}{
		{"world", r.World, other.World},
		{"lease", duration(r.LeaseMS), duration(other.LeaseMS)},
		{"interval of renewals", duration(r.RenewMS), duration(other.RenewMS)},
		{"retry", duration(r.RetryMS), duration(other.RetryMS)},
		{"number of candidates", r.Nodes, other.Nodes},
	} {
		if d.here != d.that {
			return fmt.Sprintf("the %s is %v there and %v here", d.what, d.that, d.here)
		}
	}
	return ""
}
