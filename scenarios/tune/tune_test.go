package tune

import (
	"math"
	"testing"
	"time"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// The short cut to rare ends of terms comes to what the long way comes to, where the long way
// can be gone.
func TestShortCutIsAsLongWay(t *testing.T) {
	for _, test := range []struct {
		network Network
		timings sim.Timings
	}{
		{Network{10 * time.Millisecond, 400 * time.Millisecond, 0}, sim.Timings{Lease: 500 * time.Millisecond, Renew: 166 * time.Millisecond, Retry: 33 * time.Millisecond}},
		{Network{10 * time.Millisecond, 400 * time.Millisecond, 0.01}, sim.Timings{Lease: 600 * time.Millisecond, Renew: 200 * time.Millisecond, Retry: 40 * time.Millisecond}},
		{Network{40 * time.Millisecond, 600 * time.Millisecond, 0}, sim.Timings{Lease: 1000 * time.Millisecond, Renew: 333 * time.Millisecond, Retry: 66 * time.Millisecond}},
		{Network{2 * time.Millisecond, 2 * time.Millisecond, 0.05}, sim.Timings{Lease: 500 * time.Millisecond, Renew: 166 * time.Millisecond, Retry: 83 * time.Millisecond}},
	} {
		plan, err := scenarios.Scenario{Name: "calm"}.Plan(scenarios.Settings{Subject: "recount", Lease: test.timings.Lease, Renew: test.timings.Renew, Retry: test.timings.Retry, Seed: 6, Network: test.network.simulated()})
		if err != nil {
			t.Fatal(err)
		}
		const renewals = 400000
		ended, err := count(t.Context(), plan, renewals)
		if err != nil {
			t.Fatal(err)
		}
		long := float64(ended) * float64(year) / float64(renewals*plan.Timings.Renew)
		short, deviation, err := needless(t.Context(), plan, 20000)
		if err != nil {
			t.Fatal(err)
		}
		// The long way is uncertain by its root, the short cut by its deviation.
		if apart := math.Abs(long - short); ended < 10 || apart > 3*(deviation+long/math.Sqrt(float64(ended)))+long/5 {
			t.Errorf("%v, %+v: the long way comes to %.0f a year (%d seen), the short cut to %.0f, give or take %.0f", test.network, test.timings, long, ended, short, deviation)
		}
	}
}
