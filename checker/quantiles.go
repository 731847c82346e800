package checker

import (
	"math/bits"
	"time"
)

// Quantiles describe durations. P50, P90 and P99 are by nearest rank, and up
// to 0.8 % too large; Max is exact. All are 0 where there is no duration.
type Quantiles struct {
	P50, P90, P99, Max time.Duration
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
	most   time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.n++
	h.most = max(h.most, d)
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
	return Quantiles{P50: h.quantile(50), P90: h.quantile(90), P99: h.quantile(99), Max: h.most}
}

// quantile is the duration that so many percent do not exceed.
func (h *histogram) quantile(percent int) time.Duration {
	rank, seen := (h.n*percent+99)/100, 0
	for i, c := range h.counts {
		if seen += int(c); seen >= rank && c > 0 {
			return min(largest(i), h.most)
		}
	}
	return 0
}
