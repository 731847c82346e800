package failover

// rota is the order in which cells take their turns: forth, back, forth and so on (A B B A),
// so that what grows with time, or fades, meets all of them alike.
type rota struct {
	cells []*Cell
	turn  int
}

// pick returns the next cell that wants a run; nil if none does.
func (r *rota) pick(wants func(*Cell) bool) *Cell {
	for range 2 * len(r.cells) { // forth and back: everybody is asked
		at := r.turn % (2 * len(r.cells))
		if at >= len(r.cells) {
			at = 2*len(r.cells) - 1 - at
		}
		r.turn++
		if wants(r.cells[at]) {
			return r.cells[at]
		}
	}
	return nil
}
