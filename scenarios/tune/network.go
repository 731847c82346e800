package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/sim"
)

// Network is how long answers of the store take, as somebody measured or knows it.
type Network struct {
	RTT  time.Duration `json:"rtt_ns"`     // of a small request: the median
	P99  time.Duration `json:"rtt_p99_ns"` // of 99 of 100 requests, at the most
	Loss float64       `json:"loss"`       // the share of packets that are lost, and sent again by TCP
}

// Validate explains what is wrong with the network, if anything is.
func (n Network) Validate() error {
	switch {
	case n.RTT <= 0:
		return errors.New("a round trip takes longer than 0: give --rtt, such as 2ms, or have it measured with --measure URL")
	case n.P99 < n.RTT:
		return fmt.Errorf("99 of 100 round trips take at most %v, and half of them longer than %v: give a larger --rtt-p99", n.P99, n.RTT)
	case n.Loss < 0 || n.Loss >= 0.5:
		return fmt.Errorf("a loss of %v%% is no share of the packets that an election can work with: give 0%% to 49%%", 100*n.Loss)
	default:
		return nil
	}
}

func (n Network) String() string {
	return fmt.Sprintf("round trip %v, p99 %v, loss %v%%", n.RTT, n.P99, 100*n.Loss)
}

// leastMeasured is how many round trips make a network known: as many as bound their p99.
const leastMeasured = 299

// Fit is the network of measured round trips, of which so many failed.
func Fit(trips []time.Duration, failed int) (Network, error) {
	if len(trips) < leastMeasured {
		return Network{}, fmt.Errorf("%d answers are too few to know their p99: it takes %d", len(trips), leastMeasured)
	}
	sorted := slices.Sorted(slices.Values(trips))
	at := func(p float64) time.Duration { return sorted[int(math.Ceil(p*float64(len(sorted))))-1] }
	return Network{RTT: at(.5), P99: at(.99), Loss: float64(failed) / float64(failed+len(trips))}, nil
}

// spikesIn is one in how many messages is a spike: two in a hundred, so that about four in a
// hundred round trips are longer than usual.
const spikesIn = 50

// simulated is the network of virtual time. Its messages take half of a round trip, a tenth
// more or less; one in spikesIn is late by up to so much that one in a hundred round trips takes
// longer than P99; and one that is lost comes when TCP has sent it again.
func (n Network) simulated() sim.Network {
	s := sim.Network{Latency: n.RTT * 45 / 100, Jitter: n.RTT / 10}
	if late := n.P99 - n.RTT - s.Jitter; late > 0 {
		// Of the 4 in 100 that are late, evenly up to Spike, 1 is later than P99.
		s.SpikeRate, s.Spike = spikesIn, late*4/3
	}
	if n.Loss > 0 {
		s.LossRate = max(1, int(math.Round(1/n.Loss)))
	}
	return s
}
