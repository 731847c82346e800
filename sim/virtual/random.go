package virtual

import (
	"math/rand/v2"
	"time"
)

// random draws what a part of the world leaves to chance. Every part has one
// of its own, from the run's seed: what one draws moves nothing in another.
type random struct{ source *rand.PCG }

// Parts of the world that draw. The numbers are part of what a seed means.
const (
	drawNetwork  = 1 << 32
	drawNode     = 2 << 32
	drawResource = 3 << 32
	drawStage    = 4 << 32
	drawScripts  = 5 << 32
)

func newRandom(seed, part uint64) *random { return &random{rand.NewPCG(seed, part)} }

// number is any number.
func (r *random) number() uint64 { return r.source.Uint64() }

// below is a number below n, or 0 if n is not positive.
func (r *random) below(n int) int {
	if n <= 0 {
		return 0
	}
	// The bias is below n/2^64.
	return int(r.source.Uint64() % uint64(n))
}

// upTo is a time from 0 to d.
func (r *random) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(r.source.Uint64() % uint64(d+1))
}

// one reports whether a chance of one in n came true; never if n is 0.
func (r *random) one(n int) bool { return n > 0 && r.below(n) == 0 }
