package elector

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const day = int64(24 * time.Hour)

// computer is a machine whose clocks are set by hand. Reading takes time, and
// what happens in the middle of it is up to between.
type computer struct {
	mu      sync.Mutex
	true    int64 // since it was booted, suspensions included
	asleep  int64 // of that: suspended
	zone    int64 // wall clock less boot time
	strange bool  // there is no monotonic reading
	asks    int
	between func(place string) // called without the lock
}

func newComputer() *computer { return &computer{true: int64(time.Hour), zone: 20000 * day} }

func (c *computer) do(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *computer) run(d time.Duration) { c.do(func() { c.true += int64(d) }) }
func (c *computer) suspend(d time.Duration) {
	c.do(func() { c.true += int64(d); c.asleep += int64(d) })
}
func (c *computer) set(d time.Duration) { c.do(func() { c.zone += int64(d) }) } // the wall clock
func (c *computer) at(place string) {
	if c.between != nil {
		c.between(place)
	}
}

func (c *computer) read() (r reading, ok bool) {
	c.do(func() { c.true += 20; r.wall = c.true + c.zone })
	c.at("between wall and monotonic clock")
	c.do(func() { c.true += 20; r.mono = c.true - c.asleep - int64(time.Minute) })
	c.at("after a reading")
	return r, !c.strange
}

func (c *computer) boot() (t int64) {
	c.do(func() { c.true += 300; t = c.true; c.asks++ })
	c.at("after the kernel's answer")
	return t
}

// now is what bootTime does, with these clocks.
func (c *computer) now(b *bootClock) time.Duration {
	if r, ok := c.read(); ok {
		if now, ok := b.at(r); ok {
			return now
		}
	}
	return b.ask(c)
}

// A reading is trusted as long as wall and monotonic clock have gone on alike
// since the kernel was asked, and that was not long ago.
func TestAnchorTrusts(t *testing.T) {
	const s, µs = int64(time.Second), int64(time.Microsecond)
	a := anchor{distance: 20000 * day, offset: s, kept: true}
	asked := 100 * s
	for _, test := range []struct {
		what       string
		wall, mono int64 // since the kernel was asked
		want       bool
	}{
		{"nothing has happened", 0, 0, true},
		{"both went on", s / 2, s / 2, true},
		{"the last answer is a second old", s, s, true},
		{"it is older", s + 1, s + 1, false},
		{"it is from another processor, a moment ahead", -µs, -µs, true},
		{"an interrupt between the two readings", s / 2, s/2 + 9*µs, true},
		{"a pause between the two readings", s / 2, s/2 + 11*µs, false},
		{"suspended for an hour", 3600 * s, 5 * µs, false},
		{"suspended for 11 µs", s/2 + 11*µs, s / 2, false},
		{"the wall clock was set forward", 50 * s, s / 2, false},
		{"the wall clock was set back", -50 * s, s / 2, false},
		{"the wall clock was set back to 1970", -20000 * day, s / 2, false},
		{"suspended, and set back by most of it", s / 100, 0, false},
	} {
		r := reading{wall: a.distance + asked + test.wall, mono: asked + test.mono}
		if got := a.trusts(r, asked); got != test.want {
			t.Errorf("%s: trusted: %v, want %v", test.what, got, test.want)
		}
	}
	r := reading{wall: a.distance + asked, mono: asked}
	if a.kept = false; a.trusts(r, asked) {
		t.Error("an anchor whose parts belong to different moments was trusted")
	}
}

// A suspended machine: the next answer counts the suspension, however short,
// and the kernel is asked then and once a second, but not otherwise.
func TestBootClockCountsSuspensions(t *testing.T) {
	for _, asleep := range []time.Duration{50 * time.Microsecond, time.Millisecond, 20 * time.Second, 300 * 24 * time.Hour} {
		c := newComputer()
		b := newBootClock(c)
		c.asks = 0
		for range 100 {
			c.run(time.Millisecond)
			c.now(b)
		}
		if c.asks != 0 {
			t.Errorf("the kernel was asked %d times in a tenth of a second without any reason", c.asks)
		}
		c.suspend(asleep)
		if got, want := c.now(b), time.Duration(c.true); got > want || want-got > time.Duration(2*noise+narrow) {
			t.Errorf("%v after a suspension of %v, want %v", got, asleep, want)
		}
		if c.asks != 1 {
			t.Errorf("the kernel was asked %d times after a suspension of %v, want 1", c.asks, asleep)
		}
	}
	c := newComputer()
	b := newBootClock(c)
	c.asks = 0
	for range 100 {
		c.run(100 * time.Millisecond)
		c.now(b)
	}
	if c.asks < 8 || c.asks > 10 {
		t.Errorf("the kernel was asked %d times in ten seconds, want about once a second", c.asks)
	}
}

