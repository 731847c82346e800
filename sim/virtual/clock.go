package virtual

import (
	"math"
	"math/bits"
	"time"
)

const (
	// million is the denominator of a clock's rate.
	million = 1_000_000
	// fastest is the highest rate, in millionths. The lowest is one of them.
	fastest = 1000 * million
)

// clock is a candidate's clock: boot time at a rate of its own. Rates are
// whole numbers of millionths and all arithmetic is in integers, so that a
// clock shows the same on every machine.
type clock struct {
	base time.Duration // true time at which it showed own
	own  time.Duration
	rate uint64 // millionths; 1,000,000 is right
}

func newClock() clock { return clock{rate: million} }

// show is what the clock shows at the true time t, not before base.
func (c *clock) show(t time.Duration) time.Duration {
	if c.rate == million {
		return c.own + t - c.base
	}
	return later(c.own, scale(t-c.base, c.rate, million))
}

// when is the first true time at which the clock shows own or more. A time
// that it showed before it came to run at its present rate is put where it
// would have been at that rate.
func (c *clock) when(own time.Duration) time.Duration {
	if c.rate == million {
		return c.base + own - c.own
	}
	if own < c.own {
		return c.base - scale(c.own-own, million, c.rate)
	}
	t := later(c.base, scale(own-c.own, million, c.rate))
	if c.show(t) < own {
		t = later(t, 1)
	}
	return t
}

// setRate makes the clock run at rate from the true time t on, without a jump.
// A rate that no clock has counts as the nearest one that may be.
func (c *clock) setRate(t time.Duration, rate float64) {
	c.base, c.own = t, c.show(t)
	c.rate = uint64(math.Round(min(max(rate*million, 1), fastest)))
}

// scale is d·num/den, rounded down: exact, or forever if it would be later.
func scale(d time.Duration, num, den uint64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), num)
	if hi >= den {
		return forever
	}
	q, _ := bits.Div64(hi, lo, den)
	return time.Duration(min(q, uint64(forever)))
}

// later is t + d, or forever if that would be later.
func later(t, d time.Duration) time.Duration {
	if d > forever-t {
		return forever
	}
	return t + d
}
