package calibration

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The sweep over the sorted values finds the same distances as their
// definitions do, ties and all.
func TestApartIsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(0, 12), func(n int) float64 { return float64(n) / 4 }) // ties are frequent
		runs := rapid.SliceOfN(rapid.SliceOfN(value, 0, 4), 2, 6).Draw(t, "runs")
		live := make([]bool, len(runs))
		for i := range live {
			live[i] = rapid.Bool().Draw(t, "live")
		}
		var parts [2][]float64
		for i, values := range runs {
			if live[i] {
				parts[0] = append(parts[0], values...)
			} else {
				parts[1] = append(parts[1], values...)
			}
		}
		largest, area := sampleOf(runs).apart(live)
		if len(parts[0]) == 0 || len(parts[1]) == 0 {
			if largest != 1 {
				t.Fatalf("nothing to compare, and the distance is %v", largest)
			}
			return
		}
		share := func(values []float64, x float64) float64 {
			n := 0.0
			for _, v := range values {
				if v <= x {
					n++
				}
			}
			return n / float64(len(values))
		}
		wantLargest, wantArea := 0.0, 0.0
		for step := range 13 { // values are quarters, so the curves are flat in between
			difference := math.Abs(share(parts[0], float64(step)/4) - share(parts[1], float64(step)/4))
			wantLargest = max(wantLargest, difference)
			wantArea += difference / 4
		}
		if math.Abs(largest-wantLargest) > 1e-9 || math.Abs(area-wantArea) > 1e-9 {
			t.Fatalf("distance %v and area %v, want %v and %v", largest, area, wantLargest, wantArea)
		}
	})
}

// The total variation is half the sum of the differences of the shares.
func TestVariation(t *testing.T) {
	c := countsOf([][]float64{{2, 2}, {1, 0, 3}, {0, 4}}, 3)
	for _, test := range []struct {
		live []bool
		want float64
	}{
		{[]bool{true, false, false}, 0.375}, // 4/8 and 4/8 and 0 against 1/8, 4/8 and 3/8
		{[]bool{false, true, true}, 0.375},
		{[]bool{true, true, true}, 1}, // nothing to compare it with
		{[]bool{false, true, false}, 0.75},
	} {
		if got := c.variation(test.live); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", test.live, got, test.want)
		}
	}
}
