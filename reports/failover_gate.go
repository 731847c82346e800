package reports

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/contrast"
	"github.com/recount-io/recount/checker/quantile"
)

// Gate is a condition under which a build fails, and what became of it.
type Gate struct {
	Text     string          `json:"fail_if"`
	Elector  string          `json:"elector,omitempty"` // whose figure it is about; "": of nobody who was measured
	Verdict  checker.Verdict `json:"verdict"`           // fail: the condition certainly holds; pass: it certainly does not; unknown: the sample cannot tell
	Sentence string          `json:"sentence"`
}

// Condition is a condition of --fail-if: a figure of a cell is above, or below, a limit.
type Condition struct {
	text           string
	elector, cause string // elector "": every one
	metric         metric
	p              float64 // 1: the largest
	above          bool
	limit          float64 // milliseconds, or a factor
	factor, more   bool    // limit is a factor of the baseline's figure, or so much more than it
}

var conditionForm = regexp.MustCompile(`^(?:(.*\S)\s*/)?([a-z-]+)\.([a-z]+)\.(p50|p90|p99|max)\s*([<>])\s*(\+?)([0-9.]+)\s*(x|us|µs|ms|s|m)$`)

// conditionHelp says what a condition looks like.
const conditionHelp = `give "CAUSE.FIGURE.QUANTILE > LIMIT", such as "crash.excess.p99 > 1.2x", "crash.total.p90 > +20ms" or "honua/resign.total.max > 2s"`

// ParseCondition reads a condition:
//
//	[ELECTOR/]CAUSE.FIGURE.QUANTILE > LIMIT
//
// FIGURE is total, excess, unserved, wait, detect, acquire or announce; QUANTILE p50, p90, p99
// or max; LIMIT a duration, "1.2x" for a factor of the baseline's figure, or "+20ms" for so
// much more than it. "<" in place of ">" is the other way round. ELECTOR may hold blanks, dots
// and slashes: the last slash before CAUSE ends it.
func ParseCondition(text string) (*Condition, error) {
	parts := conditionForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return nil, fmt.Errorf("%q is no condition: %s", text, conditionHelp)
	}
	c := &Condition{text: strings.TrimSpace(text), elector: strings.Join(strings.Fields(parts[1]), " "), cause: parts[2], above: parts[5] == ">", more: parts[6] != "", factor: parts[8] == "x"}
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == parts[3] })
	if i < 0 {
		return nil, fmt.Errorf("%q: a failover has no figure %q: %s", text, parts[3], conditionHelp)
	}
	c.metric = metrics[i]
	c.p = map[string]float64{"p50": .5, "p90": .9, "p99": .99, "max": 1}[parts[4]]
	number, err := strconv.ParseFloat(parts[7], 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %q is no number: %s", text, parts[7], conditionHelp)
	case c.factor && c.more:
		return nil, fmt.Errorf("%q: a factor cannot be so much more: %s", text, conditionHelp)
	case c.p == 1 && c.Relative():
		return nil, fmt.Errorf("%q: the largest of a sample cannot be compared with that of another: give a quantile, or a duration", text)
	}
	c.limit = number
	if !c.factor {
		unit, err := time.ParseDuration(parts[7] + parts[8])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		c.limit = millis(unit)
	}
	return c, nil
}

// String is the condition as it was given.
func (c *Condition) String() string { return c.text }

// Relative reports whether the condition needs a baseline.
func (c *Condition) Relative() bool { return c.factor || c.more }

// Needs is how many failovers a sample has to have, at the least, to decide the condition
// whatever the figure is. With fewer, one that does not compare may still hold certainly (">"),
// or certainly not hold ("<"): a few failovers tell what the quantile is at the least.
func (c *Condition) Needs() int {
	if c.p == 1 {
		return 1
	}
	return quantile.Needs(c.p)
}

// Lacks says why the measurement, as the baseline of the condition, cannot decide it for this
// elector, and what there is; "" if it can.
func (r *Failovers) Lacks(c *Condition, elector string) string {
	cell := r.cell(c.cause, elector)
	if cell == nil {
		var there []string
		for i := range r.Cells {
			if r.Cells[i].TotalMS.Count > 0 {
				there = append(there, r.Cells[i].Elector+"/"+r.Cells[i].Cause)
			}
		}
		return fmt.Sprintf("no failover of %s after %s; it has %s", elector, c.cause, or(strings.Join(there, ", "), "none at all"))
	}
	if n := cell.TotalMS.Count; n < c.Needs() {
		return fmt.Sprintf("%s of %s after %s, and it takes %d", plural(n, "failover"), elector, c.cause, c.Needs())
	}
	return ""
}

// Cause is the cause that the condition is about, and Elector the elector; "": every one.
func (c *Condition) Cause() string { return c.cause }

