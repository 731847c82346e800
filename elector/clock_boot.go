package elector

import (
	"math"
	"sync/atomic"
	"time"
)

// How far a bootClock trusts its own readings. Together they bound how late it
// can be: 2 × noise + narrow = 40 µs, of the millisecond by which a deadline is
// earlier than the drift demands.
const (
	// noise is by how much the distance of wall and monotonic clock may seem
	// to change. The two are read some 25 ns apart; what an interrupt puts
	// between them only costs a question.
	noise = int64(10 * time.Microsecond)
	// narrow is how long a question may take for its answer to be kept.
	narrow = int64(20 * time.Microsecond)
	// fresh is for how long an answer is kept. It is what bounds the harm of
	// the one coincidence that no reading shows; see anchor.trusts.
	fresh = int64(time.Second)
	// attempts is how often a question is repeated that was held up.
	attempts = 4
)

// reading is one look at both clocks, in nanoseconds.
type reading struct{ wall, mono int64 }

// distance is what a suspension changes: the wall clock goes on in one and the
// monotonic clock does not.
func (r reading) distance() int64 { return r.wall - r.mono }

// anchor is what the kernel's boot time has told about the other two clocks. It
// never changes; a new one takes its place.
type anchor struct {
	distance int64 // of wall and monotonic clock
	offset   int64 // of boot time and monotonic clock: at most the true one
	kept     bool  // the two were seen together, at one moment
	useless  bool  // the readings are not the kernel's: only the kernel is trusted
}

// trusts reports whether boot time is the monotonic clock's r.mono and the offset,
// or has to be asked for. asked is when, on the monotonic clock, it last was.
//
// Why the distance is enough: Linux moves boot time by one and the same call by
// which it moves the wall clock away from the monotonic one, after a suspension.
// NTP slews wall and monotonic clock alike, for they are one counter with one
// rate, so between suspensions the distance does not drift at all. Setting the
// wall clock changes it, and costs one question. In other words, the wall clock
// measures, and the monotonic clock vouches for it: the boot time so found is
// not earlier, but for noise and narrow, than it was when the wall clock was
// read, even if the process stood still between the two readings.
//
// What deceives it is a wall clock that is set back by exactly the length of a
// suspension, to within 10 µs. Nothing that sets clocks does: NTP and the
// hypervisor correct errors of the time shown, and a machine that wakes up shows
// the right time but for its error. Were it to happen, it would last for fresh.
// A virtual machine that is restored and told nothing shows on none of its
// clocks that it stood still, boot time included: there, as ever, the fence.
func (a *anchor) trusts(r reading, asked int64) bool {
	return a.kept && abs(r.distance()-a.distance) <= noise && r.mono-asked <= fresh
}

// clocks are what a bootClock reads.
type clocks interface {
	// read looks at both clocks. It reports false if Go gives no monotonic
	// reading, which it does not before 1885 and after 2157.
	read() (reading, bool)
	// boot asks the kernel for the time since the machine was booted.
	boot() int64
}

// bootClock is the kernel's boot time at the price of a look at two clocks that
// need no system call. It never goes back, for all goroutines together: each
// answer is a monotonic reading and the anchor's offset, and no later anchor has
// a smaller offset. It is never ahead of boot time. So no span that it measures
// is too short by more than 2 × noise + narrow, and no term lasts longer.
type bootClock struct {
	anchor atomic.Pointer[anchor]
	asked  atomic.Int64 // on the monotonic clock
}

func newBootClock(c clocks) *bootClock {
	b := &bootClock{}
	b.anchor.Store(&anchor{offset: math.MinInt64})
	b.ask(c)
	return b
}

// at is the boot time at a reading, if that can be told from the reading.
func (b *bootClock) at(r reading) (now time.Duration, ok bool) {
	a := b.anchor.Load()
	return time.Duration(r.mono + a.offset), a.trusts(r, b.asked.Load())
}

// ask is the boot time by the kernel, which it remembers.
func (b *bootClock) ask(c clocks) time.Duration {
	for attempt := 1; ; attempt++ {
		old := b.anchor.Load()
		if old.useless {
			return time.Duration(c.boot())
		}
		before, ok := c.read()
		boot := c.boot()
		after, stillOK := c.read()
		if !ok || !stillOK || old.offset > boot-before.mono+noise {
			// A year for which Go keeps no monotonic time, or a bubble of
			// testing/synctest. For good: the kernel's answers are ahead of
			// the others by some nanoseconds, so to mix them is to go back.
			b.anchor.Store(&anchor{useless: true})
			return time.Duration(boot)
		}
		kept := after.mono-before.mono <= narrow && abs(after.distance()-before.distance()) <= noise
		offset := b.learn(after, boot-after.mono, kept)
		if kept || attempt == attempts {
			return time.Duration(after.mono + offset)
		}
	}
}

// learn makes an anchor of a reading and an offset that is at most the true
// one, and returns the offset that holds from now on, the largest ever found:
// so it comes closer to the true one from below with every question.
func (b *bootClock) learn(r reading, offset int64, kept bool) int64 {
	for {
		old := b.anchor.Load()
		if old.useless {
			return offset
		}
		next := &anchor{distance: r.distance(), offset: max(offset, old.offset), kept: kept}
		if old.offset == next.offset && (!kept || old.trusts(r, r.mono)) {
			next = old // nothing new
		}
		if next == old || b.anchor.CompareAndSwap(old, next) {
			if kept {
				b.asked.Store(r.mono)
			}
			return next.offset
		}
	}
}

func abs(d int64) int64 { return max(d, -d) }
