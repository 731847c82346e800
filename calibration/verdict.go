package calibration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
)

// limit decides which tests differ by more than chance and the limits allow.
func (c *Comparison) limit() {
	tests := 0
	for _, f := range c.Figures {
		if f.Say && f.Compared {
			tests++
		}
	}
	for _, o := range c.Orders {
		if o.Compared {
			tests++
		}
	}
	level := Chance / float64(max(tests, 1))
	for i := range c.Figures {
		f := &c.Figures[i]
		far := f.Area > c.areaLimit()
		if f.Name == Failovers {
			far = f.Distance > Count
		}
		f.Differs = f.Say && f.Compared && far && f.Chance < level
	}
	for i := range c.Orders {
		o := &c.Orders[i]
		o.Differs = o.Compared && o.Distance > Variation && o.Chance < level
	}
}

// areaLimit is the limit of the area between two curves, in milliseconds.
func (c *Comparison) areaLimit() float64 { return Area * c.Lease.Seconds() * 1000 }

// judge sums up what differs.
func (c *Comparison) judge() {
	c.Verdict = checker.Pass
	differ := func(v checker.Verdict, format string, args ...any) {
		if c.Verdict != checker.Fail {
			c.Verdict = v
		}
		c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
	}
	if c.Live.Runs == 0 || c.Virtual.Runs == 0 {
		differ(checker.Unknown, "there is nothing to compare: %d live and %d virtual runs", c.Live.Runs, c.Virtual.Runs)
		return
	}
	for _, p := range checker.Promises {
		live, virtual := c.Live.brokenIn(p), c.Virtual.brokenIn(p)
		if (live == 0) != (virtual == 0) {
			differ(checker.Fail, "%s is broken in %d of %d live runs and in %d of %d virtual ones", p, live, c.Live.Runs, virtual, c.Virtual.Runs)
		}
	}
	if v := c.Live.Undecided + c.Virtual.Undecided; v > 0 {
		differ(checker.Unknown, "%d of %d live runs and %d of %d virtual ones are undecided: %s", c.Live.Undecided, c.Live.Runs, c.Virtual.Undecided, c.Virtual.Runs,
			cmp.Or(c.Live.Reason, c.Virtual.Reason, "they have no result"))
	}
	if c.Live.Failovers == 0 && c.Live.LeftOut > 0 {
		differ(checker.Unknown, "the machine stalled during every live failover: run it again on a calmer one")
	}
	for _, f := range c.Figures {
		switch {
		case !f.Differs:
		case f.Name == Failovers:
			differ(checker.Unknown, "the live runs have %.1f failovers each and the virtual ones %.1f, and they may differ by %.1f", mean(f.Live), mean(f.Virtual), Count)
		default:
			differ(checker.Unknown, "%s: the two curves lie %s apart on average, and may lie %s (%g %% of a lease); Kolmogorov-Smirnov distance %.2f, by chance %.2f", f.Name,
				millis(f.Area), millis(c.areaLimit()), 100*Area, f.Distance, f.Usual)
		}
	}
	for _, o := range c.Orders {
		if !o.Differs {
			continue
		}
		what := "after " + o.Cause + " things happen in another order"
		if o.Cause == "" {
			what = "the failovers have other causes"
		}
		differ(checker.Unknown, "%s: total variation distance %.2f, by chance %.2f, and it may be %.2f; %s", what, o.Distance, o.Usual, Variation, o.worst())
	}
}

// worst tells of the pair whose shares differ most.
func (o Order) worst() string {
	if len(o.Pairs) == 0 {
		return "no single pair stands out"
	}
	p := o.Pairs[0]
	if o.Cause == "" {
		return fmt.Sprintf("%s: %.0f %% live, %.0f %% virtual", p.Second, 100*p.Live, 100*p.Virtual)
	}
	return fmt.Sprintf("%s → %s: %.0f %% live, %.0f %% virtual", p.First, p.Second, 100*p.Live, 100*p.Virtual)
}

func (w World) brokenIn(p checker.Promise) int {
	for _, b := range w.Broken {
		if b.Promise == p {
			return b.Runs
		}
	}
	return 0
}

// Verdict is that of several comparisons together: fail if one failed, else
// unknown if one is undecided or there is none, else pass.
func Verdict(all []Comparison) checker.Verdict {
	verdict := checker.Pass
	for _, c := range all {
		switch c.Verdict {
		case checker.Fail:
			return checker.Fail
		case checker.Unknown:
			verdict = checker.Unknown
		}
	}
	if len(all) == 0 {
		return checker.Unknown
	}
	return verdict
}

// Failed tells whether a promise was broken in either world.
func Failed(all []Comparison) bool {
	return slices.ContainsFunc(all, func(c Comparison) bool { return c.Live.Failed+c.Virtual.Failed > 0 })
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

func millis(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") + " ms"
}
