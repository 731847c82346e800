package candidate

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// hand is a real clock that a test moves by hand.
type hand struct{ now time.Duration }

func (h *hand) time() time.Duration { return h.now }

// A clock runs at its rate from the real time at which it was made; a change
// of the rate is no jump.
func TestClockRate(t *testing.T) {
	real := &hand{now: 100 * time.Second}
	c := NewClock(real.time, 2)
	for _, step := range []struct {
		rate    float64 // set before the real clock goes on; 0: left
		passes  time.Duration
		want    time.Duration
		comment string
	}{
		{0, 0, 100 * time.Second, "it begins at the real time"},
		{0, 10 * time.Second, 120 * time.Second, "twice as fast"},
		{0.5, 0, 120 * time.Second, "no jump"},
		{0, 10 * time.Second, 125 * time.Second, "half as fast"},
		{1, 10 * time.Second, 135 * time.Second, "right again, and as far off as it was"},
	} {
		if step.rate != 0 {
			c.SetRate(step.rate)
			if c.Rate() != step.rate {
				t.Errorf("the rate is %v, not %v", c.Rate(), step.rate)
			}
		}
		real.now += step.passes
		if got := c.Now(); got != step.want {
			t.Errorf("%s: it shows %v, want %v", step.comment, got, step.want)
		}
	}
}

// For any changes of rate: the clock never goes back or jumps, Real tells when
// it shows what it shows, and what it will show.
func TestClockProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		real := &hand{now: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "epoch"))}
		rates := rapid.Float64Range(0.1, 10)
		c := NewClock(real.time, rates.Draw(t, "rate"))
		near := func(a, b time.Duration) bool { return (a - b).Abs() <= 10*time.Nanosecond }
		last := c.Now()
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				d := time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "d"))
				shows := c.Now()
				real.now += d
				if gone, want := c.Now()-shows, time.Duration(float64(d)*c.Rate()); !near(gone, want) {
					t.Fatalf("%v passed, the clock went on by %v, want %v", d, gone, want)
				}
			},
			"rate": func(t *rapid.T) {
				shows := c.Now()
				c.SetRate(rates.Draw(t, "rate"))
				if !near(c.Now(), shows) {
					t.Fatalf("it jumped from %v to %v", shows, c.Now())
				}
			},
			"": func(t *rapid.T) {
				if c.Now() < last {
					t.Fatalf("it went back from %v to %v", last, c.Now())
				}
				last = c.Now()
				if !near(c.Real(last), real.now) {
					t.Fatalf("it shows %v at %v, Real says at %v", last, real.now, c.Real(last))
				}
				ahead := c.Real(last + time.Second)
				later := &hand{now: ahead}
				then := &Clock{real: later.time, state: c.state}
				if !near(then.Now(), last+time.Second) {
					t.Fatalf("at %v, which Real gave for %v, it shows %v", ahead, last+time.Second, then.Now())
				}
			},
		})
	})
}

// A reading is of one moment, also where the rate changes meanwhile: the clock does
// not go back, and no reading is taken for one at another rate. Every reading of the
// real clock lets others go on, as a preemption would.
func TestClockIsNotTorn(t *testing.T) {
	var ticks atomic.Int64
	c := NewClock(func() time.Duration {
		runtime.Gosched()
		return time.Duration(ticks.Add(int64(time.Millisecond)))
	}, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range 20_000 {
			c.SetRate([]float64{5, 0.2}[i%2])
		}
	}()
	for last, reading := time.Duration(0), true; reading; {
		select {
		case <-over:
			reading = false
		default:
		}
		now := c.Now()
		if now < last {
			t.Fatalf("it went back from %v to %v", last, now)
		}
		last = now
	}
}

// A time of the clock's is put where the clock comes to show it, or up to two
// nanoseconds earlier, and never later: a deadline that is recorded is not later
// than the one that is kept.
func TestClockRealIsNeverLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		real := &hand{now: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "epoch"))}
		rates := rapid.Float64Range(0.1, 10)
		c := NewClock(real.time, 1)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			real.now += time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "passes"))
			c.SetRate(rates.Draw(t, "rate"))
		}
		own := c.Now() + time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "ahead"))
		at := c.Real(own)
		if real.now = at - 1; real.now >= c.state.base && c.Now() >= own {
			t.Fatalf("it shows %v at %v already, and Real says at %v", c.Now(), real.now, at)
		}
		if real.now = at + 2*time.Nanosecond; c.Now() < own {
			t.Fatalf("Real says that it shows %v at %v, and it shows %v even 2ns later", own, at, c.Now())
		}
	})
}

// A timer fires when so much has passed on the clock, and can be stopped; one
// that is pending keeps the rate with which it began.
func TestClockAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		now := func() time.Duration { return time.Since(begin) }
		for rate, want := range map[float64]time.Duration{0.5: 20 * time.Second, 1: 10 * time.Second, 2: 5 * time.Second} {
			set := now()
			c := NewClock(now, rate)
			fired := make(chan time.Duration, 1)
			c.AfterFunc(10*time.Second, func() { fired <- now() - set })
			c.SetRate(7)
			if got := <-fired; got != want {
				t.Errorf("at rate %v it fires after %v, want %v", rate, got, want)
			}
		}
		stopped := NewClock(now, 1).AfterFunc(time.Second, func() { t.Error("a stopped timer fires") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("a timer cannot be stopped, or twice")
		}
		time.Sleep(2 * time.Second)
		fired := NewClock(now, 1).AfterFunc(0, func() {})
		synctest.Wait()
		if fired.Stop() {
			t.Error("a timer that has fired was stopped")
		}
	})
}

// The distance of two clocks is that of the look that was held up least.
func TestBegan(t *testing.T) {
	now, look := 5*time.Second, 0
	own := func() time.Duration { now += time.Microsecond; return now }
	wall := func() time.Duration {
		if look++; look != looks/2 {
			now += time.Duration(look) * time.Millisecond // held up on the way
		}
		return 100*time.Hour + now
	}
	if off := began(own, wall) - 100*time.Hour; off.Abs() > 2*time.Microsecond {
		t.Errorf("off by %v", off)
	}
}
