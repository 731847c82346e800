package quorum

import (
	"hash/fnv"
	"slices"
	"time"
)

// Choose makes the machine ask f for every random time from 0 to most, in place
// of what it makes of the nonce: a search tries them all.
func (m *Machine) Choose(f func(most time.Duration) time.Duration) { m.choose = f }

// refuse ends an attempt for which no majority can be had.
func (m *Machine) refuse(k *call) {
	held, hopeless := 0, 0
	for n, d := range k.refused.Denials {
		if d != nil {
			held++
		} else if k.Verdicts[n] == Hopeless {
			hopeless++
		}
	}
	switch spare := Minority(m.cfg.Nodes); {
	case hopeless > spare:
		m.end(k, Ending{Outcome: Lost})
	case held+hopeless > spare && held > 0:
		m.deny(k)
	default:
		e := Ending{Outcome: Undecided, Verdicts: slices.Clone(k.Verdicts), Errs: slices.Clone(k.errs)}
		for n, freed := range k.refused.Freed {
			if freed {
				e.Verdicts[n], e.Errs[n] = Yes, nil
			}
		}
		m.end(k, e)
	}
}

// deny says who holds most of the nodes, and when to try again.
func (m *Machine) deny(k *call) {
	e, said := Ending{Outcome: Denied, Rival: k.refused.Strongest()}, 0
	for _, d := range k.refused.Denials {
		if d != nil {
			e.Waiters += d.Waiters
			if e.Longest = max(e.Longest, d.Longest); d.Longest > 0 {
				said++
			}
		}
	}
	e.Agreed = said > Minority(m.cfg.Nodes)
	m.Tell(e.Rival.Token)
	wait, splits := m.rivalry.Next(&k.refused, m.now)
	if splits > 0 {
		wait = max(wait, m.pause(k, splits))
	}
	e.Remaining = wait
	m.end(k, e)
}

// pause is a random time after so many splits. It is the same for the same nonce,
// which is random itself, so that no other source is needed.
func (m *Machine) pause(k *call, splits int) time.Duration {
	window := Window(splits, m.now-k.began, k.ttl)
	if m.choose != nil {
		return m.choose(window - 1)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.claim.id + " " + k.claim.nonce)) // a hash takes everything
	x := h.Sum64()
	x ^= x >> 32 // FNV's low bits are its best only after some mixing
	x *= 0x9e3779b97f4a7c15
	return time.Duration((x >> 1) % uint64(window))
}
