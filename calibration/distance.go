package calibration

import (
	"cmp"
	"math"
	"slices"
)

// sample is one figure of all runs: its values in ascending order, each with
// the run that it is of.
type sample []value

type value struct {
	x   float64
	run int
}

func sampleOf(runs [][]float64) sample {
	var s sample
	for i, values := range runs {
		for _, x := range values {
			s = append(s, value{x, i})
		}
	}
	slices.SortFunc(s, func(a, b value) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.run, b.run)) })
	return s
}

// apart returns how far the empirical distributions of two parts of the sample
// lie apart: the largest difference between them (Kolmogorov and Smirnov), and
// the area between their curves, which is by how much a value of the one lies
// off the value of the same rank of the other, on average (Wasserstein). Where
// a part is empty the first is 1: nothing is known of it.
func (s sample) apart(one []bool) (largest, area float64) {
	var n, m float64
	for _, v := range s {
		if one[v.run] {
			n++
		} else {
			m++
		}
	}
	if n == 0 || m == 0 {
		return 1, math.Inf(1)
	}
	difference := 0.0 // of the shares of the two that are at most x
	for i, v := range s {
		if one[v.run] {
			difference += 1 / n
		} else {
			difference -= 1 / m
		}
		if i+1 < len(s) && s[i+1].x > v.x { // equal values are one step
			largest = max(largest, math.Abs(difference))
			area += math.Abs(difference) * (s[i+1].x - v.x)
		}
	}
	return largest, area
}

// counts says how often each thing happened in each run; the things are
// numbered.
type counts struct {
	rows  [][]float64 // by run
	total []float64
}

func countsOf(rows [][]float64, things int) counts {
	c := counts{rows, make([]float64, things)}
	for _, row := range rows {
		for i, n := range row {
			c.total[i] += n
		}
	}
	return c
}

// variation is the total variation distance between the shares that the things
// have in the two parts of the runs: half the sum of their differences, 0 where
// they are the same and 1 where nothing happens in both, or a part is empty.
func (c counts) variation(one []bool) float64 {
	sums, of := make([]float64, len(c.total)), 0.0
	for run, row := range c.rows {
		if !one[run] {
			continue
		}
		for i, n := range row {
			sums[i] += n
			of += n
		}
	}
	rest := -of
	for _, n := range c.total {
		rest += n
	}
	if of == 0 || rest == 0 {
		return 1
	}
	distance := 0.0
	for i, n := range sums {
		distance += math.Abs(n/of-(c.total[i]-n)/rest) / 2
	}
	return distance
}

// means is the difference between the mean counts of one thing in the two
// parts of the runs.
func means(values []float64, one []bool) float64 {
	var sums, of [2]float64
	for i, x := range values {
		part := 1
		if one[i] {
			part = 0
		}
		sums[part] += x
		of[part]++
	}
	return math.Abs(sums[0]/of[0] - sums[1]/of[1])
}
