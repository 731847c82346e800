package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
)

// TuningVersion is the version of tune.json that this package writes.
const TuningVersion = 1

// Tuning is tune.json: what settings of the elector come to in a network, and which ones are
// recommended. The caller fills it in and calls Finish.
type Tuning struct {
	Version int             `json:"recount_tuning"`
	Verdict checker.Verdict `json:"verdict"` // pass if settings meet what is wanted, and are confirmed where that was asked for; else unknown
	Network string          `json:"network"`
	Nodes   int             `json:"nodes"`
	Pauses  string          `json:"pauses"`  // in a year, of a leader's process
	Outages string          `json:"outages"` // in a year, of the store
	Wants   []string        `json:"wants"`
	Seed    uint64          `json:"seed"`
	Stopped string          `json:"stopped,omitempty"`
	Repro   string          `json:"repro,omitempty"`

	Points []TunedPoint `json:"points"`
	Best   int          `json:"best,omitempty"` // the recommended point, counted from 1; 0: nothing meets what is wanted
	Near   int          `json:"near,omitempty"` // then, the one that misses it by the least

	Confirmed *Confirmation `json:"confirmed,omitempty"`

	_ struct{}
}

// TunedPoint is what settings come to. Figures of a time without a leader are the value, and
// between which values the true one lies.
type TunedPoint struct {
	LeaseMS float64 `json:"lease_ms"`
	RenewMS float64 `json:"renew_ms"`
	RetryMS float64 `json:"retry_ms"`
	Known   bool    `json:"known"` // false: nobody led for long enough to be crashed
	Front   bool    `json:"front"` // no other point is better in one respect, and as good in the others

	CrashP50MS [3]float64 `json:"crash_p50_ms"`
	CrashP90MS [3]float64 `json:"crash_p90_ms"`
	CrashP99MS [3]float64 `json:"crash_p99_ms"`

	NeedlessYear   float64 `json:"needless_per_year"` // leaders lost although none crashed
	NeedlessLow    float64 `json:"needless_low"`
	NeedlessHigh   float64 `json:"needless_high"`
	ByNetwork      float64 `json:"by_network_per_year"`
	ByPauses       float64 `json:"by_pauses_per_year"`
	ByOutages      float64 `json:"by_outages_per_year"`
	CommandsMinute float64 `json:"commands_per_minute"`

	Misses []string `json:"misses,omitempty"` // of what was wanted
}

// Confirmation is what was predicted beside what was measured live, under the same conditions.
type Confirmation struct {
	PredictedMS Quantiles       `json:"predicted_ms"`
	LiveMS      Quantiles       `json:"live_ms"`
	Verdict     checker.Verdict `json:"verdict"` // pass: the intervals of p50 and p90 have a value in common
}

// QuantilesOf sums up a sample.
func QuantilesOf(sample []time.Duration) Quantiles { return quantilesOf(sample) }

// Finish computes what follows from the points.
func (r *Tuning) Finish() {
	r.Version, r.Verdict = TuningVersion, checker.Pass
	if r.Best == 0 {
		r.Verdict = checker.Unknown
	}
	if c := r.Confirmed; c != nil {
		c.Verdict = checker.Unknown
		if meet(c.PredictedMS.P50, c.LiveMS.P50) && meet(c.PredictedMS.P90, c.LiveMS.P90) {
			c.Verdict = checker.Pass
		} else {
			r.Verdict = checker.Unknown
		}
	}
}

// meet reports whether the intervals have a value in common.
func meet(a, b Quantile) bool {
	return a.Bounded && b.Bounded && a.Low <= b.High && b.Low <= a.High
}

// TuningJSON returns tune.json.
func TuningJSON(r *Tuning) ([]byte, error) {
	return indented("tune.json", r)
}

// chosen is the point that is recommended, or the nearest one; nil if there is none.
func (r *Tuning) chosen() *TunedPoint {
	if i := r.Best + r.Near; i > 0 {
		return &r.Points[i-1]
	}
	return nil
}

// headline says in one sentence what to set.
func (r *Tuning) headline() string {
	p := r.chosen()
	switch {
	case p == nil:
		return "Nothing could be measured: in this network nobody leads for long enough with any of the settings that were tried."
	case r.Best == 0:
		return fmt.Sprintf("Nothing meets %s. The nearest is %s: %s. It misses %s.", strings.Join(r.Wants, " and "), p.settings(), p.figures(), strings.Join(p.Misses, " and "))
	default:
		return fmt.Sprintf("Set %s: %s.", p.settings(), p.figures())
	}
}

