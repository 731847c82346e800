package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/checker/quantile"
)

// What a histogram tells of a sample is what the sample in order tells, up to 0.8 % too
// large, and nothing where that is too small.
func TestHistogramTellsTheSample(t *testing.T) {
	for _, n := range []int{0, 1, 5, 6, 40, 299, 5000} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		var h histogram
		var sample []time.Duration
		for range n {
			d := time.Duration(r.ExpFloat64() * float64(time.Second))
			sample = append(sample, d)
			h.add(d)
		}
		slices.Sort(sample)
		got := h.quantiles()
		if n == 0 {
			if got != (Quantiles{}) {
				t.Errorf("of none: %+v", got)
			}
			continue
		}
		if got.Min != sample[0] || got.Max != sample[n-1] {
			t.Errorf("of %d: %v to %v, want %v to %v", n, got.Min, got.Max, sample[0], sample[n-1])
		}
		near := func(what string, got time.Duration, rank int) {
			if want := sample[rank-1]; got < want || got > want+want/125 {
				t.Errorf("of %d: %s is %v, want %v", n, what, got, want)
			}
		}
		for p, q := range map[float64]Quantile{0.5: got.P50, 0.9: got.P90, 0.99: got.P99} {
			value, low, high := quantile.Ranks(n, p)
			if near("the value", q.Value, value); q.Bounded != (n >= quantile.Needs(p)) {
				t.Errorf("p%v of %d: bounded %v", 100*p, n, q.Bounded)
			}
			if q.Bounded {
				near("the lower end", q.Low, low)
				near("the upper end", q.High, high)
			}
		}
	}
}
