package tune

import (
	"context"
	"math"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// year is 365 days.
const year = 365 * 24 * time.Hour

// How often a message is late, or lost, where that is made more frequent than it is: in calm,
// and in trouble, which lasts for a lease from the first such message on.
const (
	calm    = 20
	trouble = 3
)

const (
	counted = 15000 // renewals of the long way
	enough  = 10    // ends of terms that make the short cut needless
)

// networkLosses is how many terms a year end because of what the network does to messages:
// counted where that is often enough, else estimated.
func networkLosses(ctx context.Context, plan sim.Plan) (Interval, error) {
	ended, err := count(ctx, plan, counted)
	if err != nil {
		return Interval{}, err
	}
	if ended >= enough {
		times := float64(year) / float64(counted*plan.Timings.Renew)
		root := 1.96 * math.Sqrt(float64(ended)) // of a Poisson distribution
		return Interval{float64(ended) * times, (float64(ended) - root) * times, (float64(ended) + root) * times}, nil
	}
	sum, deviation, err := needless(ctx, plan, calmRenewals)
	return Interval{sum, max(0, sum-1.96*deviation), sum + 1.96*deviation}, err
}

// alone is the plan for one candidate, without writes, questions or faults.
func alone(plan sim.Plan, renewals int) sim.Plan {
	plan.Nodes = 1
	plan.Quiet = time.Duration(renewals) * plan.Timings.Renew
	plan.Writes, plan.Observes = plan.Quiet+time.Hour, plan.Quiet+time.Hour
	return plan
}

// count counts the terms that end in so many renewals: the long way.
func count(ctx context.Context, plan sim.Plan, renewals int) (ended int, err error) {
	h, err := (&virtual.World{}).Run(ctx, alone(plan, renewals), "")
	if err != nil {
		return 0, err
	}
	for i := range h.Events {
		if lost(&h.Events[i]) {
			ended++
		}
	}
	return ended, nil
}

// lost reports whether an event is the end of a term that nobody wanted to end.
func lost(e *history.Event) bool {
	return e.Kind == history.Deposed && e.Why != history.Resigned && e.Why != history.Stopped
}

// needless estimates how many terms a year end although nothing happened but what the network
// does to messages, and the standard error of that.
//
// A lease is lost when several requests in a row are late: too rare to be waited for. So
// messages are made to be late more often, and most of all once one was late. Each end of a
// term counts for as much less as the messages before it are less probable in truth: importance
// sampling. What was before the calm that the trouble broke has no part in it, and is left out
// (P. W. Glynn and D. L. Iglehart, "Importance sampling for stochastic simulations", Management
// Science 35, 1989).
func needless(ctx context.Context, plan sim.Plan, renewals int) (perYear, deviation float64, err error) {
	truth := plan.Network
	inCalm, inTrouble := more(truth, calm), more(truth, trouble)
	plan = alone(plan, renewals)
	plan.Network = inCalm
	reach := plan.Timings.Lease + slowest(truth) // for so long a message may have a part in what follows
	var sent []message
	now, late, began := inCalm, -2*reach, -2*reach // when the last message was late, and the first one of the trouble
	world := &virtual.World{Messages: func(at time.Duration, spiked, lost bool) sim.Network {
		if spiked || lost {
			if at-late > reach {
				began = at
			}
			late = at
		}
		sent = append(sent, message{at, ratio(truth, now, spiked, lost), began})
		switch {
		case at-late > reach:
			now = inCalm
		case at-began < plan.Timings.Lease:
			now = inTrouble
		default:
			now = truth
		}
		return now
	}}
	h, err := world.Run(ctx, plan, "")
	if err != nil {
		return 0, 0, err
	}
	var cycles, next int
	var sum, squares float64
	for i := range h.Events {
		e := &h.Events[i]
		for next < len(sent) && sent[next].at <= e.At {
			next++
		}
		switch {
		case e.Kind == history.Ok && e.Call == history.Renew:
			cycles++
		case lost(e) && next > 0:
			weight := 0.0
			for k := next - 1; k >= 0 && sent[k].at >= sent[next-1].began-reach; k-- {
				weight += sent[k].weight
			}
			sum += math.Exp(weight)
			squares += math.Exp(2 * weight)
		}
	}
	if cycles == 0 {
		return float64(year) / float64(plan.Timings.Lease), 0, nil // it was never renewed
	}
	mean := sum / float64(cycles)
	variance := max(0, squares/float64(cycles)-mean*mean) / float64(cycles)
	times := float64(year) / float64(plan.Timings.Renew)
	return mean * times, math.Sqrt(variance) * times, nil
}

// slowest is how long a message takes at the most.
func slowest(n sim.Network) time.Duration {
	d := n.Latency + n.Jitter
	if n.SpikeRate > 0 {
		d += n.Spike
	}
	if n.LossRate > 0 {
		d += sim.Resend
	}
	return d
}

// message is one that was sent, with the logarithm of how much more probable what happened to
// it is in truth.
type message struct {
	at     time.Duration
	weight float64
	began  time.Duration // when the trouble began that it is in, or the last one before
}

// more is the network in which one message in so many is a spike, and one lost, unless that is
// more frequent already.
func more(n sim.Network, in int) sim.Network {
	if n.SpikeRate > in {
		n.SpikeRate = in
	}
	if n.LossRate > in {
		n.LossRate = in
	}
	return n
}

// ratio is the logarithm of how much more probable what happened to a message is in truth than
// in the network that was simulated.
func ratio(truth, simulated sim.Network, spiked, lost bool) float64 {
	one := func(truth, simulated int, happened bool) float64 {
		if truth == 0 || truth == simulated {
			return 0
		}
		p, q := 1/float64(truth), 1/float64(simulated)
		if happened {
			return math.Log(p / q)
		}
		return math.Log((1 - p) / (1 - q))
	}
	return one(truth.SpikeRate, simulated.SpikeRate, spiked) + one(truth.LossRate, simulated.LossRate, lost)
}
