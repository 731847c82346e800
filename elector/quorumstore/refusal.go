package quorumstore

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/quorum"
)

// refusal is the error of an attempt for which no majority can be had.
func (q *acquisition) refusal() error {
	s := q.s
	heldBy, hopelessOnes := 0, 0
	for n, h := range q.held {
		if h != nil {
			heldBy++
		} else if q.Verdicts[n] == quorum.Hopeless {
			hopelessOnes++
		}
	}
	switch {
	case hopelessOnes > s.minority():
		return s.hopeless("acquire", q.in.Election, q.errs)
	case heldBy+hopelessOnes > s.minority() && heldBy > 0:
		return q.heldError()
	default:
		verdicts, errs := slices.Clone(q.Verdicts), slices.Clone(q.errs)
		for n, freed := range q.freed {
			if freed {
				verdicts[n], errs[n] = quorum.Yes, nil
			}
		}
		return s.undecided("acquire", q.in.Election, verdicts, errs)
	}
}

// heldError says who holds most of the nodes, and when to try again.
func (q *acquisition) heldError() error {
	e := &elector.HeldError{}
	withheld := 0
	for n, h := range q.held {
		if h == nil {
			continue
		}
		e.Waiters += h.Waiters
		if h.Repaired != "" {
			e.Repaired = q.s.nodes[n].name + ": " + h.Repaired
		}
		if h.Withheld != "" {
			withheld++
			e.Withheld = q.s.nodes[n].name + ": " + h.Withheld
		}
	}
	r := q.rival()
	if withheld <= q.s.minority() && r.nodes > 0 {
		e.Holder, e.Token, e.Withheld = r.id, r.token, ""
	}
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	m := q.s.memory(q.in.Election)
	m.told = max(m.told, e.Token)
	e.Remaining = q.remaining(m, r)
	return e
}

// rival is another candidate that holds nodes.
type rival struct {
	id    string
	nodes int
	token uint64
}

// rival is the candidate that holds the most nodes.
func (q *acquisition) rival() (most rival) {
	for _, h := range q.held {
		if h == nil || h.Holder == "" {
			continue
		}
		r := rival{id: h.Holder}
		var tokens []uint64
		for _, other := range q.held {
			if other != nil && other.Holder == h.Holder {
				r.nodes++
				tokens = append(tokens, other.Token)
			}
		}
		r.token = quorum.Usual(tokens)
		if r.nodes > most.nodes || r.nodes == most.nodes && r.id < most.id {
			most = r
		}
	}
	return most
}

// remaining is when a majority can be free. Candidates that hold a few nodes
// each give them back at once, as this one did; then all need is a pause of
// random length, longer each time. Whoever holds a majority goes on, and so
// perhaps does whoever may hold one as far as this attempt could see: if that is
// still so the next time, it is believed. The caller holds mu.
func (q *acquisition) remaining(m *memory, r rival) time.Duration {
	unheard := 0
	for n := range q.held {
		if q.held[n] == nil && !q.freed[n] {
			unheard++
		}
	}
	leads := r.nodes >= q.s.quorum
	if !leads && r.nodes+unheard >= q.s.quorum && r.nodes > 0 {
		leads = m.rival == r.id && m.rivalry == r.token
		m.rival, m.rivalry = r.id, r.token
	}
	now := q.s.now()
	var free []time.Duration // when each node that was heard of can be free
	for n, h := range q.held {
		switch {
		case q.freed[n]:
			free = append(free, 0)
		case h == nil:
		case h.Withheld != "" || leads && h.Holder == r.id:
			free = append(free, max(0, h.Remaining-(now-q.heard[n])))
		default:
			free = append(free, 0)
		}
	}
	slices.Sort(free)
	at := free[min(q.s.quorum, len(free))-1]
	if leads {
		m.splits = 0
		return at
	}
	m.splits++
	return max(at, q.pause(m.splits))
}

// pause is a random time, the same for the same nonce. An attempt takes a round
// trip, so the window is a few of them, and doubles.
func (q *acquisition) pause(splits int) time.Duration {
	window := max(4*(q.s.now()-q.began), 2*time.Millisecond)
	window <<= min(splits-1, 10)
	window = max(min(window, q.in.TTL/4), 1)
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.in.ID + " " + q.in.Nonce)) // a hash takes everything
	x := h.Sum64()
	x ^= x >> 32 // FNV's low bits are its best only after some mixing
	x *= 0x9e3779b97f4a7c15
	return time.Duration((x >> 1) % uint64(window))
}
