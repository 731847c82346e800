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
	refused := &quorum.Refused{Denials: make([]*quorum.Denial, len(q.held)), Freed: q.freed}
	for n, h := range q.held {
		if h == nil {
			continue
		}
		refused.Denials[n] = &quorum.Denial{Holder: h.Holder, Token: h.Token, Withheld: h.Withheld != "", Remaining: h.Remaining, At: q.heard[n]}
		e.Waiters += h.Waiters
		if h.Repaired != "" {
			e.Repaired = q.s.nodes[n].name + ": " + h.Repaired
		}
		if h.Withheld != "" {
			e.Withheld = q.s.nodes[n].name + ": " + h.Withheld
		}
	}
	if r := refused.Strongest(); r.Nodes > 0 {
		e.Holder, e.Token, e.Withheld = r.Holder, r.Token, ""
	}
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	m := q.s.memory(q.in.Election)
	m.told = max(m.told, e.Token)
	wait, splits := m.rivalry.Next(refused, q.s.now())
	if splits > 0 {
		wait = max(wait, q.pause(splits))
	}
	e.Remaining = wait
	return e
}

// pause is a random time, the same for the same nonce.
func (q *acquisition) pause(splits int) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.in.ID + " " + q.in.Nonce)) // a hash takes everything
	x := h.Sum64()
	x ^= x >> 32 // FNV's low bits are its best only after some mixing
	x *= 0x9e3779b97f4a7c15
	return time.Duration((x >> 1) % uint64(quorum.Window(splits, q.s.now()-q.began, q.in.TTL)))
}
