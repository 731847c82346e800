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
	one, other := &c.One, &c.Other
	if one.Runs == 0 || other.Runs == 0 {
		differ(checker.Unknown, "there is nothing to compare: %d %s and %d %s runs", one.Runs, one.Name, other.Runs, other.Name)
		return
	}
	for _, p := range checker.Promises {
		here, there := one.brokenIn(p), other.brokenIn(p)
		if (here == 0) != (there == 0) {
			differ(checker.Fail, "%s is broken in %d of %d %s runs and in %d of %d %s ones", p, here, one.Runs, one.Name, there, other.Runs, other.Name)
		}
	}
	if one.Undecided+other.Undecided > 0 {
		differ(checker.Unknown, "%d of %d %s runs and %d of %d %s ones are undecided: %s", one.Undecided, one.Runs, one.Name, other.Undecided, other.Runs, other.Name,
			cmp.Or(one.Reason, other.Reason, "they have no result"))
	}
	if one.Failovers == 0 && one.LeftOut > 0 {
		differ(checker.Unknown, "the machine stalled during every %s failover: run it again on a calmer one", one.Name)
	}
	for _, f := range c.Figures {
		switch {
		case !f.Differs:
		case f.Name == Failovers:
			differ(checker.Unknown, "the %s runs have %.1f failovers each and the %s ones %.1f, and they may differ by %.1f", one.Name, mean(f.One), other.Name, mean(f.Other), Count)
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
		differ(checker.Unknown, "%s: total variation distance %.2f, by chance %.2f, and it may be %.2f; %s", what, o.Distance, o.Usual, Variation, c.worst(o))
	}
}

// worst tells of the pair of an order whose shares differ most.
func (c *Comparison) worst(o Order) string {
	if len(o.Pairs) == 0 {
		return "no single pair stands out"
	}
	p := o.Pairs[0]
	what := p.Second
	if o.Cause != "" {
		what = p.First + " → " + p.Second
	}
	return fmt.Sprintf("%s: %.0f %% %s, %.0f %% %s", what, 100*p.One, c.One.Name, 100*p.Other, c.Other.Name)
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

// Failed reports whether a promise was broken in either world.
func Failed(all []Comparison) bool {
	return slices.ContainsFunc(all, func(c Comparison) bool { return c.One.Failed+c.Other.Failed > 0 })
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
