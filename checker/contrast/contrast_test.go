package contrast

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/recount-io/recount/internal/race"
)

// The probability that is drawn is that of all choices: of three units out of
// ten, the three with the largest values are one choice of 120.
func TestFindsTheProbability(t *testing.T) {
	values := []float64{10, 9, 8, 1, 2, 3, 4, 5, 6, 7}
	means := func(one []bool) float64 {
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
	l := New(3, 7)
	observed, usual, chance := l.Judge(means)
	if math.Abs(observed-5) > 1e-9 || usual >= observed {
		t.Errorf("observed %v, usually %v", observed, usual)
	}
	if want := 2.0 / 120; math.Abs(chance-want) > 0.007 { // the three smallest lie as far off
		t.Errorf("probability %v, want about %v", chance, want)
	}
	chosen := 0
	for _, one := range l.draw() {
		if one {
			chosen++
		}
	}
	if chosen != 3 {
		t.Errorf("%d units were chosen, want 3", chosen)
	}
}

// distributions are what failovers may be like.
var distributions = map[string]func(r *rand.Rand) float64{
	"uniform":     func(r *rand.Rand) float64 { return 20 * r.Float64() },
	"exponential": func(r *rand.Rand) float64 { return 5 * r.ExpFloat64() },
	"ties":        func(r *rand.Rand) float64 { return 4 * math.Floor(4*r.Float64()) },
	"spikes": func(r *rand.Rand) float64 {
		if r.IntN(50) == 0 {
			return 200 + r.Float64()
		}
		return 10 + 5*r.NormFloat64()
	},
	"two modes": func(r *rand.Rand) float64 { return 30*float64(r.IntN(2)) + 3*r.Float64() },
}

// sample are so many runs of ten values; what the values of a run have in common differs
// from run to run.
func sample(r *rand.Rand, draw func(*rand.Rand) float64, runs int, common, shift float64) [][]float64 {
	all := make([][]float64, runs)
	for i := range all {
		of := common * r.NormFloat64()
		for range 10 {
			all[i] = append(all[i], draw(r)+of+shift)
		}
	}
	return all
}

// Two samples of the same are called different in at most 6 of 100 comparisons, whatever
// the distribution is and whatever the values of a run have in common.
func TestTellsNoDifference(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	const times = 200
	for name, draw := range distributions {
		for _, p := range []float64{.5, .9} {
			for _, common := range []float64{0, 3} {
				r := rand.New(rand.NewPCG(7, uint64(100*p+common)))
				different := 0
				for range times {
					if d := Shift(sample(r, draw, 8, common, 0), sample(r, draw, 8, common, 0), p); d.Above(0) || d.Below(0) {
						different++
					}
				}
				if different > times*6/100 {
					t.Errorf("%s, p%v, runs apart by %v: two of the same were called different in %d of %d", name, 100*p, common, different, times)
				}
			}
		}
	}
}

// A delay of 5 ms is seen in at least 90 of 100 comparisons of 200 values each, where they
// are spread by about as much as failovers are; and one that is as large as is said to be
// detectable nearly as often.
func TestSeesADelay(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	const times = 100
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(r *rand.Rand) float64 { return 20 + 8*r.NormFloat64() + 2*r.ExpFloat64() }
	seen, held, detected := 0, 0, 0
	for range times {
		d := Shift(sample(r, draw, 20, 1, 0), sample(r, draw, 20, 1, 5), .5)
		if d.Above(0) {
			seen++
		}
		if d.Low <= 5 && 5 <= d.High {
			held++
		}
		if d := Shift(sample(r, draw, 20, 1, 0), sample(r, draw, 20, 1, d.Detectable()), .5); d.Above(0) {
			detected++
		}
	}
	if seen < 90 || held < 90 || detected < 80 {
		t.Errorf("of %d delays of 5 ms %d were seen, and %d intervals hold it; of those that would be seen in nine of ten, %d were", times, seen, held, detected)
	}
}

// A ratio is between its bounds, and samples that are too small bound nothing.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	one := sample(r, distributions["uniform"], 20, 0, 30)
	other := make([][]float64, len(one))
	for i, run := range sample(r, distributions["uniform"], 20, 0, 30) {
		for _, x := range run {
			other[i] = append(other[i], 1.5*x)
		}
	}
	if d := Ratio(one, other, .5); !d.Bounded() || !d.Whole || d.Low > 1.5 || d.High < 1.5 || !d.Above(1) {
		t.Errorf("one and a half times as large: %+v", d)
	}
	if d := Shift([][]float64{{1, 2, 3}}, [][]float64{{100, 110, 120}}, .5); d.Bounded() || d.Whole || d.Value != 108 {
		t.Errorf("three values: %+v", d)
	}
	if d := Shift([][]float64{{1, 2, 3, 4, 5, 6, 7, 8}}, [][]float64{{100, 110, 120, 130, 140, 150, 160, 170}}, .5); !d.Above(50) {
		t.Errorf("eight values: %+v", d)
	}
	// The same median, and another spread.
	var narrow, wide [][]float64
	for range 20 {
		var n, w []float64
		for range 10 {
			x := r.NormFloat64()
			n, w = append(n, 50+x), append(w, 50+40*r.NormFloat64())
		}
		narrow, wide = append(narrow, n), append(wide, w)
	}
	if d := Shift(narrow, wide, .5); d.Low > 0 || d.High < 0 || d.High-d.Low < 5 {
		t.Errorf("another spread: %+v", d)
	}
	for what, d := range map[string]Difference{
		"nothing":       Shift(nil, one, .5),
		"an empty run":  Shift([][]float64{{}}, one, .5),
		"ratio to zero": Ratio([][]float64{{0, 0, 0, 0, 0, 0}}, one, .5),
	} {
		if d.Bounded() || d.Above(0) || d.Below(0) {
			t.Errorf("%s: %+v", what, d)
		}
	}
}
