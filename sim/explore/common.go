package explore

import (
	"fmt"
	"time"
)

// model is a state of a small world, of whatever kind. Actions change it.
type model interface {
	load(state []byte)      // makes it the one that was written as state, which must stay as it is
	again(a Action)         // makes it the one that was read last, after an action
	append(b []byte) []byte // brings it into its plainest form and writes that
	written() phase         // is the phase, with its candidate named by where it was written
	leads() bool            // reports whether somebody believes, or nobody is there

	actions(list []Action) []Action
	apply(a Action)
	describe(a Action) string
	fork(planned []uint8) model // is an independent copy, whose dice fall as planned
	tidyMessages()
	shared() *common
}

// newModel is the world of the settings before anything has begun.
func newModel(set *Settings, plant *plant) model {
	switch {
	case set.Stores > 0:
		return newMajority(set, plant)
	case set.Elections > 0:
		return newWitnessed(set, plant)
	default:
		return newWorld(set, plant)
	}
}

// foldOf is the hash of a concrete world's plainest form. The world stays as it is.
func foldOf(w model) uint64 { return hash(w.fork(nil).append(nil)) }

// common is what small worlds of all kinds have.
type common struct {
	set   *Settings
	plant *plant
	now   time.Duration
	left  [limits]uint8

	broken       string      // what the last action broke
	observations Observation // what it showed
	phase        phase
	events       []event // what it did, for those who read
	tells        bool    // events are wanted
	folded       bool    // the world was read
	random       dice
}

func newCommon(set *Settings, plant *plant) common {
	c := common{set: set, plant: plant, now: epoch}
	for l, n := range set.Limits {
		c.left[l] = uint8(n)
	}
	return c
}

func (c *common) shared() *common { return c }

// reset forgets what the last action did.
func (c *common) reset() { c.broken, c.observations, c.events = "", 0, c.events[:0] }

// fail notes what is broken. The first of several counts.
func (c *common) fail(format string, args ...any) {
	if c.broken == "" {
		c.broken = fmt.Sprintf(format, args...)
	}
}

// say notes what happens, if somebody reads it.
func (c *common) say(format string, args ...any) {
	if c.tells {
		c.events = append(c.events, event(fmt.Sprintf(format, args...)))
	}
}

// spend uses up one of a limit.
func (c *common) spend(l Limit) {
	if c.left[l] != Endless {
		c.left[l]--
	}
}

// appendLimits writes what is left of those limits that are counted.
func (c *common) appendLimits(b []byte) []byte {
	for l, n := range c.set.Limits {
		if n != 0 && n != Endless {
			b = append(b, c.left[l])
		}
	}
	return b
}

// loadLimits reads what appendLimits wrote.
func (c *common) loadLimits(b []byte) (rest []byte) {
	for l, n := range c.set.Limits {
		c.left[l] = uint8(n)
		if n != 0 && n != Endless {
			c.left[l], b = b[0], b[1:]
		}
	}
	return b
}

// elected notes that the candidate at a place was elected, and what is seen by that.
func (c *common) elected(place int) {
	var saw Observation
	c.phase, saw = c.phase.elected(place)
	c.observations |= saw
}

// lost notes that the candidate at a place has lost its term.
func (c *common) lost(place int) { c.phase = c.phase.lost(place) }
