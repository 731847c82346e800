package contrast

import "math/rand/v2"

// draws is how often chance is tried: the smallest probability that can be
// shown is one in so many.
const draws = 4000

// Test draws which units are those of the one side, again and again.
//
// That is a permutation test, mostly with whole runs as its units, since the values of one run
// are not independent of each other: they share a schedule, and the phase of the renewals. If
// both sides were the same, every choice of that many units out of all would be as likely as
// those that are called by the side's name, and the answer is exact whatever the distribution
// (E. J. G. Pitman, "Significance tests which may be applied to samples from any populations",
// 1937).
type Test struct {
	One int // how many they are

	units  int
	random *rand.Rand
	order  []int
	chosen []bool
}

// New is a test of so many units on either side.
func New(one, other int) *Test {
	t := &Test{units: one + other, One: one, random: rand.New(rand.NewPCG(1, 2))} // the same samples, the same answer
	t.order, t.chosen = make([]int, t.units), make([]bool, t.units)
	for i := range t.order {
		t.order[i] = i
	}
	return t
}

// AsIs chooses the units of the one side: the first ones. What it returns is valid up to the
// next choice.
func (t *Test) AsIs() []bool {
	for i := range t.chosen {
		t.chosen[i] = i < t.One
	}
	return t.chosen
}

// draw chooses as many at random.
func (t *Test) draw() []bool {
	clear(t.chosen)
	for i := range t.One {
		j := i + t.random.IntN(t.units-i)
		t.order[i], t.order[j] = t.order[j], t.order[i]
		t.chosen[t.order[i]] = true
	}
	return t.chosen
}

// rounding is how far two distances may be apart and be the same.
const rounding = 1e-9

// Judge returns a distance as it is, its mean where only chance is at work,
// and how probable it is that chance makes it as large. The argument of
// distance says of each unit whether it is of the one side. distance must not keep it.
func (t *Test) Judge(distance func(one []bool) float64) (observed, usual, chance float64) {
	observed = distance(t.AsIs())
	reached, sum := 1, 0.0 // the observed one is one of the choices
	for range draws {
		d := distance(t.draw())
		sum += d
		if d >= observed-rounding {
			reached++
		}
	}
	return observed, sum / draws, float64(reached) / (draws + 1)
}
