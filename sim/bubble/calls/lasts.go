package calls

import (
	"math/rand/v2"
	"time"
)

// drains draws, from a generator of its own, leaders whose work goes on when they have
// resigned or stopped. In the calm at the end one of them is made the leader and has to
// leave: it keeps the lease for DrainTimeout, and no longer.
func (c *Case) drains(r *rand.Rand) {
	if r.IntN(6) > 0 || c.Elections > few {
		return
	}
	late := c.worlds() + r.IntN(len(c.Processes)-c.worlds())
	m := &c.Processes[late]
	if m.rolls() {
		return
	}
	*m = Behavior{Pool: m.Pool, Lease: m.Lease, Call: []Call{Run, Terms}[r.IntN(2)], Works: []Ending{Slowly, Late, Never}[r.IntN(3)]}
	if r.IntN(2) == 0 {
		m.Timing.DrainTimeout = share(r, 0.05, 8)
	}
	at := c.calm()
	for range 2 {
		election, soon := r.IntN(c.Elections), c.Lease/4+time.Duration(r.Int64N(int64(c.Lease)))
		c.Acts = append(c.Acts, Act{At: at, Kind: Transfer, Process: late, Election: election})
		at += []time.Duration{soon, c.longestDrain() + 2*c.longest()}[r.IntN(2)]
		if r.IntN(3) == 0 { // it hands over to one that has just died
			dead := c.world(late)
			c.Acts = append(c.Acts, Act{At: at, Kind: Kill, Process: dead, For: 4 * c.longest()}, Act{At: at + c.Lease/8, Kind: Transfer, Process: dead, Election: election})
		} else {
			c.Acts = append(c.Acts, Act{At: at, Kind: []Kind{Resign, Stop}[r.IntN(2)], Process: late, Leader: true, Election: election, For: c.Lease})
		}
		at += c.longestDrain() + 5*c.longest() + time.Duration(r.Int64N(int64(c.Lease)))
	}
}

// handsOn draws, from a generator of its own, successors that leave soon after a hand-over:
// they resign, stop, or hand the lease back, so that a caller that asks rarely sees the one
// candidate lead as before. They do so in the calm at the end.
func (c *Case) handsOn(r *rand.Rand) {
	if r.IntN(4) > 0 || c.Elections > few {
		return
	}
	if c.LooksDeaf = c.Onlooker > 0 && r.IntN(2) == 0; c.LooksDeaf && r.IntN(2) == 0 {
		c.Looks.DrainTimeout = share(r, 4, 20) // of which half is Poll
	}
	at := c.calm()
	for range 3 {
		first, election := r.IntN(c.worlds()), r.IntN(c.Elections)
		if c.LooksDeaf {
			first, election = 0, c.Onlooker-1
		}
		second := first + c.worlds()*(1+r.IntN(len(c.Processes)/c.worlds()-1))
		soon := c.Lease/2 + time.Duration(r.Int64N(int64(c.Lease/4)))
		c.Acts = append(c.Acts, Act{At: at, Kind: Transfer, Process: second, Election: election})
		at += 3 * c.longest()
		c.Acts = append(c.Acts, Act{At: at, Kind: Transfer, Process: first, Election: election})
		at += soon
		leaves := Act{At: at, Kind: []Kind{Resign, Stop, Transfer}[r.IntN(3)], Process: first, Leader: true, Election: election, For: c.Lease}
		if leaves.Kind == Transfer {
			leaves.Process, leaves.Leader = second, false
		}
		c.Acts = append(c.Acts, leaves)
		at += c.longestDrain() + 4*c.longest()
	}
}

// waitsInVain draws, from a generator of its own, a process that calls Campaign in the calm at
// the end, while another one leads on, and a server that refuses everybody for a moment.
func (c *Case) waitsInVain(r *rand.Rand) {
	if r.IntN(5) > 0 || r.IntN(2) > 0 || c.Elections > few {
		return
	}
	late := c.worlds() + r.IntN(len(c.Processes)-c.worlds())
	m := &c.Processes[late]
	if m.rolls() {
		return
	}
	*m = Behavior{Pool: m.Pool, Call: Campaign}
	at := c.calm()
	for range 4 {
		c.Acts = append(c.Acts, Act{At: at, Kind: Refuse, Process: late, For: c.Lease / 3})
		at += c.Lease + time.Duration(r.Int64N(int64(c.Lease)))
	}
}

// lasts lets, with a generator of its own, some of what goes wrong last for up to twelve
// leases.
func (c *Case) lasts(r *rand.Rand) {
	if r.IntN(8) > 0 || c.Elections > few {
		return
	}
	for i := range c.Acts {
		switch a := &c.Acts[i]; a.Kind {
		case Freeze, Refuse, Cut, Restart, NoWrites:
			a.For = time.Duration(share(r, 2, 12) * float64(c.Lease))
		default:
		}
	}
}
