// Package quantile estimates quantiles of a sample from its order statistics: nothing is
// assumed of the distribution that the values come from, but that they are independent.
package quantile

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is how often an interval holds the true quantile, at the least.
const Confidence = 0.95

// Estimate is what a sample says of one quantile.
type Estimate struct {
	// Value is the one of rank ceil(p × n): one that was measured.
	Value float64
	// Low and High are values of the sample between which the true quantile lies, in at
	// least 95 of 100 samples. High is infinite where the sample is too small to say:
	// then the quantile is Low or more, in at least 95 of 100 samples, and Low is
	// negatively infinite if it is too small for that as well.
	Low, High float64
}

// Bounded reports whether the sample says from where to where the quantile lies. A
// quantile that is not bounded is not worth printing.
func (e Estimate) Bounded() bool { return !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0) }

// Of estimates the quantile of p from a sample in ascending order, which has one value at
// the least.
func Of(sorted []float64, p float64) Estimate {
	value, low, high := Ranks(len(sorted), p)
	e := Estimate{Value: sorted[value-1], Low: math.Inf(-1), High: math.Inf(1)}
	if low > 0 {
		e.Low = sorted[low-1]
	}
	if high > 0 {
		e.High = sorted[high-1]
	}
	return e
}

// Ranks returns which of n values, in ascending order and counted from 1, is the quantile of
// p, between 0 and 1, and which ones enclose the true one; 0 where there is none. n is 1 or more.
//
// How many of n values are below the quantile has a binomial distribution, so the values of
// two ranks enclose it with a probability that depends on nothing but n and p (H. A. David
// and H. N. Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1). Each side may miss
// it in half of what Confidence leaves. Where the largest value misses it more often than
// that, the other side gets the rest.
func Ranks(n int, p float64) (value, low, high int) {
	below := distuv.Binomial{N: float64(n), P: p}
	const miss = 1 - Confidence

	// The value of rank high is too small if high or more are below.
	high = 1 + sort.Search(n, func(k int) bool { return 1-below.CDF(float64(k)) <= miss/2 })
	left := miss / 2
	if high > n {
		if over := 1 - below.CDF(float64(n-1)); over < miss {
			high, left = n, miss-over
		} else {
			high, left = 0, miss
		}
	}
	// That of rank low is too large if fewer than low are below.
	low = sort.Search(n, func(k int) bool { return below.CDF(float64(k)) > left })
	return max(1, int(math.Ceil(p*float64(n)))), low, high
}

// Needs is how many values a sample has to have, at the least, to bound the quantile of p;
// math.MaxInt where no sample does, as for p 0 and 1.
func Needs(p float64) int {
	return sort.Search(math.MaxInt, func(n int) bool { return math.Pow(p, float64(n))+math.Pow(1-p, float64(n)) <= 1-Confidence })
}
