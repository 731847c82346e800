package soak

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// What goes up and down around a level is flat, and so is one step that does not go
// on; what leaks a little each minute is not.
func TestGrowth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name string
		of   func(i int) float64
		flat bool
	}{
		{"level", func(int) float64 { return 800 }, true},
		{"noise", func(int) float64 { return 700 + 300*random.Float64() }, true},
		{"spikes", func(i int) float64 { return 800 + 5000*float64((i%20)/19) }, true},
		{"late spike", func(i int) float64 { return 800 + 5000*float64(i/175) }, true},
		{"shrinks", func(i int) float64 { return 1200 - 2*float64(i) }, true},
		{"leaks", func(i int) float64 { return 800 + 2*float64(i) }, false},
		{"leaks in noise", func(i int) float64 { return 700 + 300*random.Float64() + 2*float64(i) }, false},
		{"leaks in steps", func(i int) float64 { return 800 + 60*float64(i/30) }, false},
	} {
		var samples []sample
		for i := range 180 {
			samples = append(samples, sample{at: time.Duration(i) * 10 * time.Second, Usage: history.Usage{Goroutines: int64(test.of(i))}})
		}
		g := growth(samples, things[0].of, things[0].share, things[0].least)
		if g.Flat != test.flat {
			t.Errorf("%s: %+v", test.name, g)
		}
	}
	if g := growth(nil, things[0].of, things[0].share, things[0].least); !g.Flat {
		t.Error("nothing grows")
	}
}
