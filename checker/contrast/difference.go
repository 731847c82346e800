package contrast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recount-io/recount/checker/quantile"
)

const (
	// leastRuns is how many runs a side needs for runs to be the units: fewer, drawn again and
	// again, are too much alike.
	leastRuns = 8
	// resamples is how often both sides are drawn again.
	resamples = 999
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
// The interval is that of a bootstrap: whole runs of either side are drawn again, with
// repetition, and of the differences that come out the extreme ones are left out (A. C.
// Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, sections 3.8
// and 5.3). It excludes no difference, which is 0, only where a Test rejects it, too: that is
// exact however few the values are.
func Shift(one, other [][]float64, p float64) Difference {
	return differ(one, other, p, 0, func(a, b float64) float64 { return b - a })
}

// Ratio is how many times as large as that of the one side the quantile of p of the other is.
// See Shift; no difference is 1 here. Where a quantile of the one side is not above 0 there is
// no ratio.
func Ratio(one, other [][]float64, p float64) Difference {
	return differ(one, other, p, 1, func(a, b float64) float64 {
		if a <= 0 {
			return math.NaN()
		}
		return b / a
	})
}

func differ(one, other [][]float64, p, none float64, apart func(a, b float64) float64) Difference {
	d := Difference{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	one, other, d.Whole = units(one, other)
	a, b := sideOf(one), sideOf(other)
	if len(a.values) == 0 || len(b.values) == 0 {
		return d
	}
	d.Value = apart(a.quantile(p), b.quantile(p))
	if min(len(a.values), len(b.values)) < quantile.Needs(p) || math.IsNaN(d.Value) {
		return d
	}
	random := rand.New(rand.NewPCG(3, 4)) // the same samples, the same answer
	drawn := make([]float64, resamples)
	for i := range drawn {
		a.draw(random)
		b.draw(random)
		if drawn[i] = apart(a.quantile(p), b.quantile(p)); math.IsNaN(drawn[i]) {
			return d
		}
	}
	slices.Sort(drawn)
	const beyond = int((1 - Confidence) / 2 * (resamples + 1)) // of the drawn ones, on either side
	d.Low, d.High = min(drawn[beyond-1], d.Value), max(drawn[resamples-beyond], d.Value)
	if _, _, chance := New(len(one), len(other)).Judge(distance(one, other, p)); chance > 1-Confidence {
		d.Low, d.High = min(d.Low, none), max(d.High, none)
	}
	return d
}

// units are the runs that have values, where either side has enough of them; else each value
// is a run of its own.
func units(one, other [][]float64) (a, b [][]float64, whole bool) {
	full := func(runs [][]float64) [][]float64 {
		return slices.DeleteFunc(slices.Clone(runs), func(values []float64) bool { return len(values) == 0 })
	}
	one, other = full(one), full(other)
	if len(one) >= leastRuns && len(other) >= leastRuns {
		return one, other, true
	}
	return singly(one), singly(other), false
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

// side is a sample, of which units count so often.
type side struct {
	values []valued // in ascending order
	sizes  []int    // of the units
	weight []int    // of the units
}

// valued is a value with the unit that it is of.
type valued struct {
	x    float64
	unit int
}

func sideOf(units [][]float64) *side {
	s := &side{weight: make([]int, len(units))}
	for i, values := range units {
		s.weight[i] = 1
		s.sizes = append(s.sizes, len(values))
		for _, x := range values {
			s.values = append(s.values, valued{x, i})
		}
	}
	slices.SortFunc(s.values, func(a, b valued) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.unit, b.unit)) })
	return s
}

// draw draws as many units as there are, with repetition.
func (s *side) draw(random *rand.Rand) {
	clear(s.weight)
	for range s.weight {
		s.weight[random.IntN(len(s.weight))]++
	}
}

// quantile is the value of rank ceil(p × n), of the n values that the units of any weight have.
func (s *side) quantile(p float64) float64 {
	n := 0
	for unit, size := range s.sizes {
		n += size * s.weight[unit]
	}
	left := max(1, int(math.Ceil(p*float64(n))))
	for _, v := range s.values {
		if left -= s.weight[v.unit]; left <= 0 {
			return v.x
		}
	}
	return s.values[len(s.values)-1].x
}

// distance is how far the quantiles of two choices of the units of both sides are apart.
func distance(one, other [][]float64, p float64) func(chosen []bool) float64 {
	here, there := sideOf(slices.Concat(one, other)), sideOf(slices.Concat(one, other))
	return func(chosen []bool) float64 {
		for unit, is := range chosen {
			here.weight[unit], there.weight[unit] = 0, 1
			if is {
				here.weight[unit], there.weight[unit] = 1, 0
			}
		}
		return math.Abs(here.quantile(p) - there.quantile(p))
	}
}
