package reports

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Quantiles sum up a sample, in milliseconds. They are nearest-rank: the p-th
// percentile of n values is the one of rank ceil(p/100*n) in ascending order,
// always a value that was measured, never one in between. With fewer than 100
// values P99 is therefore the largest one. Where Count is 0 the others mean
// nothing, and JSON leaves them out.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// MarshalJSON leaves out the values of an empty sample: a 0 would be read as
// an instant failover.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	if q.Count == 0 {
		return []byte(`{"count":0}`), nil
	}
	type plain Quantiles
	return json.Marshal(plain(q))
}

func quantilesOf(sample []time.Duration) Quantiles {
	n := len(sample)
	if n == 0 {
		return Quantiles{}
	}
	sorted := slices.Sorted(slices.Values(sample))
	rank := func(percent int) float64 {
		return millis(sorted[max(0, int(math.Ceil(float64(percent*n)/100))-1)])
	}
	return Quantiles{Count: n, P50: rank(50), P90: rank(90), P99: rank(99), Max: millis(sorted[n-1])}
}
