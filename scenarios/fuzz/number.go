package fuzz

import (
	"math/rand/v2"

	"pgregory.net/rapid"
)

// A case is drawn from its number, and from nothing else. The first case of a
// run has the run's seed as its number, so one number repeats any case of any
// run. What the map has shown steers which numbers are tried, and not how a case
// is drawn.

// first is the number of the first case of a run with that seed. No case has
// the number 0, which to rapid means any.
func first(seed uint64) uint64 {
	if seed == 0 {
		return numberOf(rand.NewPCG(0, 0))
	}
	return seed
}

// numberOf is the next number of a generator. It has 53 bits, so that it
// survives a program that reads JSON numbers as floating point.
func numberOf(source *rand.PCG) uint64 { return max(source.Uint64()>>11, 1) }

// candidates is how many numbers are drawn for each case, of which one is tried.
const candidates = 32

// number is that of the i-th case: the generator of seed and i draws some, and
// picks the one whose leaning agrees best with what w asks for, mostly. Other
// seeds have other numbers, neighbours too.
func (f *fuzzer) number(i int, w *Weights) uint64 {
	if i == 0 {
		return first(f.Seed)
	}
	source := rand.NewPCG(f.Seed, uint64(i))
	if f.Even {
		return numberOf(source)
	}
	var numbers [candidates]uint64
	var sums [candidates]float64
	sum := 0.
	for k := range numbers {
		numbers[k] = numberOf(source)
		sum += agreement(leaning(numbers[k]), w)
		sums[k] = sum
	}
	at := rand.New(source).Float64() * sum
	for k := range numbers {
		if at < sums[k] {
			return numbers[k]
		}
	}
	return numbers[candidates-1]
}

// surely is the weight of the position to which a leaning turns a dial, beside
// 1 of each other one.
const surely = 100

// leaning are the weights with which the case of that number is drawn: a
// position of every dial, nearly always, and some kinds of faults more often
// than others.
func leaning(number uint64) *Weights {
	random := rand.New(rand.NewPCG(number, 1))
	w := even()
	for i := range w.faults {
		w.faults[i] = (plain << random.IntN(3)) / 2 // half as often, as often, or twice as often
	}
	for dial, n := range positions {
		w.dials[dial] = repeated(1, n)
		w.dials[dial][random.IntN(n)] = surely
	}
	return w
}

// agreement is how much a leaning favours what w favours: the product of the
// mean weights that w gives to what the leaning draws.
func agreement(leaning, w *Weights) float64 {
	product := mean(leaning.faults, w.faults)
	for dial := range positions {
		product *= mean(leaning.dials[dial], w.dials[dial])
	}
	return product
}

// mean is the mean of values, by weight.
func mean(weights, values []int) float64 {
	sum, all := 0, 0
	for i, w := range weights {
		sum += w * values[i]
		all += w
	}
	return float64(sum) / float64(all)
}

// cases draws cases of one number.
func (p Pins) cases(number uint64) *rapid.Generator[Case] { return Cases(p, leaning(number)) }

// Draw is the case of that number, which must not be 0: the first one that Run
// tries with it as its seed.
func Draw(p Pins, number uint64) Case { return p.cases(number).Example(int(number)) }
