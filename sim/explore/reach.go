package explore

import "slices"

// reach is the graph of what may happen while nothing goes wrong: for each state,
// in the order of discovery, where it leads.
type reach struct {
	to   []uint32
	ends []uint64 // of each state's part of to, and 1 in the lowest bit if somebody leads there
}

// edge adds an edge from the state at hand.
func (r *reach) edge(to uint32) { r.to = append(r.to, to) }

// close ends the edges of the state at hand.
func (r *reach) close(leads bool) {
	r.ends = append(r.ends, uint64(len(r.to))<<1|uint64(flag(leads, 1)))
}

// stuck is the first state from which no way leads to one in which somebody leads.
// It goes backwards from those in which somebody does.
func (r *reach) stuck() (place uint32, is bool) {
	n := len(r.ends)
	starts := make([]uint32, n+1) // of each state's part of from
	for _, to := range r.to {
		starts[to+1]++
	}
	for i := range n {
		starts[i+1] += starts[i]
	}
	from := make([]uint32, len(r.to))
	filled := slices.Clone(starts[:n])
	edge := 0
	good := make([]bool, n)
	var queue []uint32
	for i := range n {
		for ; edge < int(r.ends[i]>>1); edge++ {
			to := r.to[edge]
			from[filled[to]] = uint32(i)
			filled[to]++
		}
		if r.ends[i]&1 != 0 {
			good[i] = true
			queue = append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		last := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, i := range from[starts[last]:starts[last+1]] {
			if !good[i] {
				good[i] = true
				queue = append(queue, i)
			}
		}
	}
	i := slices.Index(good, false)
	return uint32(max(i, 0)), i >= 0
}