func (p *TunedPoint) settings() string {
	return fmt.Sprintf("a lease of %s, renewed every %s, and a retry after %s", duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS))
}

func (p *TunedPoint) figures() string {
	return fmt.Sprintf("after a crash nobody leads for %s ms in half of all cases and for %s ms at most in 99 of 100, %s needless changes of leader a year, %s requests a minute",
		ms(p.CrashP50MS[0]), ms(p.CrashP99MS[0]), rare(p.NeedlessYear), ms(p.CommandsMinute))
}

// rare writes a number of events a year.
func rare(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.001:
		return "fewer than 0.001"
	case x < 100:
		return strconv.FormatFloat(x, 'g', 2, 64)
	default:
		return thousands(int(math.Round(x)))
	}
}

// neighbours says why the points beside the chosen one are worse: with the next shorter and
// the next longer lease, and with other renewals.
func (r *Tuning) neighbours() (all []string) {
	p := r.chosen()
	if p == nil {
		return nil
	}
	share := func(q *TunedPoint) int { return int(math.Round(q.LeaseMS / q.RenewMS)) }
	retries := func(q *TunedPoint) int { return int(math.Round(q.RenewMS / q.RetryMS)) }
	nearest := func(alike func(q *TunedPoint) bool, of func(q *TunedPoint) float64, sign float64) *TunedPoint {
		var best *TunedPoint
		for i := range r.Points {
			q := &r.Points[i]
			if q != p && alike(q) && sign*(of(q)-of(p)) > 0 && (best == nil || sign*(of(q)-of(best)) < 0) {
				best = q
			}
		}
		return best
	}
	sameShape := func(q *TunedPoint) bool { return share(q) == share(p) && retries(q) == retries(p) }
	sameLease := func(q *TunedPoint) bool { return q.LeaseMS == p.LeaseMS && retries(q) == retries(p) }
	for _, n := range []struct {
		what  string
		point *TunedPoint
	}{
		{"A shorter lease", nearest(sameShape, func(q *TunedPoint) float64 { return q.LeaseMS }, -1)},
		{"A longer lease", nearest(sameShape, func(q *TunedPoint) float64 { return q.LeaseMS }, 1)},
		{"Renewals that are more frequent", nearest(sameLease, func(q *TunedPoint) float64 { return q.RenewMS }, -1)},
		{"Renewals that are less frequent", nearest(sameLease, func(q *TunedPoint) float64 { return q.RenewMS }, 1)},
	} {
		switch {
		case n.point == nil:
		case !n.point.Known:
			all = append(all, fmt.Sprintf("%s (%s): nobody leads for long enough.", n.what, n.point.settings()))
		default:
			text := fmt.Sprintf("%s (%s): p99 after a crash %s ms, %s needless changes a year, %s requests a minute", n.what, n.point.settings(), ms(n.point.CrashP99MS[0]), rare(n.point.NeedlessYear), ms(n.point.CommandsMinute))
			if len(n.point.Misses) > 0 {
				text += "; it misses " + strings.Join(n.point.Misses, " and ")
			}
			all = append(all, text+".")
		}
	}
	return all
}

// forms are the settings as Go, as YAML of elect and as its environment.
func (p *TunedPoint) forms() string {
	goDuration := func(x float64) string {
		d := time.Duration(math.Round(x * float64(time.Millisecond)))
		for _, unit := range []struct {
			length time.Duration
			name   string
		}{{time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
			if d%unit.length == 0 {
				return fmt.Sprintf("%d * time.%s", d/unit.length, unit.name)
			}
		}
		return fmt.Sprintf("%d * time.Microsecond", d.Microseconds())
	}
	return fmt.Sprintf("elector.Config{Lease: %s, Renew: %s, Retry: %s}\n\nlease: %s\nrenew: %s\nretry: %s\n\nELECT_LEASE=%s ELECT_RENEW=%s ELECT_RETRY=%s\n",
		goDuration(p.LeaseMS), goDuration(p.RenewMS), goDuration(p.RetryMS), duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS))
}

// confirmation says what was measured live.
func (r *Tuning) confirmation() string {
	c := r.Confirmed
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("Live, with round trips as long as the network's median and without its spikes and losses, which no fault puts on: p50 %s ms and p90 %s ms of %d failovers; predicted for that: %s and %s ms. ",
		c.LiveMS.P50.Interval(), c.LiveMS.P90.Interval(), c.LiveMS.Count, c.PredictedMS.P50.Interval(), c.PredictedMS.P90.Interval())
	if c.Verdict == checker.Pass {
		return text + "That agrees."
	}
	return text + "That does not agree: the virtual world lacks something that this machine has, most likely its load."
}

