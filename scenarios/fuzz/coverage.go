package fuzz

import "slices"

// Coverage is what the faults of a fuzz run have met, on a map of all that
// they can meet.
type Coverage struct {
	counts    []int  // by cell
	reachable []bool // by cell
	yields    [dials][]yield
}

// yield is what the cases with one position of a dial have brought to light.
type yield struct{ cases, finds int }

// rare is how often a cell counts as a find.
const rare = 4

// newCoverage is an empty map for cases with the given pins.
func newCoverage(p Pins) *Coverage {
	c := &Coverage{counts: make([]int, cells()), reachable: make([]bool, cells())}
	for i := range c.reachable {
		c.reachable[i] = cell(i).reachable(p)
	}
	for dial, n := range positions {
		c.yields[dial] = make([]yield, n)
	}
	return c
}

// add takes in what the faults of one case met.
func (c *Coverage) add(met []cell, drawn turned) {
	finds := 0
	for _, at := range met {
		if at < 0 {
			continue
		}
		if c.counts[at]++; c.counts[at] <= rare && c.reachable[at] {
			finds++
		}
	}
	for dial, at := range drawn {
		y := &c.yields[dial][at]
		y.cases++
		y.finds += finds
	}
}

// Cells are how many cells of the map can be reached, and how many of them
// were.
func (c *Coverage) Cells() (reached, reachable int) {
	for i, n := range c.counts {
		if !c.reachable[i] {
			continue
		}
		reachable++
		if n > 0 {
			reached++
		}
	}
	return reached, reachable
}

// Share is the share of the reachable cells that were reached.
func (c *Coverage) Share() float64 {
	reached, reachable := c.Cells()
	return float64(reached) / float64(max(reachable, 1))
}

// fault is how many cells of the fault can be reached, and how many of them
// were reached often enough to be no find any more.
func (c *Coverage) fault(fault int) (common, reachable int) {
	size := len(c.counts) / len(faultNames)
	for i := fault * size; i < (fault+1)*size; i++ {
		if c.reachable[i] {
			reachable++
			if c.counts[i] > rare {
				common++
			}
		}
	}
	return common, reachable
}

// steer returns the weights that lead to what was met rarely: faults with many
// rare cells, and positions of dials that have brought much to light.
func (c *Coverage) steer() *Weights {
	w := even()
	for i, k := range kinds {
		common, reachable := c.fault(k.fault)
		w.faults[i] = lightest + (heaviest-lightest)*(reachable-common)/max(reachable, 1)
	}
	for dial := range c.yields {
		var all yield
		for _, y := range c.yields[dial] {
			all.cases += y.cases
			all.finds += y.finds
		}
		for at, y := range c.yields[dial] {
			// Each position begins as if it had done as well as the average of
			// some cases: that is forgotten as soon as more is known of it.
			const prior = 16
			cases, finds := y.cases+prior, y.finds*all.cases+prior*all.finds
			if all.finds > 0 {
				w.dials[dial][at] = min(max(plain*finds/(cases*all.finds), lightest), heaviest)
			}
		}
	}
	return w
}

// Cell is a place on the map, in words.
type Cell struct {
	Fault     string
	Role      string
	Point     string // of the lease's life
	Call      string // under way; "" for none
	Count     int    // how often it was met
	Reachable bool
}

// Each shows every cell of the map, in the order in which it is drawn: by fault,
// role, point and call.
func (c *Coverage) Each(see func(Cell)) {
	for i, n := range c.counts {
		fault, role, point, call := cell(i).parts()
		see(Cell{faultNames[fault], roleNames[role], pointNames[point], string(calls[call]), n, c.reachable[i]})
	}
}

// Names of the map's rows and columns, in the order of Each.
func (c *Coverage) Names() (faults, roles, points []string) {
	return slices.Clone(faultNames), slices.Clone(roleNames[:]), slices.Clone(pointNames[:])
}
