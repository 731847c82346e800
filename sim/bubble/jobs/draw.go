package jobs

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/sim/space"
)

// Draw draws the case of a number. Of half of the cases nothing happens but that the
// hosts call: then everything that is promised is owed in time.
func Draw(number uint64) Case {
	r := rand.New(rand.NewPCG(number, 0))
	c := Case{
		Number:    number,
		Lease:     space.Between(r, time.Second, 15*time.Second).Truncate(time.Millisecond),
		RoundTrip: space.Between(r, 100*time.Microsecond, 100*time.Millisecond),
		Created:   r.IntN(4) > 0,
		Jobs:      1 + r.IntN(5)/4,
		Ticks:     2 + r.IntN(4),
		Drift:     []float64{0, 0, 0.001, 0.05, 0.2}[r.IntN(5)],
	}
	c.drawTimes(r)
	c.drawExpire(rand.New(rand.NewPCG(number, 1)))
	for range 2 + r.IntN(3) {
		c.Hosts = append(c.Hosts, c.host(r))
	}
	for range 1 + r.IntN(3) {
		c.Works = append(c.Works, c.work(r))
	}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) + r.IntN(4) {
			a := c.act(r)
			if len(c.Acts) > 0 && r.IntN(3) == 0 {
				a = c.sequel(r, c.Acts[r.IntN(len(c.Acts))], a)
			}
			c.Acts = append(c.Acts, a)
		}
		if c.has(Wipe, Evict, Restart) { // what the server has forgotten nobody can keep from being retired
			c.Acts = slices.DeleteFunc(c.Acts, func(a Act) bool { return a.Kind == Retire })
		}
		slices.SortStableFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
	}
	return c
}

// upTo draws evenly.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most) + 1))
}

// drawTimes draws the least and the longest time, and the time from one tick to the
// next, which is mostly longer than the least time, as it must be to let the job run at
// each.
func (c *Case) drawTimes(r *rand.Rand) {
	switch r.IntN(8) {
	case 0:
	case 1, 2:
		c.AtLeast = space.Between(r, c.Lease/10, c.Lease)
	default:
		c.AtLeast = space.Between(r, c.Lease, 12*c.Lease)
	}
	if r.IntN(2) == 0 {
		c.AtLeast = c.AtLeast.Truncate(time.Millisecond)
	}
	switch r.IntN(6) {
	case 0, 1:
	case 2:
		c.AtMost = c.AtLeast
	default:
		c.AtMost = c.AtLeast + space.Between(r, c.Lease/20, 8*c.Lease)
	}
	switch r.IntN(4) {
	case 0:
		c.Period = c.AtLeast + space.Between(r, time.Millisecond, c.Lease)
	case 1:
		c.Period = c.Lease/10 + upTo(r, 2*c.AtLeast)
	default:
		c.Period = c.AtLeast + space.Between(r, c.Lease, 10*c.Lease)
	}
}

// drawExpire draws for how long keys outlive their last use: mostly for good, and else
// for shorter or longer than the lock and the time between two ticks.
func (c *Case) drawExpire(r *rand.Rand) {
	least := max(time.Minute, c.lasts())
	switch r.IntN(8) {
	case 0:
		c.Expire = space.Between(r, time.Minute, 2*least)
	case 1:
		c.Expire = space.Between(r, 2*least, 8*(least+c.Period))
	}
	c.Expire = c.Expire.Truncate(time.Millisecond)
}