// assumptions say what the answer rests on.
func (r *Tuning) assumptions() string {
	return fmt.Sprintf("It rests on: %s; %d candidates; in a year %s of a leader's process and %s of the store; messages that are late or lost independently of each other. An outage of the network is none of these: count it with --outages.",
		r.Network, r.Nodes, or(r.Pauses, "no")+" pauses", or(r.Outages, "no")+" outages")
}

// front are the points of the front, those with the shortest failover first.
func (r *Tuning) front() (points []*TunedPoint) {
	for i := range r.Points {
		if r.Points[i].Front {
			points = append(points, &r.Points[i])
		}
	}
	slices.SortStableFunc(points, func(a, b *TunedPoint) int { return int(a.CrashP99MS[0] - b.CrashP99MS[0]) })
	return points
}

// TuningMarkdown returns tune.md.
func TuningMarkdown(r *Tuning) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Settings: %s\n\n**%s**\n", r.Verdict, cell(r.headline()))
	if r.Stopped != "" {
		fmt.Fprintf(&b, "\nIt ended early: %s. Only some settings were tried.\n", r.Stopped)
	}
	if p := r.chosen(); p != nil {
		fmt.Fprintf(&b, "\n```\n%s```\n\n## Why not its neighbours\n\n", p.forms())
		for _, text := range r.neighbours() {
			fmt.Fprintf(&b, "- %s\n", cell(text))
		}
	}
	if text := r.confirmation(); text != "" {
		fmt.Fprintf(&b, "\n## Confirmed: %s\n\n%s\n", r.Confirmed.Verdict, cell(text))
	}
	b.WriteString("\n## The front\n\nNone of these settings can be improved in one respect without loss in another.\n\n")
	b.WriteString("| lease | renew | retry | after a crash p50 ms | p99 ms | needless a year | by the network | by pauses | by outages | requests a minute |\n")
	b.WriteString("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range r.front() {
		mark := ""
		if p == r.chosen() {
			mark = "**"
		}
		fmt.Fprintf(&b, "| %s%s%s | %s | %s | %s | %s (%s to %s) | %s (%s to %s) | %s | %s | %s | %s |\n", mark, duration(p.LeaseMS), mark, duration(p.RenewMS), duration(p.RetryMS),
			ms(p.CrashP50MS[0]), ms(p.CrashP99MS[0]), ms(p.CrashP99MS[1]), ms(p.CrashP99MS[2]), rare(p.NeedlessYear), rare(p.NeedlessLow), rare(p.NeedlessHigh),
			rare(p.ByNetwork), rare(p.ByPauses), rare(p.ByOutages), ms(p.CommandsMinute))
	}
	fmt.Fprintf(&b, "\n%s\n", cell(r.assumptions()))
	if r.Repro != "" {
		fmt.Fprintf(&b, "\n%s", fenced(r.Repro))
	}
	return b.Bytes()
}

// TuningSummary writes what a person wants to see when the settings were tried.
func TuningSummary(w io.Writer, r *Tuning, t Terminal) error {
	s := newSummary(t)
	s.wrap("", r.headline())
	if p := r.chosen(); p != nil {
		s.line("")
		for line := range strings.Lines(p.forms()) {
			s.line("  " + strings.TrimRight(line, "\n"))
		}
		s.line("")
		for _, text := range r.neighbours() {
			s.wrap("", text)
		}
	}
	if text := r.confirmation(); text != "" {
		s.wrap("", text)
	}
	s.line("")
	const row = "%8s %9s %9s %12s %14s %12s"
	s.line(fmt.Sprintf(row, "lease", "renew", "retry", "p99 crash ms", "needless/year", "requests/min"))
	for _, p := range r.front() {
		s.line(fmt.Sprintf(row, duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), ms(p.CrashP99MS[0]), rare(p.NeedlessYear), ms(p.CommandsMinute)))
	}
	s.line("")
	s.wrap("", r.assumptions())
	if t.Where != "" || t.Again != "" {
		s.line("")
	}
	s.pointers()
	s.line(s.paint(r.Verdict, strings.ToUpper(r.Verdict.String())) + "  " + plural(len(r.Points), "setting"))
	return s.print(w)
}
