package calls

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/sim/space"
)

// accompany draws what comes beside the rest of the case, from a generator of its
// own: candidates that are preferred, one connection that is lost, questions while
// the way is bad, and breaks in the midst of what others do.
func (c *Case) accompany(r *rand.Rand, day day) {
	for i := range c.Acts {
		if a := &c.Acts[i]; a.Kind == Ask {
			a.By = space.Between(r, c.RoundTrip, c.Lease)
		}
	}
	if day < broken && r.IntN(3) == 0 {
		c.prefer(r)
	}
	if c.Elections <= few {
		for _, a := range slices.Clone(c.Acts) {
			c.beside(r, a, day)
		}
		if r.IntN(3) == 2 {
			c.loseOne(r)
		}
		if day == broken && r.IntN(4) == 0 {
			c.refuse(r)
		}
	}
}

// prefer makes some processes of an ordinary day preferred to others, and most of
// them look for a better one.
func (c *Case) prefer(r *rand.Rand) {
	for i := range c.Processes {
		c.Processes[i].Priority, c.Processes[i].Failback = r.IntN(4), r.IntN(4) > 0
	}
	if n := len(c.Processes); r.IntN(2) == 0 { // who is preferred dies, for so long that everybody knows
		c.Acts = append(c.Acts, Act{
			At: 4*c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: Kill, Process: r.IntN(n), Leader: true, Election: r.IntN(c.Elections), For: 3 * c.Lease,
		})
	}
}

// beside adds what may come beside an act: a question while the way is bad, or a
// break within some round trips of a call.
func (c *Case) beside(r *rand.Rand, of Act, day day) {
	a := Act{Process: of.Process, Election: of.Election, Choice: r.IntN(64)}
	switch t := table[of.Kind]; {
	case (t.way || of.Kind == Freeze) && r.IntN(3) == 0:
		a.Kind, a.At, a.By = Ask, of.At+time.Duration(r.Int64N(int64(max(of.For, c.Lease)))), space.Between(r, c.RoundTrip, c.Lease)
	case (of.Kind == Resign || of.Kind == Transfer || of.Kind == Stop) && day >= broken && r.IntN(4) == 0:
		a.Kind, a.At, a.Leader = []Kind{Hangup, Strand, HangupOne}[r.IntN(3)], of.At+time.Duration(r.Int64N(int64(4*c.RoundTrip))), of.Leader
	default:
		return
	}
	c.Acts = append(c.Acts, a)
}

// loseOne makes a process lose one of its connections, often that of the leader.
// Somebody asks something on that connection, perhaps, before the next renewal does;
// and later the leader of that time resigns.
func (c *Case) loseOne(r *rand.Rand) {
	a := Act{
		At: c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: []Kind{StrandOne, StrandOne, HangupOne}[r.IntN(3)],
		Process: r.IntN(len(c.Processes)), Leader: r.IntN(2) == 0, Election: r.IntN(c.Elections), Choice: r.IntN(64),
	}
	c.Acts = append(c.Acts, a)
	if r.IntN(2) == 0 {
		a.At, a.Kind, a.By, a.Choice = a.At+c.Lease/100, Ask, c.Lease, 1+r.IntN(3)
		c.Acts = append(c.Acts, a)
	}
	for range r.IntN(3) {
		a.At, a.Kind, a.By, a.Choice = a.At+time.Duration(r.Int64N(int64(5*c.Lease))), Resign, 0, 0
		c.Acts = append(c.Acts, a)
	}
}

// refuse makes a process be refused by the server, or by what stands before it, for
// some time.
func (c *Case) refuse(r *rand.Rand) {
	c.Acts = append(c.Acts, Act{
		At: c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: Cut, Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections),
		For: space.Between(r, c.Lease, 3*c.Lease), Choice: 3 + r.IntN(2),
	})
}

// lookAfter makes somebody look, within two leases after somebody else has left on an
// ordinary day, who else competes, or hand over to one of them.
func (c *Case) lookAfter(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few {
		return
	}
	for _, of := range slices.Clone(c.Acts) {
		if of.Kind != Kill && of.Kind != Stop && of.Kind != Resign || r.IntN(2) == 0 {
			continue
		}
		a := Act{At: of.At + time.Duration(r.Int64N(int64(2*c.Lease))), Process: r.IntN(len(c.Processes)), Election: of.Election}
		if r.IntN(2) == 0 {
			a.Kind = Transfer
		} else {
			a.Kind, a.By, a.Choice = Ask, c.Lease, []int{whoCompetes, whatWas}[r.IntN(2)]
		}
		c.Acts = append(c.Acts, a)
	}
}
