package calls

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/sim/space"
)

// Draw draws the case of a number.
func Draw(number uint64) Case {
	r := rand.New(rand.NewPCG(number, 0))
	c := Case{
		Number:    number,
		Lease:     whole(space.Between(r, time.Second, 15*time.Second)),
		RoundTrip: space.Between(r, 100*time.Microsecond, 200*time.Millisecond),
		Databases: 1 + r.IntN(2),
		Prefixes:  1,
		Writes:    8,
	}
	if c.Databases == 1 && r.IntN(4) == 0 || r.IntN(16) == 0 {
		c.Prefixes = 2
	}
	c.Elections = elections(r)
	if c.Elections > few {
		c.Databases, c.Prefixes = 1, 1 // else it takes too long
	}
	day := day(r.IntN(4))
	c.drawProcesses(r, day)
	c.drawActs(r, day)
	c.accompany(rand.New(rand.NewPCG(number, 1)), day)
	c.jobs(rand.New(rand.NewPCG(number, 2)))
	c.values(rand.New(rand.NewPCG(number, 3)))
	c.foreign(rand.New(rand.NewPCG(number, 4)))
	c.memory(rand.New(rand.NewPCG(number, 5)))
	c.rolling(rand.New(rand.NewPCG(number, 6)), day)
	c.lookAfter(rand.New(rand.NewPCG(number, 7)), day)
	c.looks(rand.New(rand.NewPCG(number, 8)))
	c.lookBack(rand.New(rand.NewPCG(number, 9)))
	c.retires(rand.New(rand.NewPCG(number, 10)))
	c.onlyLeaders(rand.New(rand.NewPCG(number, 11)))
	c.names(rand.New(rand.NewPCG(number, 12)))
	c.farAway(rand.New(rand.NewPCG(number, 13)), day)
	c.erode(rand.New(rand.NewPCG(number, 20)))
	c.lies(rand.New(rand.NewPCG(number, 13)), day)
	c.deafens(rand.New(rand.NewPCG(number, 14)), day)
	c.deaf(rand.New(rand.NewPCG(number, 15)), day)
	c.watched(rand.New(rand.NewPCG(number, 16)))
	c.barred(rand.New(rand.NewPCG(number, 17)))
	c.expels(rand.New(rand.NewPCG(number, 91)))
	c.releases(rand.New(rand.NewPCG(number, 90)))
	c.resets(rand.New(rand.NewPCG(number, 89)))    // a number that leaves the cases of TestMended as they are
	c.timings(rand.New(rand.NewPCG(number, 3890))) // likewise
	c.drains(rand.New(rand.NewPCG(number, 801)))   // likewise
	c.lasts(rand.New(rand.NewPCG(number, 865)))
	c.handsOn(rand.New(rand.NewPCG(number, 68462)))    // likewise
	c.waitsInVain(rand.New(rand.NewPCG(number, 7948))) // likewise

	switch { // else hardly a request is answered at all
	case c.Elections > few:
		c.RoundTrip = min(c.RoundTrip, c.shortest()/20, c.carried()) // connections are opened meanwhile
	case c.shortest() < c.Lease:
		c.RoundTrip = min(c.RoundTrip, c.shortest()/8)
	}
	slices.SortStableFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
	return c
}

// day is what kind of day a case is: on an ordinary one nothing breaks, processes are
// restarted and hand over to each other, and everything that is promised is owed in
// time; on the others, much breaks, or processes are strange, too.
type day int

const (
	ordinary day = iota // and the one after it
	broken   day = 2
	strange  day = 3
)

// few is how many elections are few. Most cases have no more: they are carried out
// in a moment, and one election suffices for most of what can go wrong.
const few = 30

// elections is how many of them a process has: mostly one, at most a thousand.
func elections(r *rand.Rand) int {
	switch n := r.IntN(60); {
	case n < 30:
		return 1
	case n < 54:
		return 2 + r.IntN(3)
	case n < 59:
		return int(space.Between(r, 5, few))
	default:
		return int(space.Between(r, few, 1000))
	}
}

// names draws names that are not plain in every third case.
func (c *Case) names(r *rand.Rand) {
	if r.IntN(3) == 0 {
		c.Names = Plain + 1 + Names(r.IntN(int(nameKinds)-1))
	}
}

// whole is in whole milliseconds, as leases are.
func whole(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }

// farAway draws, for every eighth ordinary day, a server so far away that renewals which
// are due at one moment hardly come in time.
func (c *Case) farAway(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few || r.IntN(8) > 0 {
		return
	}
	c.RoundTrip = space.Between(r, c.Lease/60, c.Lease/10)
	c.Elections = max(c.Elections, 2+r.IntN(few))
}

// carried is how long a round trip may take so that the connections of each process carry the
// requests of all elections, in half of the time that a request has: see "How many elections one process may have"
// in docs/operations.md.
func (c *Case) carried() time.Duration {
	const batch = 100 // requests on each connection at a time
	least := c.shortest()
	for _, m := range c.Processes {
		least = min(least, time.Duration(cmp.Or(m.Pool, 4)*batch)*(c.shortest()/6)/time.Duration(2*c.Elections))
	}
	return least
}

