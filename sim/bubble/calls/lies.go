package calls

import (
	"math/rand/v2"
	"time"
)

// bounded is from which choice on a foreign message names a token at a bound.
const bounded = 64

// lies draws, from a generator of its own, foreign messages with tokens at
// their bounds on some ordinary days. Hand-overs follow when the lies must be forgotten.
func (c *Case) lies(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few || r.IntN(2) == 0 {
		return
	}
	a := Act{At: c.Lease + time.Duration(r.Int64N(int64(2*c.Lease))), Kind: Message, Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections)}
	for range 1 + r.IntN(3) {
		a.Choice = bounded + r.IntN(1<<20)
		c.Acts = append(c.Acts, a)
		a.At += time.Duration(r.Int64N(int64(c.Lease)))
	}
	a.At += 2 * c.longest()
	for range 6 {
		a.At += c.Lease + time.Duration(r.Int64N(int64(c.Lease)))
		a.Kind, a.Process, a.Choice = []Kind{Resign, Transfer, Transfer}[r.IntN(3)], r.IntN(len(c.Processes)), r.IntN(64)
		c.Acts = append(c.Acts, a)
	}
}
