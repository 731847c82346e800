package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

// Screen says for what terminal a document is printed, and where the report lies.
type Screen = document.Screen

// Version is the version of report.json that this package writes.
const Version = 1

// maxEvents bounds the guilty events that one promise spells out; Evidence
// always has the numbers of all of them.
const maxEvents = 8

// Report is report.json: one run, judged. Durations are milliseconds rounded
// to a microsecond. New fills every field but those that only the caller can
// know: Started, Folder, and the logs among Files.
type Report struct {
	Version  int             `json:"recount_report"`
	Verdict  checker.Verdict `json:"verdict"`
	Scenario string          `json:"scenario"`
	Subject  string          `json:"subject"`
	World    string          `json:"world"`
	Redis    string          `json:"redis,omitempty"`
	Seed     uint64          `json:"seed"`
	Nodes    int             `json:"nodes"`
	Names    []string        `json:"node_names,omitempty"`
	Started  string          `json:"started,omitempty"` // wall-clock time of the run's start, RFC 3339; set by the caller

	LeaseMS         float64 `json:"lease_ms"`
	RenewMS         float64 `json:"renew_ms,omitempty"`
	RetryMS         float64 `json:"retry_ms,omitempty"`
	DurationMS      float64 `json:"duration_ms"`
	ClockErrorMS    float64 `json:"clock_error_ms"` // bound of the error between the clocks of any two nodes
	DriftPPM        int64   `json:"drift_ppm"`
	FailoverBoundMS float64 `json:"failover_bound_ms,omitempty"` // of a failover's excess, where the scenario sets one
	ReturnBoundMS   float64 `json:"return_bound_ms,omitempty"`   // from healed to a leader, where the scenario sets one

	Promises []Promise `json:"promises"`           // those that the verdict rests on
	Measured []Promise `json:"measured,omitempty"` // the others: judged, without a say in the verdict
	Lease    *Lease    `json:"lease_checks,omitempty"`

	Failovers  []Failover `json:"failovers"`
	FailoverMS Quantiles  `json:"failover_ms"`
	ExcessMS   Quantiles  `json:"excess_ms"`
	Parts      Parts      `json:"failover_parts_ms"`

	DualBeliefMS float64 `json:"dual_belief_ms"`
	LeaderlessMS float64 `json:"leaderless_ms"`
	Availability float64 `json:"availability"`
	Terms        int     `json:"terms"`
	Events       int     `json:"events"`
	Pieces       int     `json:"pieces,omitempty"`        // in how many the history was judged; 0: as a whole
	Longest      int     `json:"longest_piece,omitempty"` // its events, all that were ever kept at once

	Writes checker.WriteCounts  `json:"writes"`
	Faults []checker.FaultCount `json:"faults"`
	Ops    checker.OpCounts     `json:"ops"`
	Usage  *Usage               `json:"usage,omitempty"` // of runs that take long enough to tell something by it
	Probe  *Probe               `json:"probe,omitempty"` // of runs on a Redis that others use

	Repro  string   `json:"repro,omitempty"`
	Folder string   `json:"folder,omitempty"` // where the run's files lie, relative to the suite's; set by the caller
	Files  []string `json:"files,omitempty"`  // what lies in that folder; callers append their logs

	_ struct{}
}

// Promise is a finding together with the events that it rests on.
type Promise struct {
	checker.Finding
	Why    string     `json:"why,omitempty"`    // why a measured promise has no say in the verdict, where Reason does not say so
	Events []EventRef `json:"events,omitempty"` // the first few events of Evidence, in words
}

// EventRef is one event of the history in a report.
type EventRef struct {
	Seq      int64   `json:"seq"`
	AtMS     float64 `json:"at_ms"`
	Node     string  `json:"node,omitempty"`
	Kind     string  `json:"kind"`
	Election string  `json:"election,omitempty"`
	Token    uint64  `json:"token,omitempty"`
	Text     string  `json:"text"` // what happened, in one clause
}

// at is the event's time.
func (e EventRef) at() time.Duration { return time.Duration(e.AtMS * float64(time.Millisecond)) }

// Lease holds the three independent checkers of LeaseLinearizable. Where two
// of them disagree, the harness is wrong and the verdict unknown.
type Lease struct {
	Intervals  checker.Finding `json:"intervals"`
	StoreOrder checker.Finding `json:"store_order"`
	Porcupine  checker.Finding `json:"porcupine"`
}

// Failover is the way from one leader to the next one.
// TotalMS = WaitMS + DetectMS + AcquireMS + AnnounceMS, up to rounding, and
// ExcessMS is TotalMS less WaitMS.
type Failover struct {
	Fault      string  `json:"fault"`
	Election   string  `json:"election,omitempty"`
	From       string  `json:"from,omitempty"`
	To         string  `json:"to,omitempty"`
	AtMS       float64 `json:"at_ms"`
	WaitMS     float64 `json:"wait_ms"`
	DetectMS   float64 `json:"detect_ms"`
	AcquireMS  float64 `json:"acquire_ms"`
	AnnounceMS float64 `json:"announce_ms"`
	TotalMS    float64 `json:"total_ms"`
	ExcessMS   float64 `json:"excess_ms"`
	Evidence   []int64 `json:"evidence,omitempty"`
}

// Parts are the quantiles of what failovers are made of.
type Parts struct {
	Wait     Quantiles `json:"wait"`
	Detect   Quantiles `json:"detect"`
	Acquire  Quantiles `json:"acquire"`
	Announce Quantiles `json:"announce"`
}

// standardFiles are what Files writes for one run.
func standardFiles() []string {
	return []string{"report.html", "report.json", "report.md", "junit.xml", "history.jsonl", "lease.html"}
}

