package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
)

// Cell is what came of one subject in one scenario and one world.
type Cell struct {
	Subject, Scenario, World string

	Why  string // why the scenario does not apply; "" if it does
	Runs []Run

	Shortest *Evidence // the shortest history that shows what is broken; nil if nothing is
}

// Broken says in how many runs a promise was broken.
type Broken struct {
	Promise checker.Promise
	Runs    int
	Reason  string // in the first of them
}

// Verdict is fail if a promise was broken in a run, else unknown if a run is
// undecided or there is none, else pass.
func (c *Cell) Verdict() checker.Verdict {
	return checker.Fold(func(yield func(checker.Verdict) bool) {
		for i := range c.Runs {
			if !yield(c.Runs[i].verdict()) {
				return
			}
		}
	})
}

// verdict is pass only for a whole run.
func (r *Run) verdict() checker.Verdict {
	if r.Trouble != "" && r.Verdict == checker.Pass {
		return checker.Unknown
	}
	return r.Verdict
}

// Count is how many of the runs came out so.
func (c *Cell) Count(v checker.Verdict) int {
	n := 0
	for i := range c.Runs {
		if c.Runs[i].verdict() == v {
			n++
		}
	}
	return n
}

// Broken are the promises that were broken, in the order in which promises are
// reported.
func (c *Cell) Broken() []Broken {
	var all []Broken
	for _, p := range checker.Promises {
		b := Broken{Promise: p}
		for i := range c.Runs {
			if !slices.Contains(c.Runs[i].Broken, p) {
				continue
			}
			if b.Runs == 0 {
				b.Reason = c.Runs[i].Reasons[p]
			}
			b.Runs++
		}
		if b.Runs > 0 {
			all = append(all, b)
		}
	}
	return all
}

// First is the promise that is broken first in the most runs; where two are so
// in as many, the one that is reported first. "" if none is broken.
func (c *Cell) First() checker.Promise {
	var name checker.Promise
	most := 0
	for _, p := range checker.Promises {
		n := 0
		for i := range c.Runs {
			if c.Runs[i].First == p {
				n++
			}
		}
		if n > most {
			most, name = n, p
		}
	}
	return name
}

// Undecided says why the cell is not decided, or not wholly: the reason of the
// first run that is not. "" if every run is.
func (c *Cell) Undecided() string {
	for i := range c.Runs {
		r := &c.Runs[i]
		switch {
		case r.verdict() != checker.Unknown:
		case r.Trouble != "":
			return r.Trouble
		case len(r.Undecided) > 0:
			return fmt.Sprintf("%s: %s", r.Undecided[0].Promise, r.Undecided[0].Reason)
		}
	}
	if len(c.Runs) == 0 && c.Why == "" {
		return "it was not run: the trial was stopped before"
	}
	return ""
}

// Failovers are the total times of the failovers in all runs, and their excess.
// Those during which the machine stalled are only counted.
func (c *Cell) Failovers() (total, excess []time.Duration, leftOut int) {
	for i := range c.Runs {
		for _, f := range c.Runs[i].Failovers {
			total, excess = append(total, f.Total), append(excess, f.Excess)
		}
		leftOut += c.Runs[i].LeftOut
	}
	return total, excess, leftOut
}

// TwoLed is the longest time in which two candidates believed, in any run.
func (c *Cell) TwoLed() time.Duration {
	longest := time.Duration(0)
	for i := range c.Runs {
		longest = max(longest, c.Runs[i].TwoLed)
	}
	return longest
}

// Stale is the largest number of stale writes that were accepted in a run.
func (c *Cell) Stale() int {
	most := 0
	for i := range c.Runs {
		most = max(most, c.Runs[i].Stale)
	}
	return most
}

// error is the largest error of the clocks in any run.
func (c *Cell) error() time.Duration {
	largest := time.Duration(0)
	for i := range c.Runs {
		largest = max(largest, c.Runs[i].Error)
	}
	return largest
}

// decides reports whether a promise was kept or broken in any run: it was asked
// for there and came to a verdict.
func (c *Cell) decides(p checker.Promise) bool {
	return slices.ContainsFunc(c.Runs, func(r Run) bool {
		if r.Verdict == checker.Unknown && len(r.Undecided) == 0 {
			return false // there was no history
		}
		return !slices.ContainsFunc(r.Undecided, func(f checker.Finding) bool { return f.Promise == p })
	})
}
