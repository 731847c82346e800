package search

import (
	"time"

	"github.com/recount-io/recount/checker/internal/index"
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

// covers reports whether p counts every class at least as often as q.
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
	leaseKind

	// Operations that were sent at one time are of a class of their own until the
	// present is past their sending, and are counted under the class base from then
	// on. It is none for those.
	sent time.Duration
	base int

	// After the last operation that names its nonce has returned, the one
	// acquire of this class is like any other one of its node, unless the lease
	// has its nonce or another pending operation names it: it is counted under
	// the class successor from then on. A renewal or release that names a nonce that no
	// lease can have any more is forgotten.
	retires   time.Duration
	successor int
}

type leaseKind struct {
	call  history.Call
	node  string
	nonce string
	token uint64
	ttl   time.Duration
}

// none is no class.
const none = -1

// lonelyNonce stands for all nonces that no operation names any more.
const lonelyNonce = "\x00lonely"

// addKind is the number of the class of such operations, whenever they were
// sent, whose nonce is last named at lastUse. It makes one if there is none yet.
func (m *leaseModel) addKind(k leaseKind, lastUse time.Duration) int {
	if i, ok := m.kinds[k]; ok {
		return i
	}
	c := leaseClass{leaseKind: k, sent: always, base: none, retires: lastUse, successor: none}
	if k.call == history.Acquire && k.nonce != "" && k.nonce != lonelyNonce {
		successor := k
		successor.nonce = lonelyNonce
		c.successor = m.addKind(successor, index.Forever)
	}
	if m.kinds == nil {
		m.kinds = map[leaseKind]int{}
	}
	i := len(m.classes)
	m.kinds[k] = i
	m.classes = append(m.classes, c)
	return i
}

// addYoung is the number of a new class, for operations of the kind that were sent
// at that time.
func (m *leaseModel) addYoung(k leaseKind, sent, lastUse time.Duration) int {
	base := m.addKind(k, lastUse)
	m.classes = append(m.classes, leaseClass{leaseKind: k, sent: sent, base: base, retires: lastUse, successor: none})
	return len(m.classes) - 1
}

// prune forgets pending operations that can have no effect any more (those on
// a lease that is gone for good) and lets classes retire.
func (m *leaseModel) prune(s *leaseState) {
	all := s.pending
	for i := range all.len() {
		class, count := all.record(i)
		c := &m.classes[class]
		held := s.live && s.nonce == c.nonce
		switch {
		case c.token != 0 && c.token <= s.last && !(s.live && s.token == c.token):
			s.pending = s.pending.without(class)
		case c.young() && s.now >= c.sent:
			s.pending = s.pending.without(class).with(c.base, count)
		case c.nonce == "" || s.now <= c.retires || held:
		case c.successor != none:
			if count := s.pending.count(class); count == 1 && !m.shared(s.pending, class) {
				s.pending = s.pending.without(class).with(c.successor, +1)
			}
		case c.call != history.Acquire && m.named && !m.attempted(s.pending, c):
			s.pending = s.pending.without(class)
		}
	}
}

// shared reports whether a pending operation of another class names the nonce of
// this one: an acquire may make the lease longer that this one brings, and a
// renewal or release may be about it.
func (m *leaseModel) shared(p pending, class int) bool {
	c := &m.classes[class]
	for i := range p.len() {
		other, _ := p.record(i)
		if o := &m.classes[other]; other != class && o.node == c.node && o.nonce == c.nonce {
			return true
		}
	}
	return false
}

// attempted reports whether an acquire is pending that may bring the lease which
// the class is about.
func (m *leaseModel) attempted(p pending, c *leaseClass) bool {
	for i := range p.len() {
		other, _ := p.record(i)
		if o := &m.classes[other]; o.call == history.Acquire && o.node == c.node && o.nonce == c.nonce {
			return true
		}
	}
	return false
}

func (p pending) count(class int) int {
	for i := range p.len() {
		if c, n := p.record(i); c == class {
			return n
		}
	}
	return 0
}

func (p pending) without(class int) pending {
	for i := range p.len() {
		if c, _ := p.record(i); c == class {
			return p[:i*recordBytes] + p[(i+1)*recordBytes:]
		}
	}
	return p
}
