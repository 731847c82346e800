package checker

import (
	"math/bits"
	"time"

	"github.com/recount-io/recount/checker/quantile"
)

// Quantiles describe durations, up to 0.8 % too large; Min and Max are exact. All are 0 where
// there is no duration.
type Quantiles struct {
	Min, Max      time.Duration
	P50, P90, P99 Quantile
}

// Quantile is one by nearest rank, and between which durations the true one lies, in 95
// of 100 samples: see checker/quantile. It is not Bounded where there are too few to say.
type Quantile struct {
	Value, Low, High time.Duration
	Bounded          bool
}

const (
	bucketBits = 7 // so many bits of a duration are kept after its first one
	buckets    = (64 - bucketBits) << bucketBits
)

// histogram counts durations in buckets whose width grows with them, as HDR
// histograms do (Gil Tene, "HdrHistogram"). It takes the same memory however
// many there are.
type histogram struct {
	counts [buckets]uint32
	n      int
	least  time.Duration
	most   time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	if h.n++; h.n == 1 {
		h.least = d
	}
	h.least, h.most = min(h.least, d), max(h.most, d)
	h.counts[bucket(uint64(d))]++
}

// bucket is the index of the bucket that v belongs to.
func bucket(v uint64) int {
	shift := max(0, bits.Len64(v)-bucketBits-1)
	return shift<<bucketBits + int(v>>shift)
}

// largest is the largest duration of a bucket.
func largest(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	return time.Duration((uint64(bucket-shift<<bucketBits)+1)<<shift - 1)
}

func (h *histogram) quantiles() Quantiles {
	return Quantiles{Min: h.least, Max: h.most, P50: h.quantile(0.5), P90: h.quantile(0.9), P99: h.quantile(0.99)}
}

// quantile is that of p, between 0 and 1.
func (h *histogram) quantile(p float64) Quantile {
	if h.n == 0 {
		return Quantile{}
	}
	value, low, high := quantile.Ranks(h.n, p)
	return Quantile{h.ranked(value), h.ranked(low), h.ranked(high), low > 0 && high > 0}
}

// ranked is the duration of a rank, counted from 1; 0 for rank 0.
func (h *histogram) ranked(rank int) time.Duration {
	seen := 0
	for i, c := range h.counts {
		if seen += int(c); rank > 0 && seen >= rank {
			return min(largest(i), h.most)
		}
	}
	return 0
}
