package reports

import (
	"fmt"
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
	Drift   float64         `json:"drift"` // the difference of clock rates that is tolerated
	Seed    uint64          `json:"seed"`
	Stopped string          `json:"stopped,omitempty"`
	Repro   string          `json:"repro,omitempty"`

	NeedlessLimit float64 `json:"needless_limit_per_year,omitempty"` // of what is wanted, as numbers; 0: none
	P99LimitMS    float64 `json:"crash_p99_limit_ms,omitempty"`

	Points []TunedPoint `json:"points"`
	Best   int          `json:"best,omitempty"` // the recommended point, counted from 1; 0: nothing meets what is wanted
	Near   int          `json:"near,omitempty"` // then, the one that misses it by the least

	Neighbours []TunedNeighbour `json:"neighbours,omitempty"` // of the best point, or of the nearest one

	Confirmed *Confirmation `json:"confirmed,omitempty"`

	_ struct{}
}

// TunedNeighbour is a point that differs from the chosen one in one setting.
type TunedNeighbour struct {
	Change string `json:"change"` // "a shorter lease"
	Point  int    `json:"point"`  // counted from 1
}

// TunedPoint is what settings come to. Figures of a time without a leader are the value, and
// between which values the true one lies.
type TunedPoint struct {
	LeaseMS float64 `json:"lease_ms"`
	RenewMS float64 `json:"renew_ms"`
	RetryMS float64 `json:"retry_ms"`

	RequestTimeoutMS float64 `json:"request_timeout_ms"`

	Preset string `json:"preset,omitempty"` // of the elector that has these settings
	Known  bool   `json:"known"`            // false: nobody led for long enough to be crashed
	Front  bool   `json:"front"`            // no other point is better in one respect, and as good in the others

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
	return fmt.Sprintf("a lease of %s, renewed every %s, a retry after %s and a request time-out of %s", duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), duration(p.RequestTimeoutMS))
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

// alike is by which share two figures may differ and still count as the same, as in the choice
// of the recommended settings.
const alike = 0.05

// neighbours says of each neighbour why it is not the one that was chosen.
func (r *Tuning) neighbours() (all []string) {
	for _, n := range r.Neighbours {
		q := &r.Points[n.Point-1]
		all = append(all, fmt.Sprintf("%s (%s): %s.", upper(n.Change), q.value(n.Change), r.worse(q)))
	}
	return all
}

// value is what the change sets, for short: of the setting that differs.
func (p *TunedPoint) value(change string) string {
	switch {
	case strings.HasSuffix(change, "lease"):
		return duration(p.LeaseMS)
	case strings.HasSuffix(change, "renewals"):
		return "every " + duration(p.RenewMS)
	case strings.HasSuffix(change, "retry"):
		return duration(p.RetryMS)
	default:
		return duration(p.RequestTimeoutMS)
	}
}

// worse says in what a point is worse than the chosen one, and in what it is better.
func (r *Tuning) worse(q *TunedPoint) string {
	p := r.chosen()
	if !q.Known {
		return "nobody leads for long enough to be crashed"
	}
	var worse, better []string
	compare := func(of, than float64, much float64, more, less func(by string) string, by func(float64) string) {
		switch {
		case of-than > much:
			worse = append(worse, more(by(of-than)))
		case than-of > much:
			better = append(better, less(by(than-of)))
		}
	}
	after := func(word string) func(string) string { return func(by string) string { return by + " " + word } }
	compare(q.CrashP99MS[0], p.CrashP99MS[0], alike*p.CrashP99MS[0], after("ms longer without a leader (p99 after a crash)"), after("ms less without a leader (p99 after a crash)"), ms)
	compare(q.NeedlessYear, p.NeedlessYear, max(p.NeedlessHigh, q.NeedlessHigh)-max(p.NeedlessYear, q.NeedlessYear), after("more needless changes a year"), after("fewer needless changes a year"), rare)
	compare(q.CommandsMinute, p.CommandsMinute, alike*p.CommandsMinute, after("more requests a minute"), after("fewer requests a minute"), ms)
	if len(q.Misses) > 0 && len(p.Misses) == 0 {
		worse = slices.Insert(worse, 0, "it misses "+strings.Join(q.Misses, " and "))
	}
	switch {
	case len(worse)+len(better) == 0:
		return "no difference that the measurement can show"
	case len(worse) == 0:
		return "it has " + strings.Join(better, ", ")
	case len(better) == 0:
		return strings.Join(worse, ", ")
	default:
		return strings.Join(worse, ", ") + "; for that " + strings.Join(better, ", ")
	}
}

