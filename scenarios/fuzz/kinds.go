package fuzz

import (
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
)

// kind is a fault that can be drawn.
type kind struct {
	name    string
	fault   int // its place in the catalogue
	example faults.Fault
	beyond  bool // beyond what the elector promises: see Case.Judge
	draw    func(t *rapid.T, c *Case) faults.Fault
}

// in reports whether schedules of that temper have such faults.
func (k *kind) in(temper int) bool {
	switch {
	case temper == beyond:
		return true
	case temper == apart:
		return k.example.Effect().Simple
	case temper == gentle && k.name == faults.StoreClockJump{}.Name():
		return true // by less than the leader can bear
	default:
		return !k.beyond
	}
}

// kinds are all of them, the plainest first.
var kinds = allKinds()

// Kinds that rule others out.
var (
	pauseBeforeWrite = kindOf(faults.PauseBeforeWrite{})
	pause            = kindOf(faults.Pause{})
	suspend          = kindOf(faults.Suspend{})
	resign           = kindOf(faults.Resign{})
)

// kindOf is the first kind of faults of that name.
func kindOf(f faults.Fault) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.name == f.Name() })
}

func allKinds() []kind {
	fixed := func(f faults.Fault) kind {
		e := f.Effect()
		return kind{name: f.Name(), beyond: e.Void, draw: func(*rapid.T, *Case) faults.Fault { return f }}
	}
	all := []kind{fixed(faults.Crash{}), fixed(faults.Pause{})}
	for _, how := range faults.Cuts {
		all = append(all, fixed(faults.Partition{How: how}))
	}
	all = append(all,
		fixed(faults.Resign{}),
		kind{name: faults.Latency{}.Name(), draw: drawLatency},
		kind{name: faults.Bandwidth{}.Name(), draw: drawBandwidth},
		fixed(faults.PauseBeforeWrite{}),
		kind{name: faults.ClockRate{}.Name(), draw: drawRate},
		kind{name: faults.ClockJump{}.Name(), draw: drawJump},
		fixed(faults.StorePause{}),
		fixed(faults.StoreCrash{KeepData: true}),
		fixed(faults.ScriptsFlushed{}),
		fixed(faults.KeyDeleted{}),
		fixed(faults.StoreCrash{}),
		fixed(faults.StoreFlush{}),
		fixed(faults.Eviction{}),
		fixed(faults.TTLRemoved{}),
		fixed(faults.KeyOverwritten{}),
		kind{name: faults.CounterDeleted{}.Name(), beyond: true, draw: func(*rapid.T, *Case) faults.Fault { return faults.CounterDeleted{} }},
		kind{name: faults.StoreRewind{}.Name(), beyond: true, draw: func(t *rapid.T, c *Case) faults.Fault {
			return faults.StoreRewind{By: part(t, c)}
		}},
		kind{name: faults.StoreFailover{}.Name(), beyond: true, draw: func(t *rapid.T, c *Case) faults.Fault {
			return faults.StoreFailover{Lag: part(t, c)}
		}},
		kind{name: faults.StoreSplit{}.Name(), beyond: true, draw: func(t *rapid.T, c *Case) faults.Fault {
			return faults.StoreSplit{Lag: part(t, c)}
		}},
		kind{name: faults.StoreClockJump{}.Name(), draw: drawStoreJumpBack},
		kind{name: faults.StoreClockJump{}.Name(), beyond: true, draw: drawStoreJump},
		kind{name: faults.ClockRate{}.Name(), beyond: true, draw: drawRateBeyond},
		fixed(faults.Suspend{}),
	)
	for i := range all {
		all[i].fault = slices.Index(faultNames, all[i].name)
		all[i].example = faults.Catalogue()[all[i].fault]
	}
	return all
}

// drawLatency is from next to nothing to half a lease each way.
func drawLatency(t *rapid.T, c *Case) faults.Fault {
	base := max(c.Timings.Lease*time.Duration(1+thousandths.Draw(t, "latency"))/2000, 5*time.Millisecond)
	jitter := base * time.Duration(pick(t, "jitter", []int{2, 1, 1, 1, 1})) / 4
	return faults.Latency{Base: base.Round(time.Millisecond), Jitter: jitter.Truncate(time.Millisecond)}
}

func drawBandwidth(t *rapid.T, _ *Case) faults.Fault {
	return faults.Bandwidth{Kilobytes: 1 + thousandths.Draw(t, "bandwidth")%16}
}

// nearDrift is how much of the tolerated drift is used: close to the limit,
// and on the safe side of it.
const nearDrift = 0.95

func drawRate(t *rapid.T, c *Case) faults.Fault {
	side := float64(1 - 2*pick(t, "fast or slow", []int{1, 1})) // slow is the one that hurts
	share := float64(1+thousandths.Draw(t, "rate")) / 1000
	return faults.ClockRate{Rate: micro(1 - side*share*nearDrift*c.Drift)}
}

func drawRateBeyond(t *rapid.T, c *Case) faults.Fault {
	return faults.ClockRate{Rate: []float64{0.5, 0.8, micro(1 - 3*c.Drift), 1.5, 0.1}[pick(t, "rate", []int{1, 1, 2, 1, 1})]}
}

func micro(rate float64) float64 { return math.Round(rate*1e6) / 1e6 }

func drawJump(t *rapid.T, _ *Case) faults.Fault {
	offset := []time.Duration{time.Hour, time.Minute, -time.Minute, -24 * time.Hour, time.Second}[pick(t, "offset", []int{1, 1, 1, 1, 1})]
	return faults.ClockJump{Offset: offset}
}

// part is from a thousandth of a lease to a whole one.
func part(t *rapid.T, c *Case) time.Duration {
	d := c.Timings.Lease * time.Duration(1+thousandths.Draw(t, "part")) / 1000
	return max(d.Round(time.Millisecond), time.Millisecond)
}

// drawStoreJumpBack makes every lease longer.
func drawStoreJumpBack(t *rapid.T, c *Case) faults.Fault {
	return faults.StoreClockJump{By: -part(t, c)}
}

// drawStoreJump is from a thousandth of a lease to twice as much as one.
func drawStoreJump(t *rapid.T, c *Case) faults.Fault {
	by := c.Timings.Lease * time.Duration(1+thousandths.Draw(t, "jump")) / 500
	return faults.StoreClockJump{By: max(by.Round(time.Millisecond), time.Millisecond)}
}
