package calibration

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/contrast"
)

// The limits beyond which the worlds differ. Two samples differ if they are
// further apart than chance explains and than matters: with enough runs, any
// simulator differs from the real thing.
const (
	// Chance is the probability of saying that a scenario's worlds differ although
	// they are the same. It is divided among the tests of one scenario (C. E.
	// Bonferroni), so that many of them raise no more false alarms than one.
	Chance = 0.01
	// Area is how far apart the curves of the total time of failovers, or of their
	// excess, may lie on average, as a share of the lease.
	Area = 0.01
	// Variation is how much of what happens may happen in another order: the total
	// variation distance.
	Variation = 0.2
	// Count is how many failovers more, or fewer, a run may have on average.
	Count = 0.5

	maxPairs = 5
)

// Comparison is what was found out about one scenario. Durations of samples are
// milliseconds.
type Comparison struct {
	Scenario   string
	Lease      time.Duration
	One, Other World
	Figures    []Figure
	Orders     []Order

	// Verdict is fail if the worlds' verdicts differ, or the promises that are
	// broken in them; else unknown if anything else differs by more than chance and
	// the limits allow, or a run is undecided; else pass. It is about the worlds: an
	// elector may break its promises in both of them alike.
	Verdict     checker.Verdict
	Differences []string // a sentence for each

	_ struct{}
}

// Sample is the runs of one scenario in one world.
type Sample struct {
	World string // what sentences call it: live, virtual, bubble
	Runs  []Run

	_ struct{}
}

// World sums up the runs in one world.
type World struct {
	Name                            string
	Runs, Passed, Failed, Undecided int
	Broken                          []Broken // in the order of checker.Promises
	Reason                          string   // of the first finding that is undecided
	Failovers, LeftOut              int
	Road                            Road
}

// Broken says in how many runs a promise was broken.
type Broken struct {
	Promise checker.Promise
	Runs    int
}

// Verdict is that of a world's runs together: fail if one failed, else unknown
// if one is undecided or there is none, else pass.
func (w World) Verdict() checker.Verdict {
	switch {
	case w.Failed > 0:
		return checker.Fail
	case w.Undecided > 0 || w.Runs == 0:
		return checker.Unknown
	default:
		return checker.Pass
	}
}

// Test is how far apart two samples are, and what of that is chance.
type Test struct {
	Compared bool    // both worlds have something to compare
	Distance float64 // Kolmogorov-Smirnov or total variation, 0 to 1; for a count, the difference of the means
	Usual    float64 // the mean of that distance if both worlds were the same and only chance at work
	Chance   float64 // the probability that chance makes it as large
	Differs  bool    // beyond chance and beyond the limit; never for a figure that has no say
}

// Figure is one figure of the failovers in both worlds.
type Figure struct {
	Name       string
	One, Other []float64 // one value a failover, or a span; of the failovers' number, one value a run
	Test
	Area float64 // between the two curves, in the figure's unit
	Say  bool    // the figure has a say in the verdict; the parts only show where a difference comes from
}

// Order is the order of events in the failovers with one cause; Cause "" is how
// the failovers share among the causes.
type Order struct {
	Cause      string
	One, Other int // failovers
	Test
	Pairs []Pair // those that differ most, if any do
}

// Pair is two events that follow each other, and the share that they have of
// all such pairs.
type Pair struct {
	First, Second string
	One, Other    float64
}

// Compare compares the runs of one scenario in two worlds. It draws lots, always
// the same ones: the same runs give the same answer. For its probabilities to be
// fine enough there should be some hundreds of runs of the other world, and many
// times as many as of the one.
func Compare(scenario string, lease time.Duration, one, other Sample) Comparison {
	c := Comparison{Scenario: scenario, Lease: lease, One: worldOf(one), Other: worldOf(other)}
	if len(one.Runs) > 0 && len(other.Runs) > 0 {
		all, l := slices.Concat(one.Runs, other.Runs), contrast.New(len(one.Runs), len(other.Runs))
		c.Figures = figures(all, l)
		c.Orders = orders(all, l)
		c.limit()
	}
	c.judge()
	return c
}

func worldOf(of Sample) World {
	w := World{Name: of.World, Runs: len(of.Runs)}
	broken := map[checker.Promise]int{}
	for _, r := range of.Runs {
		switch r.Verdict {
		case checker.Pass:
			w.Passed++
		case checker.Fail:
			w.Failed++
		default:
			w.Undecided++
		}
		for _, p := range r.Broken {
			broken[p]++
		}
		if w.Reason == "" && len(r.Undecided) > 0 {
			w.Reason = string(r.Undecided[0].Promise) + ": " + r.Undecided[0].Reason
		}
		w.Failovers += len(r.Failovers)
		w.LeftOut += r.LeftOut
		w.Road.Renewals = append(w.Road.Renewals, r.Road.Renewals...)
		w.Road.Acquisitions = append(w.Road.Acquisitions, r.Road.Acquisitions...)
		w.Road.Lateness = append(w.Road.Lateness, r.Road.Lateness...)
		w.Road.Starts = append(w.Road.Starts, r.Road.Starts...)
	}
	for _, p := range checker.Promises {
		if broken[p] > 0 {
			w.Broken = append(w.Broken, Broken{p, broken[p]})
		}
	}
	return w
}