// standing says how the elector's presets stand in this network.
func (r *Tuning) standing() (all []string) {
	for i := range r.Points {
		p := &r.Points[i]
		if p.Preset == "" {
			continue
		}
		all = append(all, fmt.Sprintf("%s (%s): %s; %s.", p.presetName(), p.settings(), or(p.figuresIfKnown(), "nobody leads for long enough"), r.place(p)))
	}
	return all
}

// presetName is what the elector calls the settings.
func (p *TunedPoint) presetName() string {
	if p.Preset == "Balanced" {
		return "Balanced, the elector's default"
	}
	return p.Preset
}

func (p *TunedPoint) figuresIfKnown() string {
	if !p.Known {
		return ""
	}
	return p.figures()
}

// place says where the point stands in respect of the front.
func (r *Tuning) place(p *TunedPoint) string {
	switch better := r.better(p); {
	case !p.Known:
		return "off the front"
	case p.Front:
		return "on the front"
	case better == nil:
		return "on the front within 5 %"
	default:
		return fmt.Sprintf("off the front: better is %s (p99 %s ms, %s needless a year, %s requests a minute)",
			better.settings(), ms(better.CrashP99MS[0]), rare(better.NeedlessYear), ms(better.CommandsMinute))
	}
}

// better is the point of the front with the shortest failover that is as good as p in all
// figures, and in one of them by more than alike, or than chance; nil if there is none.
func (r *Tuning) better(p *TunedPoint) *TunedPoint {
	for _, q := range r.front() {
		more, less := q.NeedlessYear > p.NeedlessYear, q.NeedlessHigh < p.NeedlessLow
		for _, pair := range [][2]float64{{q.CrashP99MS[0], p.CrashP99MS[0]}, {q.CommandsMinute, p.CommandsMinute}} {
			more = more || pair[0] > pair[1]
			less = less || pair[0]*(1+alike) < pair[1]
		}
		if less && !more {
			return q
		}
	}
	return nil
}

// forms are the settings as Go, as YAML of elect and as its environment.
func (p *TunedPoint) forms(drift float64) string {
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
	type setting struct{ field, key, goValue, value string }
	var all []setting
	for _, d := range []struct {
		field, key string
		ms         float64
	}{{"Lease", "lease", p.LeaseMS}, {"Renew", "renew", p.RenewMS}, {"Retry", "retry", p.RetryMS}, {"RequestTimeout", "request_timeout", p.RequestTimeoutMS}} {
		all = append(all, setting{d.field, d.key, goDuration(d.ms), duration(d.ms)})
	}
	share := strconv.FormatFloat(drift, 'g', -1, 64)
	all = append(all, setting{"Drift", "drift", share, share})
	var fields, lines, variables []string
	for _, s := range all {
		fields = append(fields, s.field+": "+s.goValue)
		lines = append(lines, s.key+": "+s.value)
		variables = append(variables, "ELECT_"+strings.ToUpper(s.key)+"="+s.value)
	}
	return fmt.Sprintf("elector.Config{%s}\n\n%s\n\n%s\n", strings.Join(fields, ", "), strings.Join(lines, "\n"), strings.Join(variables, " "))
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
	return fmt.Sprintf("It rests on: %s; %d candidates; clock rates that differ by up to %s; in a year %s of a leader's process and %s of the store; messages that are late or lost independently of each other. An outage of the network is none of these: count it with --outages.",
		r.Network, r.Nodes, fmt.Sprintf("%.4g %%", 100*r.Drift), or(r.Pauses, "no")+" pauses", or(r.Outages, "no")+" outages")
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
