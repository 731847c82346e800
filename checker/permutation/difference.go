package permutation

import (
	"cmp"
	"math"
	"slices"

	"github.com/recount-io/recount/checker/quantile"
)

const (
	// leastRuns is how many runs a side needs for runs to be the units: of fewer, too few
	// choices are possible.
	leastRuns = 5
	// choices is how often chance is tried for each difference that is asked about.
	choices = 999
	// halvings is how often the span is halved in which the end of an interval lies.
	halvings = 24
	// ninety is how much larger than half an interval a difference has to be to be seen nine
	// times out of ten, where the estimate is normally distributed: (2.33 + 1.28) / 2.33.
	ninety = 1.55
)

// Confidence is how often an interval holds the true difference. It is more than that of a
// quantile, since builds fail by it.
const Confidence = 0.98

// Difference is by how much a quantile of the other side lies above that of the one, or
// how many times as large it is.
type Difference struct {
	Value float64 // as it was measured
	// Low and High are where the true one lies between, as often as Confidence says. One
	// that the samples are too small to tell is infinite.
	Low, High float64
	Whole     bool // the units were whole runs; else each value was one, taken to be independent of the others
}

// Bounded reports whether the samples are large enough to tell from where to where the
// difference lies.
func (d Difference) Bounded() bool {
	return !math.IsInf(d.Low, 0) && !math.IsInf(d.High, 0) && !math.IsNaN(d.Value)
}

// Above reports whether the difference is certainly above x, Below whether it is certainly
// below: where neither is, the samples do not tell.
func (d Difference) Above(x float64) bool { return d.Low > x }

// Below is the other side of Above.
func (d Difference) Below(x float64) bool { return d.High < x }

// Detectable is how large a difference would have been seen in nine of ten comparisons of
// such samples. It is infinite where they are too small.
func (d Difference) Detectable() float64 {
	return ninety * max(d.High-d.Value, d.Value-d.Low)
}

// Shift is by how much the quantile of p of the other side lies above that of the one. The
// values are given run by run.
//
// The interval holds all shifts that the permutation test does not reject, each end in 1 of
// 100 cases, where the two sides are taken to differ by nothing but a shift (E. L. Lehmann,
// "Nonparametrics", 1975, section 2.3, for the principle).
func Shift(one, other [][]float64, p float64) Difference {
	return differ(one, other, p, func(x, by float64) float64 { return x + by }, func(a, b float64) float64 { return b - a })
}

// Ratio is how many times as large as that of the one side the quantile of p of the other is.
// See Shift: here the sides are taken to differ by nothing but a factor. Where a quantile is
// not above 0 there is no ratio.
func Ratio(one, other [][]float64, p float64) Difference {
	d := differ(one, other, p, func(x, by float64) float64 { return x * math.Exp(by) }, func(a, b float64) float64 { return math.Log(b / a) })
	return Difference{math.Exp(d.Value), math.Exp(d.Low), math.Exp(d.High), d.Whole}
}

// differ searches the interval. move moves a value by a difference, and apart is the difference
// of two quantiles.
func differ(one, other [][]float64, p float64, move func(x, by float64) float64, apart func(a, b float64) float64) Difference {
	c := compare(one, other, p)
	d := Difference{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Whole: c.whole}
	if len(c.one) == 0 || len(c.other) == 0 {
		return d
	}
	d.Value = apart(quantile.Of(xs(c.one), p).Value, quantile.Of(xs(c.other), p).Value)
	least, most := apart(c.one[len(c.one)-1].x, c.other[0].x), apart(c.one[0].x, c.other[len(c.other)-1].x)
	if math.IsNaN(d.Value) || math.IsInf(least, 0) || math.IsInf(most, 0) || math.IsNaN(least) || math.IsNaN(most) {
		return d
	}
	reach := most - least + math.Abs(d.Value)*rounding + rounding // further away the sides do not meet
	c.move = move
	// A shift that is too low leaves the other side above the one by more than chance does.
	d.Low = search(d.Value, d.Value-reach, func(by float64) bool { return c.chance(by, 1) > miss })
	d.High = search(d.Value, d.Value+reach, func(by float64) bool { return c.chance(by, -1) > miss })
	return d
}

