package crowd

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Draw draws the case of a number.
func Draw(number uint64) Case {
	r := rand.New(rand.NewPCG(number, 0))
	c := Case{
		Number:    number,
		Lease:     whole(between(r, time.Second, 15*time.Second)),
		RoundTrip: between(r, 100*time.Microsecond, 200*time.Millisecond),
		Databases: 1 + r.IntN(2),
		Prefixes:  1,
		Writes:    8,
	}
	if r.IntN(6) == 0 {
		c.Prefixes = 2
	}
	c.Elections = elections(r)
	if c.Elections > few {
		c.Databases, c.Prefixes = 1, 1 // else it takes too long
	}
	c.drawProcesses(r)
	c.drawActs(r)
	return c
}

// few is how many elections are few. Most cases have no more: they are carried out
// in a moment, and one election suffices for most of what can go wrong.
const few = 30

// elections is how many of them a process has: mostly one, at most a thousand.
func elections(r *rand.Rand) int {
	switch n := r.IntN(60); {
	case n < 30:
		return 1
	case n < 50:
		return int(between(r, 2, 8))
	case n < 59:
		return int(between(r, 8, few))
	default:
		return int(between(r, few, 1000))
	}
}

// whole is in whole milliseconds, as leases are.
func whole(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }

// between draws evenly by orders of magnitude.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}

// drawProcesses draws two or three processes for each world. In half of the cases
// all of them are plain.
func (c *Case) drawProcesses(r *rand.Rand) {
	n := c.worlds() * (2 + r.IntN(2))
	if c.Elections > few {
		n = 2
	}
	strange, rolling := r.IntN(2) == 0, r.IntN(5) == 0
	pool := 0
	if r.IntN(2) == 0 {
		pool = 1 + r.IntN(16)
	}
	other := whole(c.Lease/2 + time.Duration(r.Int64N(int64(c.Lease))))
	for i := range n {
		m := Manners{Pool: pool}
		if rolling && r.IntN(2) == 0 {
			m.Lease = other
		}
		if r.IntN(3) == 0 {
			m.Call = Call(r.IntN(int(calls)))
		}
		if strange {
			m = c.strange(r, m)
		}
		if c.steady(i) {
			m = Manners{Pool: pool, Lease: m.Lease, Call: m.Call}
			if m.Call == Once || m.Call == TryAcquire {
				m.Call = Run
			}
		}
		c.Processes = append(c.Processes, m)
	}
}

// drifts are what is tolerated.
var drifts = []float64{0, 0, 0.001, 0.05, 0.3}

// strange makes a process differ from others in some things.
func (c *Case) strange(r *rand.Rand, m Manners) Manners {
	m.Works, m.Stops = manner(r, 4), manner(r, 4)
	m.Tells, m.Logs = manner(r, 8), manner(r, 8)
	if m.Logs == Panics { // nothing can keep a panic in a logger from ending the process
		m.Logs = Never
	}
	if m.Tells != AtOnce {
		m.Logs = AtOnce // one of the two tells its beliefs
	}
	if r.IntN(5) == 0 {
		m.Ends = between(r, time.Nanosecond, 3*c.Lease)
	}
	if r.IntN(3) == 0 {
		m.Drift = drifts[r.IntN(len(drifts))]
		m.Skew = []float64{-0.999, 0.999, 2*r.Float64() - 1}[r.IntN(3)]
	}
	if r.IntN(4) == 0 {
		m.Priority = r.IntN(3)
		m.Failback = r.IntN(2) == 0
	}
	return m
}

// manner is a bad one in one of so many cases.
func manner(r *rand.Rand, in int) Manner {
	if r.IntN(in) > 0 {
		return AtOnce
	}
	return Manner(1 + r.IntN(int(manners)-1))
}

// steady tells whether a process is the one of its world that is well-mannered,
// and is not killed for good: somebody must be able to lead.
func (c Case) steady(process int) bool { return process < c.worlds() }

// drawActs draws what happens: mostly a few things, within a few leases. Half of
// them follow on another one, since things that go wrong are mended, repeated and
// made worse where they went wrong.
func (c *Case) drawActs(r *rand.Rand) {
	c.Span = between(r, c.Lease, 5*c.Lease)
	n := r.IntN(3) + r.IntN(4) + r.IntN(6)
	if c.Elections > few {
		n = min(n, 3)
	}
	for range n {
		a := Act{
			At:       c.Lease + time.Duration(r.Int64N(int64(c.Span))),
			Kind:     draw(r),
			Process:  r.IntN(len(c.Processes)),
			Election: r.IntN(c.Elections),
		}
		if len(c.Acts) > 0 && r.IntN(2) == 0 {
			a = c.sequel(r, c.Acts[r.IntN(len(c.Acts))], a)
		}
		c.Acts = append(c.Acts, c.shaped(r, a))
	}
	slices.SortStableFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
}

// draw draws a kind, by weight.
func draw(r *rand.Rand) Kind {
	sum := 0
	for _, t := range table {
		sum += t.weight
	}
	at := r.IntN(sum)
	for k, t := range table {
		if at -= t.weight; at < 0 {
			return Kind(k)
		}
	}
	panic("unreachable")
}

// sequel makes an act follow on another one, within a lease or two of its end: it
// concerns the same election, and mostly the same process or the same name in
// another world.
func (c *Case) sequel(r *rand.Rand, of, a Act) Act {
	a.At = min(of.end()+between(r, time.Millisecond, 2*c.Lease), c.Lease+2*c.Span)
	a.Election = of.Election
	if r.IntN(3) > 0 {
		a.Process = of.Process
	}
	return a
}

// shaped draws the rest of an act.
func (c *Case) shaped(r *rand.Rand, a Act) Act {
	a.For = between(r, c.Lease/10, 2*c.Lease)
	a.Choice = r.IntN(64)
	switch a.Kind {
	case Kill:
		if !c.steady(a.Process) && r.IntN(3) == 0 {
			a.For = 0
		}
	case Pause:
		if r.IntN(2) == 0 { // a deadline is met, and just missed
			a.By = time.Duration(r.Int64N(int64(2*time.Millisecond))) - time.Millisecond
		}
	case Expire:
		a.For = between(r, time.Second, 2*time.Hour)
	case StepClock:
		a.For = 0
		a.By = between(r, 10*time.Millisecond, 2*time.Hour)
		if r.IntN(2) == 0 {
			a.By = -a.By
		}
	case Slow:
		a.By = between(r, c.Lease/50, c.Lease)
	case SlowWrites:
		a.By = between(r, c.Lease/50, 2*c.Lease)
	case Watch, Stop, CloseStore, Failback, Restart, Freeze, Refuse, Cut, Narrow, NoWrites:
	default:
		a.For = 0
	}
	return a
}
