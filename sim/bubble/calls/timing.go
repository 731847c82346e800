package calls

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/elector"
)

// Timing holds the durations of a process's electors, as shares of its lease. A share of 0
// stands for the usual one: a third, a fifteenth, a sixth, and two leases.
type Timing struct{ Renew, Retry, RequestTimeout, DrainTimeout float64 }

// configure sets the durations of a configuration whose lease is set.
func (t Timing) configure(c *elector.Config) {
	for _, d := range []struct {
		field *time.Duration
		share float64
		usual time.Duration
	}{
		{&c.Renew, t.Renew, c.Lease / 3},
		{&c.Retry, t.Retry, c.Lease / 15},
		{&c.RequestTimeout, t.RequestTimeout, c.Lease / 6},
		{&c.DrainTimeout, t.DrainTimeout, 2 * c.Lease},
	} {
		*d.field = d.usual
		if d.share > 0 {
			*d.field = time.Duration(d.share * float64(c.Lease))
		}
	}
}

// timings draws durations of their own for some processes of every fourth case.
func (c *Case) timings(r *rand.Rand) {
	if r.IntN(4) > 0 || c.Elections > few {
		return
	}
	for i := range c.Processes {
		if m := &c.Processes[i]; !m.rolls() && r.IntN(3) > 0 {
			m.Timing = timing(r, m.Drift)
		}
	}
	c.RoundTrip = min(c.RoundTrip, c.shortestTimeout()/time.Duration(3+r.IntN(10)))
}

// timing draws durations up to the limits of [elector.Config]: Renew, RequestTimeout and
// Retry fit into a lease together.
func timing(r *rand.Rand, drift float64) Timing {
	t := Timing{Renew: share(r, 0.03, 0.9), Retry: share(r, 0.003, 0.4), RequestTimeout: share(r, 0.04, 0.6), DrainTimeout: share(r, 0.01, 8)}
	if sum, room := t.Renew+t.Retry+t.RequestTimeout, 0.99*(1-max(drift, elector.DefaultDrift)); sum > room {
		t.Renew, t.Retry, t.RequestTimeout = t.Renew*room/sum, t.Retry*room/sum, t.RequestTimeout*room/sum
	}
	return t
}

func share(r *rand.Rand, least, most float64) float64 {
	return least * math.Pow(most/least, r.Float64())
}

// configs returns the durations of each process in each of its two kinds of lives.
func (c Case) configs() (all []elector.Config) {
	for i, m := range c.Processes {
		for life := range 2 {
			one := elector.Config{Lease: c.lease(i, life)}
			m.Timing.configure(&one)
			m.Releases[life].configure(&one)
			all = append(all, one)
		}
	}
	return all
}

func (c Case) shortestTimeout() time.Duration {
	return least(c.configs(), func(one elector.Config) time.Duration { return one.RequestTimeout })
}

func (c Case) shortestRenew() time.Duration {
	return least(c.configs(), func(one elector.Config) time.Duration { return one.Renew })
}

func (c Case) longestRetry() time.Duration {
	return -least(c.configs(), func(one elector.Config) time.Duration { return -one.Retry })
}

func (c Case) longestDrain() time.Duration {
	return -least(c.configs(), func(one elector.Config) time.Duration { return -one.DrainTimeout })
}

func least(all []elector.Config, of func(elector.Config) time.Duration) time.Duration {
	shortest := of(all[0])
	for _, one := range all[1:] {
		shortest = min(shortest, of(one))
	}
	return shortest
}
