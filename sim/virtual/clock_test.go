package virtual

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Rates that no clock has, which a schedule may ask for, are no reason to break.
func TestExtremeRates(t *testing.T) {
	for _, rate := range []float64{5e-324, 1e-9, 1e-6, 1e-3, 1e3, 1e9, 1e300} {
		r := launch(t, quick(2), Subject{})
		r.to(1500 * ms)
		r.must(r.SetClockRate(t.Context(), "n1", rate))
		steps := 0
		for r.next(10 * time.Second) {
			if steps++; steps > 1_000_000 {
				t.Fatalf("rate %v: time does not go on", rate)
			}
		}
		r.must(r.SetClockRate(t.Context(), "n1", 1))
		r.to(20 * time.Second)
		if r.leaders.View().Leader == "" {
			t.Errorf("rate %v: nobody leads afterwards", rate)
		}
	}
}

// anyRate is a rate in millionths.
var anyRate = rapid.OneOf(rapid.Uint64Range(990_000, 1_010_000), rapid.Uint64Range(1, fastest))

const year = 365 * 24 * time.Hour

// show and when undo each other, as far as nanoseconds go, and both are exact: as
// fractions of any size would have it.
func TestClockShowAndWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{
			base: time.Duration(rapid.Int64Range(0, int64(year)).Draw(t, "base")),
			own:  time.Duration(rapid.Int64Range(0, int64(year)).Draw(t, "own")),
			rate: rapid.OneOf(rapid.Uint64Range(990_000, 1_010_000), rapid.Uint64Range(200_000, 5_000_000)).Draw(t, "rate"),
		}
		d := time.Duration(rapid.Int64Range(0, int64(year)).Draw(t, "d"))
		exact := big.NewInt(int64(d))
		exact.Mul(exact, new(big.Int).SetUint64(c.rate)).Div(exact, big.NewInt(million)).Add(exact, big.NewInt(int64(c.own)))
		if got := c.show(c.base + d); int64(got) != exact.Int64() {
			t.Fatalf("after %v it shows %d, want %v", d, got, exact)
		}
		own := c.own + d
		at := c.when(own)
		if c.show(at) < own || at > c.base && c.show(at-1) >= own {
			t.Fatalf("it shows %v at %v: %v, and before: %v", own, at, c.show(at), c.show(at-1))
		}
	})
}

// Whatever happens to its rate, a clock neither jumps nor goes back.
func TestClockNeverJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		now := time.Duration(0)
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			last := c.show(now)
			now += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "for"))
			before := c.show(now)
			if before < last {
				t.Fatalf("it went back from %v to %v", last, before)
			}
			c.setRate(now, float64(anyRate.Draw(t, "rate"))/million)
			if after := c.show(now); after != before {
				t.Fatalf("it jumped from %v to %v", before, after)
			}
		}
	})
}

// A rate of a percent more is a percent more, to the nanosecond, after a year.
func TestClockAfterAYear(t *testing.T) {
	c := newClock()
	c.setRate(time.Hour, 1.01)
	if got, want := c.show(time.Hour+year), time.Hour+year+year/100; got != want {
		t.Errorf("it shows %v, want %v", got, want)
	}
	if got := c.when(time.Hour + year + year/100); got != time.Hour+year {
		t.Errorf("that is at %v, want %v", got, time.Hour+year)
	}
	c.setRate(time.Hour+year, 1)
	if got, want := c.show(time.Hour+2*year), time.Hour+2*year+year/100; got != want {
		t.Errorf("it shows %v, want %v", got, want)
	}
}