// drawProcesses draws two or three processes for each world.
func (c *Case) drawProcesses(r *rand.Rand, day day) {
	n := c.worlds() * (2 + r.IntN(2))
	if c.Elections > few {
		n = 2
	}
	rolling := day >= broken && r.IntN(4) == 0
	c.Unagreed = rolling && c.Number%4 == 0
	pool := 0
	if r.IntN(2) == 0 {
		pool = 1 + r.IntN(16)
	}
	other := whole(c.Lease/2 + time.Duration(r.Int64N(int64(c.Lease))))
	for i := range n {
		m := Behavior{Pool: pool}
		if rolling && r.IntN(2) == 0 {
			m.Lease = other
		}
		if r.IntN(3) == 0 {
			m.Call = Call(r.IntN(int(calls)))
		}
		if day < broken && !m.plain() {
			m.Call = Campaign
		}
		if day == strange {
			m = c.strange(r, m)
		}
		if c.steady(i) {
			m = Behavior{Pool: pool, Lease: m.Lease, Call: m.Call}
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
func (c *Case) strange(r *rand.Rand, m Behavior) Behavior {
	m.Works, m.Stops = drawEnding(r, 3), drawEnding(r, 3)
	m.Tells, m.Logs = drawEnding(r, 8), drawEnding(r, 8)
	if m.Tells != AtOnce {
		m.Logs = AtOnce // one of the two tells its beliefs
	}
	if r.IntN(5) == 0 {
		m.Ends = space.Between(r, time.Nanosecond, 3*c.Lease)
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

// drawEnding is a bad one in one of so many cases.
func drawEnding(r *rand.Rand, in int) Ending {
	if r.IntN(in) > 0 {
		return AtOnce
	}
	return []Ending{Slowly, Late, Never, Never, Panics}[r.IntN(5)]
}

// steady reports whether a process is the one of its world that behaves well,
// and is not killed for good: somebody must be able to lead.
func (c Case) steady(process int) bool { return process < c.worlds() }

// drawActs draws what happens: mostly a few things, within a few leases. Most of
// them follow on another one, since things that go wrong are mended, repeated and
// made worse where they went wrong.
func (c *Case) drawActs(r *rand.Rand, day day) {
	c.Span = space.Between(r, 3*c.Lease, 12*c.Lease)
	n := r.IntN(4) + r.IntN(5) + r.IntN(6)
	if c.Elections > few {
		n = min(n, 3)
	}
	for range n {
		a := Act{
			At:       c.Lease + time.Duration(r.Int64N(int64(c.Span))),
			Kind:     draw(r, day < broken),
			Process:  r.IntN(len(c.Processes)),
			Election: r.IntN(c.Elections),
		}
		if len(c.Acts) > 0 && r.IntN(3) > 0 {
			a = c.sequel(r, c.Acts[r.IntN(len(c.Acts))], a)
		}
		c.Acts = append(c.Acts, c.shaped(r, a))
	}
}

// draw draws a kind, by weight: of those of an ordinary day, or of all.
func draw(r *rand.Rand, ordinary bool) Kind {
	drawn, sum := Kill, 0
	for k, t := range table {
		if t.weight == 0 || ordinary && !t.ordinary {
			continue
		}
		if sum += t.weight; r.IntN(sum) < t.weight {
			drawn = Kind(k)
		}
	}
	return drawn
}

// sequel makes an act follow on another one, within a lease or two of its beginning or end: it
// concerns the same election, and mostly the same process, or one in another world.
// Mostly it is of the kind that follows on everything: somebody is restarted, made
// to resign, or handed over to.
func (c *Case) sequel(r *rand.Rand, of, a Act) Act {
	after, delay := of.At, space.Between(r, c.Lease/100, 2*c.Lease)
	if r.IntN(2) == 0 {
		after = of.end()
	}
	if r.IntN(2) == 0 {
		delay = time.Duration(r.Int64N(int64(2 * c.Lease)))
	}
	if at := after + delay; at < c.Lease+c.Span {
		a.At = at
	}
	a.Election = of.Election
	if restarts := of.Kind == Kill || of.Kind == Stop; restarts && !of.Leader && r.IntN(3) == 0 {
		a.Kind, a.Process = Transfer, of.Process // it gets back what it led
		return a
	}
	switch r.IntN(3) {
	case 0:
		a.Process = of.Process
	case 1:
		a.Process = (of.Process + 1) % len(c.Processes)
	}
	if r.IntN(2) == 0 {
		a.Kind = []Kind{Transfer, Transfer, Transfer, Resign, Kill, Kill}[r.IntN(6)]
	}
	return a
}

// shaped draws the rest of an act.
func (c *Case) shaped(r *rand.Rand, a Act) Act {
	a.For = space.Between(r, c.Lease/10, 2*c.Lease)
	a.Choice = r.IntN(64)
	a.Leader = r.IntN(2) == 0 && a.Kind != Transfer
	switch a.Kind {
	case Stop:
		a.For = space.Between(r, c.Lease/20, c.Lease)
	case Kill:
		a.For = space.Between(r, c.Lease/20, 2*c.Lease)
		if !c.steady(a.Process) && !a.Leader && r.IntN(3) == 0 {
			a.For = 0
		}
	case Pause:
		if r.IntN(2) == 0 { // a deadline is met, and just missed
			a.By = time.Duration(r.Int64N(int64(2*time.Millisecond))) - time.Millisecond
		}
	case Expire:
		a.For = space.Between(r, time.Second, 2*time.Hour)
	case StepClock:
		a.For = 0
		a.By = space.Between(r, 10*time.Millisecond, 2*time.Hour)
		if r.IntN(2) == 0 {
			a.By = -a.By
		}
	case Slow:
		a.By = space.Between(r, c.Lease/50, c.Lease)
	case SlowWrites:
		a.By = space.Between(r, c.Lease/50, 2*c.Lease)
	case Watch, CloseStore, Failback, Restart, Freeze, Refuse, Cut, Narrow, NoWrites:
	default:
		a.For = 0
	}
	return a
}
