package fuzz

import "pgregory.net/rapid"

// Weights say what is to be drawn more often: by kind of fault, and by dial.
// They are not changed once a generator is made from them.
type Weights struct {
	faults []int        // of each kind of fault
	dials  [dials][]int // of each position of each dial
}

// A dial is one of the choices that shape a whole case, and whose positions
// lead to different places of the map.
const (
	dialLatency = iota // how slow the network is
	dialTargets        // whom the faults hit
	dialTimes          // how their times are chosen
	dialLength         // how long they last
	dialBurst          // how many follow each other at once
	dialCount          // how many there are
	dials
)

// positions is how many positions each dial has.
var positions = [dials]int{
	dialLatency: len(latencies), dialTargets: len(profiles), dialTimes: len(ways),
	dialLength: len(lengths), dialBurst: len(bursts), dialCount: len(counts),
}

// turned is where the dials stood when a case was drawn.
type turned [dials]uint8

// turn draws the position of a dial and notes it.
func (w *Weights) turn(t *rapid.T, c *Case, dial int) int {
	at := pick(t, "dial", w.dials[dial])
	c.drawn[dial] = uint8(at)
	return at
}

// plain is the weight of what nothing is known of, and the range of others.
const (
	plain    = 8
	lightest = 3
	heaviest = 32
)

// even are the weights of a fuzz run that knows nothing yet.
func even() *Weights {
	w := &Weights{faults: repeated(plain, len(kinds))}
	for dial, n := range positions {
		w.dials[dial] = repeated(plain, n)
	}
	return w
}

func repeated(value, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = value
	}
	return all
}

// orEven is w, or what stands in for it.
func (w *Weights) orEven() *Weights {
	if w == nil {
		return even()
	}
	return w
}
