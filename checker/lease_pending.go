package checker

import (
	"time"

	"github.com/recount-io/recount/history"
)

// pending counts, by class, the operations of unknown outcome that were sent
// and have not taken effect so far. They may still do so at any time, or
// never. It is a string, so that states are comparable: three bytes for each
// class whose count is not zero (the class, high byte first, and the count),
// ordered by class. A count of 255 stands for any number; counting too many
// only allows more.
type pending string

const (
	recordBytes = 3
	manyPending = 255
	maxClasses  = 1 << 16
)

func (p pending) len() int { return len(p) / recordBytes }

// record is the i-th class and its count.
func (p pending) record(i int) (class, count int) {
	r := p[i*recordBytes:]
	return int(r[0])<<8 | int(r[1]), int(r[2])
}

// with is p with the class counted by more often.
func (p pending) with(class, by int) pending {
	i, count := 0, 0
	for ; i < p.len(); i++ {
		c, n := p.record(i)
		if c == class {
			count = n
		}
		if c >= class {
			break
		}
	}
	head, tail := p[:i*recordBytes], p[i*recordBytes:]
	if count > 0 {
		tail = tail[recordBytes:]
	}
	if count < manyPending {
		count = min(count+by, manyPending)
	}
	if count <= 0 {
		return head + tail
	}
	return head + pending([]byte{byte(class >> 8), byte(class), byte(count)}) + tail
}

// covers tells whether p counts every class at least as often as q.
func (p pending) covers(q pending) bool {
	if p == q {
		return true
	}
	i := 0
	for j := range q.len() {
		class, count := q.record(j)
		for i < p.len() {
			if c, _ := p.record(i); c >= class {
				break
			}
			i++
		}
		if i == p.len() {
			return false
		}
		if c, n := p.record(i); c != class || n < count {
			return false
		}
	}
	return true
}

// leaseClass is what operations of unknown outcome have in common as far as
// the model can tell them apart.
type leaseClass struct {
	call  history.Call
	node  string
	nonce string
	token uint64
	ttl   time.Duration

	// After the last operation that names its nonce has returned, the one
	// acquire of this class is like any other one of its node, unless the lease
	// has its nonce: it is counted under the class heir from then on.
	retires time.Duration
	heir    int
}

// lonelyNonce stands for all nonces that no operation names any more.
const lonelyNonce = "\x00lonely"

// addClass is the number of the class, which it makes if there is none yet.
func (m *leaseModel) addClass(c leaseClass) int {
	key := c
	key.retires, key.heir = 0, 0
	if i, ok := m.classOf[key]; ok {
		return i
	}
	if m.classOf == nil {
		m.classOf = map[leaseClass]int{}
	}
	i := len(m.classes)
	m.classOf[key] = i
	m.classes = append(m.classes, c)
	return i
}

// addAcquireClass is the number of the class of acquires with a nonce that is
// last named at lastUse.
func (m *leaseModel) addAcquireClass(c leaseClass, lastUse time.Duration) int {
	heir := c
	heir.nonce = lonelyNonce
	c.heir, c.retires = m.addClass(heir), lastUse
	return m.addClass(c)
}

// prune forgets pending operations that can have no effect any more (those on
// a lease whose token is behind) and lets classes retire.
func (m *leaseModel) prune(s *leaseState) {
	all := s.pending
	for i := range all.len() {
		class, count := all.record(i)
		c := &m.classes[class]
		switch {
		case c.token != 0 && c.token <= s.last && !(s.live && s.token == c.token):
			s.pending = s.pending.without(class)
		case c.call == history.Acquire && c.nonce != lonelyNonce && s.now > c.retires &&
			count == 1 && !(s.live && s.nonce == c.nonce) && !m.sibling(all, class):
			s.pending = s.pending.without(class).with(c.heir, count)
		}
	}
}

// sibling tells whether an acquire of another class has the nonce of this one:
// then either may bring the lease that the other one makes longer.
func (m *leaseModel) sibling(p pending, class int) bool {
	c := &m.classes[class]
	for i := range p.len() {
		other, _ := p.record(i)
		o := &m.classes[other]
		if other != class && o.call == c.call && o.node == c.node && o.nonce == c.nonce {
			return true
		}
	}
	return false
}

func (p pending) without(class int) pending {
	for i := range p.len() {
		if c, _ := p.record(i); c == class {
			return p[:i*recordBytes] + p[(i+1)*recordBytes:]
		}
	}
	return p
}