// New builds the report of one run. h and r are not kept and not changed.
func New(h *history.History, r *checker.Result) *Report {
	head := &h.Header
	rep := &Report{
		Version:  Version,
		Verdict:  r.Verdict,
		Scenario: Redact(head.Scenario),
		Subject:  Redact(head.Subject),
		World:    head.World,
		Redis:    Redact(head.Redis),
		Seed:     head.Seed,
		Nodes:    len(head.Nodes),
		Names:    slices.Clone(head.Nodes),

		LeaseMS:         millis(head.Lease),
		RenewMS:         millis(head.Renew),
		RetryMS:         millis(head.Retry),
		DurationMS:      millis(r.End),
		ClockErrorMS:    millis(head.ClockError),
		DriftPPM:        head.DriftPPM,
		FailoverBoundMS: millis(head.FailoverBound),
		ReturnBoundMS:   millis(head.ReturnBound),

		DualBeliefMS: millis(r.DualBelief),
		LeaderlessMS: millis(r.Leaderless),
		Availability: share(r.Availability),
		Terms:        len(r.Terms),
		Events:       len(h.Events),

		Writes: r.Writes,
		Faults: append([]checker.FaultCount{}, r.Faults...),
		Ops:    r.Ops,
		Usage:  usageIn(h),
		Probe:  probeIn(h),
		Repro:  Redact(head.Repro),
		Files:  standardFiles(),
	}
	rep.Promises = promises(h, r.Asked, false)
	rep.Measured = promises(h, r.Measured, true)
	rep.Lease = leaseChecks(r.Lease)
	rep.failovers(r.Failovers)
	return rep
}

// promises pairs findings with the events that they name. A measured one says
// why it has no say.
func promises(h *history.History, findings []checker.Finding, measured bool) []Promise {
	out := make([]Promise, 0, len(findings))
	for _, f := range findings {
		p := Promise{Finding: redactFinding(f), Events: []EventRef{}}
		if measured {
			p.Why = "not asked for by this scenario"
			if why, _ := checker.Waived(&h.Header, f.Promise); why != "" {
				p.Why = Redact(why)
			}
			if strings.Contains(p.Reason, p.Why) {
				p.Why = "" // said already
			}
		}
		for _, seq := range f.Evidence {
			if e, ok := eventOf(h, seq); ok && len(p.Events) < maxEvents && f.Verdict != checker.Pass {
				p.Events = append(p.Events, reference(e))
			}
		}
		out = append(out, p)
	}
	return out
}

func redactFinding(f checker.Finding) checker.Finding {
	f.Reason = Redact(f.Reason)
	f.Evidence = slices.Clone(f.Evidence)
	return f
}

func leaseChecks(c checker.LeaseChecks) *Lease {
	all := [3]checker.Finding{c.Intervals, c.StoreOrder, c.Porcupine}
	for i := range all {
		if all[i].Reason == "" { // nobody judged
			return nil
		}
		all[i] = redactFinding(all[i])
		all[i].Promise = checker.LeaseLinearizable
	}
	return &Lease{all[0], all[1], all[2]}
}

// failovers fills the failovers and all that is computed from them.
func (r *Report) failovers(all []checker.Failover) {
	var total, excess, wait, detect, acquire, announce []time.Duration
	r.Failovers = make([]Failover, 0, len(all))
	for _, f := range all {
		r.Failovers = append(r.Failovers, Failover{
			Fault: f.Cause, Election: f.Election, From: f.From, To: f.To, AtMS: millis(f.At),
			WaitMS: millis(f.Wait), DetectMS: millis(f.Detect), AcquireMS: millis(f.Acquire), AnnounceMS: millis(f.Announce),
			TotalMS: millis(f.Total), ExcessMS: millis(f.Excess), Evidence: slices.Clone(f.Evidence),
		})
		total, excess = append(total, f.Total), append(excess, f.Excess)
		wait, detect = append(wait, f.Wait), append(detect, f.Detect)
		acquire, announce = append(acquire, f.Acquire), append(announce, f.Announce)
	}
	r.FailoverMS, r.ExcessMS = quantilesOf(total), quantilesOf(excess)
	r.Parts = Parts{quantilesOf(wait), quantilesOf(detect), quantilesOf(acquire), quantilesOf(announce)}
}

// Overall is the verdict of several runs: fail if one failed, else unknown if
// one is undecided or there is none, else pass.
func Overall(runs []*Report) checker.Verdict {
	return checker.Fold(func(yield func(checker.Verdict) bool) {
		for _, r := range runs {
			if !yield(r.Verdict) {
				return
			}
		}
	})
}

// withVerdict returns the promises of the verdict that came out as v.
func (r *Report) withVerdict(v checker.Verdict) []Promise {
	var out []Promise
	for _, p := range r.Promises {
		if p.Verdict == v {
			out = append(out, p)
		}
	}
	return out
}

// JSON returns report.json: indented, with a newline at its end.
func JSON(r *Report) ([]byte, error) {
	return indented("report.json", r)
}

// indented is a file of JSON: indented, with a newline at its end.
func indented(file string, object any) ([]byte, error) {
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("reports: %s: %w", file, err)
	}
	return append(text, '\n'), nil
}

// Parse reads what JSON wrote.
func Parse(text []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("reports: not a report.json (%w); give the file that \"chaos run --out\" wrote", err)
	}
	if r.Version != Version {
		return nil, fmt.Errorf("reports: report version %d, this program reads version %d; use the release of recount that wrote it", r.Version, Version)
	}
	return &r, nil
}

// millis is d in milliseconds, rounded to a microsecond.
func millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// share is a share between 0 and 1 with six digits; what is no number (a run
// without time) becomes 0.
func share(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e6) / 1e6
}