// The one coincidence that no reading shows, a wall clock that is set back by
// just what the machine slept, deceives for no longer than a second of work.
func TestBootClockDeceived(t *testing.T) {
	c := newComputer()
	b := newBootClock(c)
	c.suspend(time.Minute)
	c.set(-time.Minute)
	if late := time.Duration(c.true) - c.now(b); late < 59*time.Second {
		t.Fatalf("only %v late: the test no longer shows what it is about", late)
	}
	c.run(1001 * time.Millisecond)
	if late := time.Duration(c.true) - c.now(b); late > time.Duration(2*noise+narrow) {
		t.Errorf("still %v late after a second", late)
	}
}

// Whatever happens in the middle of an answer (the process stands still, the
// machine is suspended, the wall clock is set), it is a boot time that was true
// while it was being found, and no answer is before the last.
func TestBootClockInterrupted(t *testing.T) {
	disturbances := map[string]func(*computer){
		"an interrupt":       func(c *computer) { c.run(5 * time.Microsecond) },
		"a pause":            func(c *computer) { c.run(30 * time.Millisecond) },
		"a suspension":       func(c *computer) { c.suspend(30 * time.Second) },
		"a pause as long":    func(c *computer) { c.run(30 * time.Second) },
		"set forward":        func(c *computer) { c.set(30 * time.Second) },
		"set back":           func(c *computer) { c.set(-30 * time.Second) },
		"suspended, set":     func(c *computer) { c.suspend(30 * time.Second); c.set(time.Hour) },
		"nothing":            func(*computer) {},
		"no monotonic clock": func(c *computer) { c.do(func() { c.strange = true }) },
	}
	places := []string{"between wall and monotonic clock", "after a reading", "after the kernel's answer"}
	for first, disturb := range disturbances {
		for second, again := range disturbances {
			for _, place := range places {
				c := newComputer()
				b := newBootClock(c)
				last := c.now(b)
				todo := []func(*computer){disturb, again}
				c.run(2 * time.Second)
				c.between = func(at string) {
					if at == place && len(todo) > 0 {
						next := todo[0]
						todo = todo[1:]
						next(c)
					}
				}
				for range 6 {
					began := c.true
					now := c.now(b)
					if now < last || now < time.Duration(began-2*noise-narrow) || now > time.Duration(c.true) {
						t.Fatalf("%s, then %s, %s: %v, after %v, and the truth went from %v to %v",
							first, second, place, now, last, time.Duration(began), time.Duration(c.true))
					}
					last = now
				}
			}
		}
	}
}

// Where package time's readings are not the machine's, the kernel answers, and
// from then on it alone.
func TestBootClockWithoutMonotonicTime(t *testing.T) {
	c := newComputer()
	b := newBootClock(c)
	last := c.now(b)
	for _, strange := range []bool{true, false} {
		c.strange, c.asks = strange, 0
		for range 3 {
			now := c.now(b)
			if now < last || now > time.Duration(c.true) {
				t.Errorf("%v after %v at %v", now, last, time.Duration(c.true))
			}
			last = now
		}
		if c.asks != 3 {
			t.Errorf("the kernel was asked %d times, want 3", c.asks)
		}
	}

	// A bubble of testing/synctest has both clocks, and neither is real.
	c = newComputer()
	b = newBootClock(c)
	if c.do(func() { c.asleep -= 30 * 365 * day }); c.now(b) > time.Duration(c.true) {
		t.Error("a bubble's clock was taken for the machine's")
	}
}

// No answer is before one that anybody has got, while the machine is suspended
// and the wall clock is set all the time.
func TestBootClockNeverGoesBack(t *testing.T) {
	c := newComputer()
	b := newBootClock(c)
	c.asks = 0
	var latest atomic.Int64
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2000 {
				before := latest.Load()
				now := int64(c.now(b))
				if now < before {
					t.Errorf("%v, and somebody has been told %v", time.Duration(now), time.Duration(before))
					return
				}
				for old := latest.Load(); old < now && !latest.CompareAndSwap(old, now); old = latest.Load() {
				}
				switch i := i + 500*worker; i % 20 {
				case 3:
					c.suspend(time.Duration(i%40) * time.Microsecond)
				case 9:
					c.set(time.Duration(i%7-3) * 8 * time.Microsecond)
				case 15:
					c.run(time.Duration(i%90) * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	if c.asks < 100 || c.asks > 32000 {
		t.Errorf("the kernel was asked %d times for 8000 answers: either way is hardly tried", c.asks)
	}
}

// An offset holds until any reader finds a larger one: a smaller one
// is of an answer that took longer, and would turn the clock back.
func TestBootClockKeepsTheLargestOffset(t *testing.T) {
	b := newBootClock(newComputer())
	var largest atomic.Int64
	largest.Store(b.anchor.Load().offset)
	var all sync.WaitGroup
	for worker := range int64(4) {
		all.Go(func() {
			for i := range int64(20_000) {
				before := largest.Load()
				offset := before + (i*7+worker)%5 - 2
				// Each sees the wall clock set, so each has something to tell.
				got := b.learn(reading{wall: (i*4 + worker) * day}, offset, true)
				if got < before || got < offset {
					t.Errorf("offset %d after %d and %d were found", got, before, offset)
					return
				}
				for old := before; old < got && !largest.CompareAndSwap(old, got); old = largest.Load() {
				}
			}
		})
	}
	all.Wait()
}
