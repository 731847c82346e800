package search

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Coverage is what the cases of a run have drawn, and what of it had an effect: each
// feature, and each two in one case.
type Coverage struct {
	drawn, bitten map[pair]int
}

// pair is two features, the first of which is not after the second; one, if both
// are the same.
type pair struct{ one, two string }

// NewCoverage returns an empty one.
func NewCoverage() *Coverage { return &Coverage{map[pair]int{}, map[pair]int{}} }

// Add takes in the features of a case, and those that had an effect. Nil effects are
// those of a space that does not tell: then every feature had one.
func (v *Coverage) Add(features []string, effects map[string]bool) {
	count(v.drawn, features)
	count(v.bitten, slices.DeleteFunc(slices.Clone(features), func(f string) bool { return effects != nil && !effects[f] }))
}

func count(in map[pair]int, features []string) {
	for _, p := range pairsOf(features) {
		in[p]++
	}
}

// candidates is how many numbers are looked at for each case, of which one is tried.
const candidates = 12

// Number is that of the i-th case of a run that begins with the number first. Every
// other one is any: an ordinary day has nothing rare. For the rest the generator of
// both draws some, and the one is tried whose case has most of what was rare so far. A
// case is drawn from its number and from nothing else, so one number
// repeats any case of any run.
func (v *Coverage) Number(s *Space, first, i uint64) uint64 {
	if i == 0 {
		return first
	}
	source := rand.New(rand.NewPCG(first, i)) // its numbers survive a program that reads them as floating point
	if i%2 == 0 {
		return source.Uint64() >> 11
	}
	var best uint64
	most := -1.
	for range candidates {
		number := source.Uint64() >> 11
		c := s.Draw(number)
		if worth := v.worth(c.Features()) / c.Cost(); worth > most {
			best, most = number, worth
		}
	}
	return best
}

// worth is how rare it is on average what a case with such features would show. What
// was drawn often and never had an effect is worth little, too.
func (v *Coverage) worth(features []string) float64 {
	sum, all := 0., pairsOf(features)
	for _, p := range all {
		sum += 1 / math.Sqrt(float64(1+v.drawn[p])*float64(1+v.bitten[p]))
	}
	return sum / float64(max(len(all), 1))
}

// Share is how many features, and how many twos of them, were drawn, and how many of
// these had an effect.
func (v *Coverage) Share() (features, bitten, pairs, pairsBitten int) {
	for p := range v.drawn {
		hit := v.bitten[p] > 0
		if p.one == p.two {
			features++
			if hit {
				bitten++
			}
			continue
		}
		pairs++
		if hit {
			pairsBitten++
		}
	}
	return features, bitten, pairs, pairsBitten
}

// Feature is how often a feature was drawn, and how often it had an effect.
type Feature struct {
	Name      string
	Drawn     int
	Effective int
}

// Features are those that were drawn, those first that had an effect in the fewest cases.
func (v *Coverage) Features() (all []Feature) {
	for p, drawn := range v.drawn {
		if p.one == p.two {
			all = append(all, Feature{p.one, drawn, v.bitten[p]})
		}
	}
	slices.SortFunc(all, func(a, b Feature) int {
		return cmp.Or(a.Effective-b.Effective, strings.Compare(a.Name, b.Name))
	})
	return all
}

// String shows the features in a table.
func (v *Coverage) String() string {
	features, bitten, pairs, pairsBitten := v.Share()
	var b strings.Builder
	fmt.Fprintf(&b, "features: %d of %d that were drawn had an effect; in twos: %d of %d\n", bitten, features, pairsBitten, pairs)
	for _, f := range v.Features() {
		fmt.Fprintf(&b, "%6d of %6d  %s\n", f.Effective, f.Drawn, f.Name)
	}
	return b.String()
}
