package search

import "github.com/recount-io/recount/history"

// Acquires of one node and for one time that are pending, and whose nonces no
// operation to come names, differ in nothing but in which of them are of one
// attempt: an attempt that is made more often can bring a lease and make it
// longer. So the nonces need not be kept apart, and an attempt that was made five
// times can do whatever one that was made three times and one that was made twice
// can do together.

// hasTwin reports whether an acquire before the i-th pending one differs from it in
// nothing but its nonce, which no operation to come names: the attempts were made
// as often, so which of them takes effect makes no difference.
func (m *leaseModel) hasTwin(s *leaseState, i int) bool {
	class, count := s.pending.record(i)
	c := &m.classes[class]
	if c.successor == none || s.now <= c.retires || s.nonce == c.nonce {
		return false
	}
	for j := range i {
		other, n := s.pending.record(j)
		o := &m.classes[other]
		if o.successor == c.successor && n == count && s.now > o.retires && s.nonce != o.nonce {
			return !m.shared(s.pending, class) && !m.shared(s.pending, other)
		}
	}
	return false
}

// attempts is the number of the class under which the acquires of the class are
// counted when their nonce makes no difference any more; none as long as it does.
func (m *leaseModel) attempts(s *leaseState, other pending, class int) int {
	c := &m.classes[class]
	switch {
	case c.call == history.Acquire && c.nonce == lonelyNonce:
		return class
	case c.successor == none || s.now <= c.retires || s.nonce == c.nonce || m.shared(s.pending, class) || m.shared(other, class):
		return none
	default:
		return c.successor
	}
}

// bundle are acquires of one attempt, or room for as many.
type bundle struct{ kind, size int }

// mostBundles is how many bundles are compared.
const mostBundles = 24

// packs reports whether what is pending in s can do what q can: each attempt of q
// fits into one of s, together with others.
func (m *leaseModel) packs(s *leaseState, q pending) bool {
	var room, need [mostBundles]bundle
	rooms, needs := 0, 0
	p := s.pending
	for i, j := 0, 0; i < p.len() || j < q.len(); {
		c, n := 1<<30, 0
		if i < p.len() {
			c, n = p.record(i)
		}
		d, k := 1<<30, 0
		if j < q.len() {
			d, k = q.record(j)
		}
		class, have, want := min(c, d), 0, 0
		if c == class {
			have = n
			i++
		}
		if d == class {
			want = k
			j++
		}
		if have == want {
			continue
		}
		kind := m.attempts(s, q, class)
		single := kind == class
		switch {
		case kind == none && have < want:
			return false
		case kind == none:
			continue
		case single || have > want: // the one within the other
			have, want = max(have-want, 0), max(want-have, 0)
		}
		rooms = add(&room, rooms, bundle{kind, have}, single)
		needs = add(&need, needs, bundle{kind, want}, single)
		if rooms < 0 || needs < 0 {
			return false
		}
	}
	return fit(room[:rooms], need[:needs])
}

// add puts the bundle behind the first n, one by one if its acquires are of
// attempts of their own. It is less than 0 if they do not fit.
func add(to *[mostBundles]bundle, n int, b bundle, single bool) int {
	count := 1
	if single {
		count, b.size = b.size, 1
	}
	if b.size == 0 {
		return n
	}
	if n < 0 || n+count > mostBundles {
		return -1
	}
	for range count {
		to[n] = b
		n++
	}
	return n
}

// fit reports whether all that is needed finds room, the largest first. It may miss
// a way.
func fit(room, need []bundle) bool {
	for range need {
		largest := 0
		for i := range need {
			if need[i].size > need[largest].size {
				largest = i
			}
		}
		best := none
		for i := range room {
			if room[i].kind == need[largest].kind && room[i].size >= need[largest].size && (best == none || room[i].size < room[best].size) {
				best = i
			}
		}
		if best == none {
			return false
		}
		room[best].size -= need[largest].size
		need[largest].size = 0
	}
	return true
}