// host draws a host: most call within the least time after the tick.
func (c *Case) host(r *rand.Rand) Host {
	h := Host{Fresh: r.IntN(2) == 0, Uptime: space.Between(r, time.Second, 30*24*time.Hour)}
	if r.IntN(3) == 0 {
		h.Call = Call(r.IntN(int(calls)))
	}
	switch r.IntN(6) {
	case 0:
	case 1:
		h.Late = space.Between(r, time.Microsecond, 4*c.RoundTrip)
	case 2: // just before the least time is over, or just after
		h.Late = max(0, c.AtLeast-c.RoundTrip+upTo(r, 3*c.RoundTrip))
	case 3:
		h.Late = c.AtLeast + upTo(r, c.Period)
	default:
		h.Late = upTo(r, c.AtLeast)
	}
	if r.IntN(2) == 0 {
		h.Skew = []float64{-0.999, 0.999, 2*r.Float64() - 1}[r.IntN(3)]
	}
	switch r.IntN(4) {
	case 0:
		h.Patience = space.Between(r, c.RoundTrip/4, 20*c.RoundTrip)
	case 1:
		h.Patience = space.Between(r, c.Lease, 6*c.Lease)
	}
	h.Limits = h.Patience > 0 && r.IntN(3) == 0
	if r.IntN(3) == 0 {
		h.Pool = 1 + r.IntN(4)
	}
	return h
}

// work draws what a job does. What it takes lies before, between and beyond its times.
func (c *Case) work(r *rand.Rand) (w Work) {
	switch r.IntN(7) {
	case 0:
	case 1:
		w.Takes = space.Between(r, c.RoundTrip/4, c.Lease)
	case 2, 3:
		w.Takes = upTo(r, c.AtLeast)
	case 4:
		w.Takes = c.AtLeast + upTo(r, max(c.AtMost-c.AtLeast, c.Lease))
	case 5:
		w.Takes = max(c.AtLeast, c.AtMost) + space.Between(r, c.Lease/20, 4*c.Lease)
	default:
		w.Takes = Forever
	}
	if r.IntN(3) == 0 {
		w.Heeds = Heed(r.IntN(int(heeds)))
	}
	if r.IntN(2) == 0 {
		w.Ends = Ending(r.IntN(int(endings)))
	}
	return w
}

// act draws what happens: mostly within some round trips of a call, while the job runs,
// or when one of its times is over.
func (c *Case) act(r *rand.Rand) Act {
	a := Act{
		Kind: draw(r), Host: r.IntN(len(c.Hosts)), Holder: r.IntN(2) == 0, Job: r.IntN(c.Jobs), Choice: r.IntN(64),
		At: time.Duration(r.IntN(c.Ticks)) * c.Period, For: space.Between(r, c.Lease/20, 3*c.Lease),
	}
	if r.IntN(2) == 0 {
		a.At += c.Hosts[a.Host].Late
	}
	switch r.IntN(5) {
	case 0, 1:
		a.At += space.Between(r, c.RoundTrip/4, 8*c.RoundTrip)
	case 2:
		a.At += upTo(r, c.lasts())
	case 3:
		a.At += max(0, c.AtLeast-upTo(r, c.Lease))
	default:
		a.At += max(0, c.AtMost-upTo(r, c.Lease))
	}
	switch a.Kind {
	case Cut, Slow, Pause, Hold:
		if r.IntN(2) == 0 { // a request, and the one after it
			a.For = space.Between(r, c.RoundTrip, c.Lease)
		}
		a.By = space.Between(r, c.RoundTrip, 2*c.Lease)
	case StepClock:
		a.For, a.By = 0, space.Between(r, 10*time.Millisecond, time.Hour)
		if r.IntN(2) == 0 {
			a.By = -a.By
		}
	case Restart, Freeze, Refuse:
	default:
		a.For = 0
	}
	if a.Kind != Slow && a.Kind != StepClock {
		a.By = 0
	}
	return a
}

// sequel makes an act follow on another one: what goes wrong is mended, repeated and made
// worse where it went wrong.
func (c *Case) sequel(r *rand.Rand, of, a Act) Act {
	a.Job, a.Host, a.Holder = of.Job, of.Host, of.Holder
	a.At = of.At + space.Between(r, c.RoundTrip/4, 2*c.Lease)
	if r.IntN(2) == 0 {
		a.At += of.For
	}
	if of.Kind == Delete && r.IntN(2) == 0 {
		a.Kind = Retire // somebody tidies up
	}
	return a
}

// draw draws a kind, by weight.
func draw(r *rand.Rand) Kind {
	drawn, sum := Kill, 0
	for k, t := range table {
		if sum += t.weight; r.IntN(sum) < t.weight {
			drawn = Kind(k)
		}
	}
	return drawn
}
