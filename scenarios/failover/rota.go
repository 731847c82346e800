package failover

import (
	"cmp"
	"slices"
)

// rota is the order in which cells take their turns: forth, back, forth and so on (A B B A),
// so that what grows with time, or fades, meets all of them alike.
type rota struct {
	cells []*Cell
	turn  int
}

func newRota(cells []*Cell) *rota { return &rota{cells: cells} }

// pick returns the next cell that wants a run now; nil if none does, and then whether one may
// do later.
func (r *rota) pick(wants func(*Cell) (now, later bool)) (next *Cell, waiting bool) {
	for range 2 * len(r.cells) { // forth and back: everybody is asked
		at := r.turn % (2 * len(r.cells))
		if at >= len(r.cells) {
			at = 2*len(r.cells) - 1 - at
		}
		cell := r.cells[at]
		r.turn++
		now, later := wants(cell)
		if now {
			return cell, true
		}
		waiting = waiting || later
	}
	return nil, waiting
}

// order puts the runs into the order of their seeds.
func (c *Cell) order() {
	slices.SortFunc(c.Runs, func(a, b *Run) int { return cmp.Compare(a.Seed, b.Seed) })
}