// miss is how often each end may miss the truth.
const miss = (1 - Confidence) / 2

// search returns the last difference on the way from one to another that is possible;
// an infinite one if even the furthest is.
func search(from, to float64, possible func(float64) bool) float64 {
	if possible(to) {
		return math.Inf(cmp.Compare(to, from))
	}
	for range halvings {
		middle := from + (to-from)/2
		if possible(middle) {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

// comparison is two samples in ascending order, and choices of units.
type comparison struct {
	p          float64
	one, other []valued
	sizes      []int    // of the units, those of the one side first
	chosen     [][]bool // by choice and unit; the first one is as it is
	whole      bool
	move       func(x, by float64) float64
	merged     []valued
}

// valued is a value with the unit that it is of.
type valued struct {
	x    float64
	unit int
}

func compare(one, other [][]float64, p float64) *comparison {
	full := func(runs [][]float64) [][]float64 {
		return slices.DeleteFunc(slices.Clone(runs), func(values []float64) bool { return len(values) == 0 })
	}
	one, other = full(one), full(other)
	c := &comparison{p: p, whole: len(one) >= leastRuns && len(other) >= leastRuns}
	if !c.whole {
		one, other = singly(one), singly(other)
	}
	add := func(side *[]valued, runs [][]float64) {
		for _, values := range runs {
			for _, x := range values {
				*side = append(*side, valued{x, len(c.sizes)})
			}
			c.sizes = append(c.sizes, len(values))
		}
		slices.SortFunc(*side, func(a, b valued) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.unit, b.unit)) })
	}
	add(&c.one, one)
	add(&c.other, other)
	test := New(len(one), len(other))
	c.chosen = append(c.chosen, slices.Clone(test.AsIs()))
	for range choices {
		c.chosen = append(c.chosen, slices.Clone(test.draw()))
	}
	return c
}

// singly makes a run of each value.
func singly(runs [][]float64) (each [][]float64) {
	for _, values := range runs {
		for _, x := range values {
			each = append(each, []float64{x})
		}
	}
	return each
}

func xs(side []valued) []float64 {
	values := make([]float64, len(side))
	for i, v := range side {
		values[i] = v.x
	}
	return values
}

// chance is how probable it is that chance puts the other side as far above the one, or below
// it where sign is negative, as it is once the one has been moved.
func (c *comparison) chance(by, sign float64) float64 {
	c.merge(by)
	observed, reached := 0.0, 0
	for i, chosen := range c.chosen {
		d := sign * c.apart(chosen)
		if i == 0 {
			observed = d
		}
		if d >= observed-rounding {
			reached++
		}
	}
	return float64(reached) / float64(len(c.chosen))
}

// merge puts both sides into one order, the one of them moved.
func (c *comparison) merge(by float64) {
	c.merged = c.merged[:0]
	rest := c.other
	for _, v := range c.one {
		v.x = c.move(v.x, by)
		for len(rest) > 0 && rest[0].x < v.x {
			c.merged, rest = append(c.merged, rest[0]), rest[1:]
		}
		c.merged = append(c.merged, v)
	}
	c.merged = append(c.merged, rest...)
}

// apart is how far the quantile of the units that are not chosen lies above that of those
// that are.
func (c *comparison) apart(chosen []bool) float64 {
	var of [2]int
	for unit, size := range c.sizes {
		of[side(chosen[unit])] += size
	}
	var left [2]int
	for i, n := range of {
		left[i] = max(1, int(math.Ceil(c.p*float64(n))))
	}
	var at [2]float64
	for _, v := range c.merged {
		s := side(chosen[v.unit])
		if left[s]--; left[s] == 0 {
			at[s] = v.x
			if left[1-s] <= 0 {
				break
			}
		}
	}
	return at[1] - at[0]
}

// side is 0 for the one side, 1 for the other.
func side(chosen bool) int {
	if chosen {
		return 0
	}
	return 1
}
