// Package quantile estimates quantiles of a sample from its order statistics: nothing is
// assumed of the distribution that the values come from, but that they are independent.
package quantile

import (
	"math"

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

// Of estimates the quantile of p, between 0 and 1, from a sample in ascending order, which
// has one value at the least.
//
// How many of n values are below the quantile has a binomial distribution, so the values of
// two ranks enclose it with a probability that depends on nothing but n and p (H. A. David
// and H. N. Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1). Each side may miss it in half of
// what Confidence leaves. Where the largest value misses it more often than that, the other
// side gets the rest.
func Of(sorted []float64, p float64) Estimate {
	n := len(sorted)
	below := distuv.Binomial{N: float64(n), P: p}
	miss := 1 - Confidence
	e := Estimate{Value: sorted[max(0, int(math.Ceil(p*float64(n)))-1)], Low: math.Inf(-1), High: math.Inf(1)}

	// The value of rank high is too small if high or more are below.
	high := rank(n, func(k int) bool { return 1-below.CDF(float64(k-1)) <= miss/2 })
	left := miss / 2
	if high > n {
		if over := 1 - below.CDF(float64(n-1)); over < miss {
			high, left = n, miss-over
		} else {
			left = miss
		}
	}
	// That of rank low is too large if fewer than low are below.
	low := rank(n, func(k int) bool { return below.CDF(float64(k-1)) > left }) - 1
	if low >= 1 {
		e.Low = sorted[low-1]
	}
	if high <= n {
		e.High = sorted[high-1]
	}
	return e
}

// rank is the smallest rank from 1 to n of which that is true, as it is of all larger
// ones, and n+1 if there is none.
func rank(n int, is func(k int) bool) int {
	for k := 1; k <= n; k++ {
		if is(k) {
			return k
		}
	}
	return n + 1
}

// Needs is how many values a sample has to have, at the least, to bound the quantile of p.
func Needs(p float64) int {
	for n := 1; ; n++ {
		if math.Pow(p, float64(n))+math.Pow(1-p, float64(n)) <= 1-Confidence {
			return n
		}
	}
}
