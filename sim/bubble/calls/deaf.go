package calls

import (
	"math/rand/v2"
	"time"
)

// Who cannot hear what the store announces, for a moment or at all.

// deafens draws, from a generator of its own, connections that the server closes about when
// a leader resigns on some ordinary days: who waits listens anew when the news is over.
func (c *Case) deafens(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few || r.IntN(3) > 0 {
		return
	}
	at := 2 * c.Lease
	for range 1 + r.IntN(4) {
		at += c.longest() + time.Duration(r.Int64N(int64(2*c.Lease)))
		a := Act{At: at, Kind: Resign, Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections)}
		c.Acts = append(c.Acts, a)
		w := c.world(a.Process)
		for i := range c.Processes {
			if c.world(i) == w {
				early := time.Duration(r.Int64N(int64(2*c.RoundTrip + c.Lease/100)))
				c.Acts = append(c.Acts, Act{At: at - early, Kind: Hangup, Process: i, Election: a.Election})
			}
		}
	}
}

// deaf draws, from a generator of its own, a process that hears nothing, on some ordinary
// days. Leaders hand over to it.
func (c *Case) deaf(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few || r.IntN(4) > 0 {
		return
	}
	a := Act{At: 2*c.Lease + time.Duration(r.Int64N(int64(c.Lease))), Kind: Transfer, Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections)}
	c.Processes[a.Process].Deaf = true
	for range 3 {
		c.Acts = append(c.Acts, a)
		a.At += 3*c.longest() + time.Duration(r.Int64N(int64(2*c.Lease)))
	}
}