// Elector is the elector that the condition is about; "": every one.
func (c *Condition) Elector() string { return c.elector }

// Judge adds what becomes of a condition to the report, for each elector that it is about.
// Call it before Finish, with the baseline set where the condition is relative.
func (r *Failovers) Judge(c *Condition) {
	found := false
	for i := range r.Cells {
		cell := &r.Cells[i]
		if cell.Cause != c.cause || c.elector != "" && cell.Elector != c.elector {
			continue
		}
		found = true
		g := Gate{Text: c.text, Elector: cell.Elector}
		g.Verdict, g.Sentence = c.judge(cell, r.Baseline)
		r.Gates = append(r.Gates, g)
	}
	if !found {
		r.Gates = append(r.Gates, Gate{Text: c.text, Verdict: checker.Unknown, Sentence: "nothing was measured that it is about"})
	}
}

// judge decides a condition for one cell.
func (c *Condition) judge(cell *FailoverCell, baseline *Failovers) (checker.Verdict, string) {
	name := fmt.Sprintf("%s p%v of %s after %s", c.metric.name, 100*c.p, cell.Elector, cell.Cause)
	values := slices.Sorted(slices.Values(cell.values(c.metric)))
	if len(values) == 0 {
		return checker.Unknown, fmt.Sprintf("there is no failover of %s after %s", cell.Elector, cell.Cause)
	}
	var low, high float64
	var is, unit string
	switch {
	case c.p == 1:
		name = fmt.Sprintf("the longest %s of %s after %s", c.metric.name, cell.Elector, cell.Cause)
		low, high = values[len(values)-1], values[len(values)-1]
		is = ms(low) + " ms"
	case !c.Relative():
		e := quantile.Of(values, c.p)
		low, high = e.Low, e.High
		is = fromTo(low, high, ms) + " ms"
		if e.Bounded() {
			is = fmt.Sprintf("%s ms (%s)", ms(e.Value), is)
		}
	default:
		base := baseline.cell(cell.Cause, cell.Elector)
		if base == nil {
			return checker.Unknown, fmt.Sprintf("the baseline has no failover of %s after %s", cell.Elector, cell.Cause)
		}
		compare, round := contrast.Shift, signed
		unit = " ms"
		if c.factor {
			compare, round, unit = contrast.Ratio, func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }, " times"
		}
		if top := quantile.Of(values, c.p).High; c.factor && c.above && top == 0 {
			return checker.Pass, fmt.Sprintf("%s is 0 ms: not %s", name, c.bound())
		}
		d := compare(base.sample(c.metric), cell.sample(c.metric), c.p)
		low, high = d.Low, d.High
		is = fromTo(low, high, round) + unit + " that of the baseline"
		if !c.factor {
			is = fromTo(low, high, round) + " ms beside the baseline"
		}
	}
	limit := c.bound()
	switch {
	case c.above && low > c.limit, !c.above && high < c.limit:
		return checker.Fail, fmt.Sprintf("%s is %s: %s", name, is, limit)
	case c.above && high <= c.limit, !c.above && low >= c.limit:
		return checker.Pass, fmt.Sprintf("%s is %s: not %s", name, is, limit)
	case math.IsInf(low, 0) || math.IsInf(high, 0):
		if c.factor && baseline.Lacks(c, cell.Elector) == "" && len(values) >= c.Needs() {
			return checker.Unknown, fmt.Sprintf("%s has no factor: the baseline's figure is 0, or may be; give how much more it may be, such as \"> +10ms\"", name)
		}
		if c.Relative() {
			name, is = name+" cannot be compared with that of the baseline", ""
		} else {
			name += " is "
		}
		return checker.Unknown, fmt.Sprintf("%s%s: too few failovers to tell; it takes %d of each at the least", name, is, quantile.Needs(c.p))
	default:
		return checker.Unknown, fmt.Sprintf("%s is %s: whether it is %s cannot be told; four times as many failovers would halve the interval", name, is, limit)
	}
}

// bound is the limit as it was given, with its sign.
func (c *Condition) bound() string { return c.text[strings.LastIndexAny(c.text, "<>"):] }

// fromTo writes an interval, which may have no end.
func fromTo(low, high float64, round func(float64) string) string {
	switch {
	case math.IsInf(low, 0) && math.IsInf(high, 0):
		return "not known"
	case math.IsInf(low, 0):
		return "at most " + round(high)
	case math.IsInf(high, 0):
		return "at least " + round(low)
	default:
		return round(low) + " to " + round(high)
	}
}

// signed writes milliseconds with their sign.
func signed(x float64) string {
	if x > 0 {
		return "+" + ms(x)
	}
	return ms(x)
}
