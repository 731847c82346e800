package guards

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/space"
)

// Draw draws the case of a number.
func Draw(number uint64) Case {
	r := rand.New(rand.NewPCG(number, 0))
	c := Case{
		Number: number, Guard: Kind(r.IntN(int(kinds))), Resources: 1 + r.IntN(3),
		RoundTrip: space.Between(r, 100*time.Microsecond, 200*time.Millisecond),
		Patience:  space.Between(r, 50*time.Millisecond, 4*time.Second),
	}
	for i := range c.Resources {
		c.lead(r, i)
	}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			c.act(r)
		}
	}
	return c
}

// edges are tokens next to which numbers get longer, inexact or negative, where
// somebody takes them for something else than they are.
var edges = []uint64{
	1, 2, 9, 10, 99, 100, math.MaxInt32, math.MaxUint32, 1<<53 - 1, 1 << 53, 999_999_999_999_999, 1_795_353_457_344_522,
	math.MaxInt64 - 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64,
}

// first draws the first token of a resource: just before an edge, or at it.
func first(r *rand.Rand) uint64 {
	edge := edges[r.IntN(len(edges))]
	return edge - min(edge-1, uint64(r.IntN(4)))
}

// later draws a token that is larger; 0 if there is none.
func later(r *rand.Rand, token uint64) uint64 {
	step := uint64(1)
	switch r.IntN(8) {
	case 0, 1:
		step = 1 + uint64(r.IntN(100))
	case 2:
		if next := first(r); next > token {
			return next
		}
	}
	if token > math.MaxUint64-step {
		return 0
	}
	return token + step
}

// lead draws the terms of a resource.
func (c *Case) lead(r *rand.Rand, resource int) {
	begin := time.Duration(0)
	token := first(r)
	for range 2 + r.IntN(8) {
		t := Term{
			Resource: resource, Writer: r.IntN(writers), Token: token, From: begin, Pace: space.Between(r, 8*time.Millisecond, 300*time.Millisecond), Beside: 1,
			Bound: r.IntN(2) == 0, Checks: r.IntN(2) == 0, Repeats: r.IntN(3) == 0,
		}
		length := space.Between(r, 20*time.Millisecond, 1500*time.Millisecond)
		begin += length
		t.To = begin
		switch r.IntN(3) {
		case 0: // it is lost before its leader knows
			t.To += space.Between(r, time.Millisecond, time.Second)
		case 1: // it is resigned, and nobody leads for a while
			begin += space.Between(r, time.Millisecond, 300*time.Millisecond)
		}
		if r.IntN(2) == 0 {
			t.After = space.Between(r, time.Millisecond, 2*time.Second)
		}
		if r.IntN(2) == 0 {
			t.Takes = space.Between(r, 100*time.Microsecond, 300*time.Millisecond)
		}
		if r.IntN(6) == 0 {
			t.Hangs = space.Between(r, 500*time.Millisecond, longest)
		}
		if r.IntN(3) == 0 {
			t.Beside = 2 + r.IntN(3)
			t.Pace *= 2
		}
		c.Terms = append(c.Terms, t)
		if token = later(r, token); token == 0 {
			return
		}
	}
}

// longest is how long a write takes at the most.
const longest = 5 * time.Second

// act draws something that happens, of what can happen to such a guard.
func (c *Case) act(r *rand.Rand) {
	a := Act{
		Kind: ActKind(r.IntN(int(acts))), Way: r.IntN(writers), How: faults.Cuts[r.IntN(len(faults.Cuts))], Store: true, Keep: r.IntN(4) > 0,
		At: time.Duration(r.Int64N(int64(5 * time.Second))), For: space.Between(r, 10*time.Millisecond, 2*time.Second),
	}
	if c.Guard == Relayed && r.IntN(2) == 0 {
		a.Way, a.Store = writers, false
	}
	switch {
	case c.Guard.local(), c.Guard == OverHTTP && a.Kind >= Freeze:
		a.Kind = Restart
	case a.Kind != Cut:
		a.How = ""
	}
	if c.Guard == InMemory || c.Guard == OverHTTP {
		a.Keep = false
	}
	c.Acts = append(c.Acts, a)
}