// Names of the figures that have a say.
const (
	Total      = "total"
	Excess     = "excess"
	Leaderless = "leaderless"
	Failovers  = "failovers a run"
)

// figures compares what the failovers took, how long nobody led, and how many
// failovers there were.
func figures(runs []Run, l *contrast.Test) []Figure {
	var out []Figure
	for _, f := range []struct {
		name string
		say  bool
		of   func(Failover) time.Duration
	}{
		{Total, true, func(f Failover) time.Duration { return f.Total }},
		{Excess, true, func(f Failover) time.Duration { return f.Excess }},
		{"wait", false, func(f Failover) time.Duration { return f.Wait }},
		{"detect", false, func(f Failover) time.Duration { return f.Detect }},
		{"acquire", false, func(f Failover) time.Duration { return f.Acquire }},
		{"announce", false, func(f Failover) time.Duration { return f.Announce }},
	} {
		values := make([][]float64, len(runs))
		for i, r := range runs {
			for _, failover := range r.Failovers {
				values[i] = append(values[i], f.of(failover).Seconds()*1000)
			}
		}
		out = append(out, figure(f.name, f.say, values, l))
	}
	spans := make([][]float64, len(runs))
	for i, r := range runs {
		for _, span := range r.Leaderless {
			spans[i] = append(spans[i], span.Seconds()*1000)
		}
	}
	out = append(out, figure(Leaderless, true, spans, l))
	perRun := make([][]float64, len(runs))
	for i, r := range runs {
		perRun[i] = []float64{float64(len(r.Failovers))}
	}
	f := figure(Failovers, true, perRun, l)
	numbers := slices.Concat(perRun...)
	f.Distance, f.Usual, f.Chance = l.Judge(func(one []bool) float64 { return means(numbers, one) })
	return append(out, f)
}

func figure(name string, say bool, values [][]float64, l *contrast.Test) Figure {
	f := Figure{Name: name, Say: say, One: slices.Concat(values[:l.One]...), Other: slices.Concat(values[l.One:]...)}
	if f.Compared = len(f.One) > 0 && len(f.Other) > 0; f.Compared {
		s := sampleOf(values)
		_, f.Area = s.apart(l.AsIs())
		f.Distance, f.Usual, f.Chance = l.Judge(func(one []bool) float64 {
			largest, _ := s.apart(one)
			return largest
		})
	}
	return f
}

// orders compares the causes of the failovers, and for each of them what
// follows what.
func orders(runs []Run, l *contrast.Test) []Order {
	causes := map[string]bool{}
	for _, r := range runs {
		for _, f := range r.Failovers {
			causes[f.Cause] = true
		}
	}
	if len(causes) == 0 {
		return nil
	}
	out := []Order{order("", runs, l, func(f Failover) []pair { return []pair{{"cause", f.Cause}} })}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		out = append(out, order(cause, runs, l, func(f Failover) []pair {
			if f.Cause != cause {
				return nil
			}
			return pairs(f.Steps)
		}))
	}
	return out
}

type pair struct{ first, second string }

// pairs are the steps that follow each other.
func pairs(steps []string) []pair {
	var out []pair
	for i := 1; i < len(steps); i++ {
		out = append(out, pair{steps[i-1], steps[i]})
	}
	return out
}

// order compares how often each pair occurs.
func order(cause string, runs []Run, l *contrast.Test, of func(Failover) []pair) Order {
	o := Order{Cause: cause}
	number := map[pair]int{}
	var names []pair
	rows := make([][]float64, len(runs))
	for i, r := range runs {
		for _, f := range r.Failovers {
			found := of(f)
			if len(found) > 0 && i < l.One {
				o.One++
			} else if len(found) > 0 {
				o.Other++
			}
			for _, p := range found {
				if _, known := number[p]; !known {
					number[p], names = len(names), append(names, p)
				}
				rows[i] = append(rows[i], make([]float64, max(0, len(names)-len(rows[i])))...)
				rows[i][number[p]]++
			}
		}
	}
	if o.Compared = o.One > 0 && o.Other > 0; !o.Compared {
		return o
	}
	c := countsOf(rows, len(names))
	o.Distance, o.Usual, o.Chance = l.Judge(c.variation)
	o.Pairs = c.farthest(names, l.AsIs())
	return o
}

// farthest are the things whose shares differ most.
func (c counts) farthest(names []pair, one []bool) []Pair {
	sums, of, all := make([]float64, len(names)), 0.0, 0.0
	for i, row := range c.rows {
		for k, n := range row {
			all += n
			if one[i] {
				sums[k] += n
				of += n
			}
		}
	}
	var out []Pair
	for k, n := range sums {
		out = append(out, Pair{names[k].first, names[k].second, n / of, (c.total[k] - n) / (all - of)})
	}
	apart := func(p Pair) float64 { return max(p.One-p.Other, p.Other-p.One) }
	out = slices.DeleteFunc(out, func(p Pair) bool { return apart(p) < 0.001 })
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(apart(b), apart(a)), strings.Compare(a.First, b.First), strings.Compare(a.Second, b.Second))
	})
	return out[:min(len(out), maxPairs)]
}
