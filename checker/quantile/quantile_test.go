package quantile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/recount-io/recount/checker/quantile"
)

// distribution is one whose quantiles are known.
type distribution struct {
	name string
	draw func(r *rand.Rand) float64
	// at is whether a value lies at the quantile of p: below has at most p of all values,
	// and those that are equal to it the rest.
	quantile func(p float64) float64
}

var distributions = []distribution{
	{"uniform", (*rand.Rand).Float64, func(p float64) float64 { return p }},
	{"exponential", (*rand.Rand).ExpFloat64, func(p float64) float64 { return -math.Log(1 - p) }},
	{ // four values, as those of a clock that ticks
		"ties",
		func(r *rand.Rand) float64 { return math.Floor(4 * r.Float64()) },
		func(p float64) float64 { return math.Floor(4 * p) },
	},
	{ // one in fifty is 20 times as long
		"spikes",
		func(r *rand.Rand) float64 {
			if r.IntN(50) == 0 {
				return 20 + r.Float64()
			}
			return 1 + r.Float64()
		},
		func(p float64) float64 {
			if p > .98 {
				return 20 + (p-.98)/.02
			}
			return 1 + p/.98
		},
	},
	{ // as a lease that is waited for, or not
		"two modes",
		func(r *rand.Rand) float64 { return float64(r.IntN(2)) + r.Float64()/10 },
		func(p float64) float64 {
			if p > .5 {
				return 1 + (p-.5)/5
			}
			return p / 5
		},
	},
}

// Of 1,000 samples, the intervals of at least 930 hold the truth, wherever one is bounded;
// and where none is, the bound below does.
func TestHoldsTheTruth(t *testing.T) {
	for _, d := range distributions {
		for _, p := range []float64{.5, .9, .99} {
			for _, n := range []int{4, 6, 29, 60, 200, 299, 500} {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				held, bounded, truth := 0, 0, d.quantile(p)
				for range 1000 {
					sample := make([]float64, n)
					for i := range sample {
						sample[i] = d.draw(r)
					}
					slices.Sort(sample)
					e := quantile.Of(sample, p)
					if e.Low <= truth && truth <= e.High {
						held++
					}
					if e.Bounded() {
						bounded++
					}
				}
				if what := fmt.Sprintf("%s, p%v of %d", d.name, 100*p, n); held < 930 {
					t.Errorf("%s: %d of 1000 hold the truth", what, held)
				} else if wants := n >= quantile.Needs(p); bounded != map[bool]int{true: 1000}[wants] {
					t.Errorf("%s: %d are bounded, and it needs %d values", what, bounded, quantile.Needs(p))
				}
			}
		}
	}
}

// The sizes are those of the literature. No sample bounds its smallest or its largest possible
// value, nor a quantile that is none.
func TestNeeds(t *testing.T) {
	for p, want := range map[float64]int{.5: 6, .9: 29, .99: 299, .1: 29, 0: math.MaxInt, 1: math.MaxInt, 2: math.MaxInt, math.NaN(): math.MaxInt} {
		if n := quantile.Needs(p); n != want {
			t.Errorf("p%v needs %d, want %d", 100*p, n, want)
		}
	}
}
