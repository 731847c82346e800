package crowd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Features are what is drawn in a case, each in a word or two. Some bite in every
// case; whether others did, the run says.
func (c Case) Features() []string {
	set := map[string]bool{
		"elections:" + magnitude(c.Elections, 1, 8, few):                               true,
		"round trip:" + magnitude(int(c.RoundTrip.Microseconds()), 1000, 10000, 50000): true,
		"databases:" + magnitude(c.Databases, 1):                                       true,
		"prefixes:" + magnitude(c.Prefixes, 1):                                         true,
		"names:" + c.Names.String():                                                    true,
		"crowded:" + fmt.Sprint(c.Crowded()):                                           true,
	}
	c.Greeting.features(func(feature string) { set["greeting:"+feature] = true })
	for _, m := range c.Processes {
		m.features(func(feature string) { set[feature] = true })
	}
	for _, a := range c.Acts {
		set["act:"+a.Kind.String()] = true
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// features tells those of a process.
func (m Manners) features(tell func(string)) {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"call:" + m.Call.String(), true},
		{"works:" + m.Works.String(), m.Works != AtOnce},
		{"stops:" + m.Stops.String(), m.Stops != AtOnce && m.Call <= Once},
		{"tells:" + m.Tells.String(), m.Tells != AtOnce},
		{"logs:" + m.Logs.String(), m.Logs != AtOnce},
		{"ends", m.Ends > 0},
		{"lease", m.Lease > 0}, {"drift", m.Drift > 0}, {"skew", m.Skew != 0}, {"pool", m.Pool > 0},
		{"priority", m.Priority > 0}, {"failback", m.Failback},
		{"releases", m.rolls()}, {"blind", m.has(func(r Release) bool { return r.Blind })}, {"uncounted", m.has(func(r Release) bool { return r.Uncounted })},
		{"unprotected", m.has(func(r Release) bool { return r.Unprotected })}, {"expire", m.has(func(r Release) bool { return r.Expire > 0 })},
		{"foreign", m.Foreign}, {"deaf", m.Deaf}, {"begins", m.Begins}, {"publishes", m.Publishes > 0},
	} {
		if f.has {
			tell(f.name)
		}
	}
}

// magnitude names the class of a number among those that end at the bounds.
func magnitude(n int, bounds ...int) string {
	least := 0
	for _, most := range bounds {
		if n <= most {
			return fmt.Sprintf("%d-%d", least, most)
		}
		least = most + 1
	}
	return fmt.Sprintf("%d+", least)
}

// drawnOnly are the features that have their effect in every case in which somebody
// is elected.
func drawnOnly(feature string) bool {
	name, _, _ := strings.Cut(feature, ":")
	return slices.Contains([]string{"elections", "round trip", "databases", "prefixes", "crowded", "names", "greeting"}, name)
}

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

// Add takes in a case, and what came of it.
func (v *Coverage) Add(c Case, o Outcome) {
	all := c.Features()
	count(v.drawn, all)
	led := slices.ContainsFunc(all, func(string) bool { return len(o.Bit) > 0 })
	count(v.bitten, slices.DeleteFunc(all, func(f string) bool { return !o.Bit[f] && !(led && drawnOnly(f)) }))
}

func count(in map[pair]int, features []string) {
	for i, one := range features {
		for _, two := range features[i:] {
			in[pair{one, two}]++
		}
	}
}

// candidates is how many numbers are looked at for each case, of which one is tried.
const candidates = 12

// Number is that of the i-th case of a run that begins with the number first. Every
// other one is any: an ordinary day has nothing rare. For the rest the generator of
// both draws some, and the one is tried whose case has most of what was rare so far. A
// case is drawn from its number and from nothing else, so one number
// repeats any case of any run.
func (v *Coverage) Number(first uint64, i int) uint64 {
	if i == 0 {
		return first
	}
	source := rand.New(rand.NewPCG(first, uint64(i))) // its numbers survive a program that reads them as floating point
	if i%2 == 0 {
		return source.Uint64() >> 11
	}
	var best uint64
	most := -1.
	for range candidates {
		number := source.Uint64() >> 11
		c := Draw(number)
		if worth := v.worth(c.Features()) / c.cost(); worth > most {
			best, most = number, worth
		}
	}
	return best
}

// cost grows with what a case costs: what many small ones show is worth as much as
// what a large one does.
func (c Case) cost() float64 { return math.Sqrt(float64(4 + c.Elections*len(c.Processes))) }

// worth is how rare it is on average what a case with such features would show. What
// was drawn often and never had an effect is worth little, too.
func (v *Coverage) worth(features []string) float64 {
	sum, n := 0., 0
	for i, one := range features {
		for _, two := range features[i:] {
			p := pair{one, two}
			sum += 1 / math.Sqrt(float64(1+v.drawn[p])*float64(1+v.bitten[p]))
			n++
		}
	}
	return sum / float64(max(n, 1))
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

// String shows the features with how often each was drawn and had an effect, the
// rarest first.
func (v *Coverage) String() string {
	features, bitten, pairs, pairsBitten := v.Share()
	var alone []pair
	for p := range v.drawn {
		if p.one == p.two {
			alone = append(alone, p)
		}
	}
	slices.SortFunc(alone, func(a, b pair) int {
		if d := v.bitten[a] - v.bitten[b]; d != 0 {
			return d
		}
		return strings.Compare(a.one, b.one)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "features: %d of %d that were drawn had an effect; in twos: %d of %d\n", bitten, features, pairsBitten, pairs)
	for _, p := range alone {
		fmt.Fprintf(&b, "%6d of %6d  %s\n", v.bitten[p], v.drawn[p], p.one)
	}
	return b.String()
}
