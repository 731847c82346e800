package fuzz

import (
	"slices"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// holding is a term as the search for the worst case sees it: the lease of one
// token, and what became of it.
type holding struct {
	token    uint64
	node     string
	asked    time.Duration // when the request was sent that the store granted
	granted  time.Duration // when it did
	applied  time.Duration // the last request of the term that took effect at the store
	released time.Duration // when the lease was given back; forever if it was not
	elected  time.Duration // the beginning of the belief; -1 if there was none
	ended    time.Duration // its end
	served   time.Duration // the first accepted write; -1 if there was none
}

const forever = time.Duration(1<<63 - 1)

// disturbance is a fault in force, but for those of clocks.
type disturbance struct {
	fault    string
	nodes    []string
	from, to time.Duration
}

// extreme is the longest failover, or the smallest gap between two beliefs, that
// a run has shown.
type extreme struct {
	found    bool
	length   time.Duration // of the failover; or of the overlap, negative for a gap
	from, to string        // the two leaders
	at       time.Duration // when the old one could no longer act
	released bool          // a gap after a lease that was given back
}

// measured is a run as far as the search for the worst case cares.
type measured struct {
	lease        time.Duration
	nodes        []string
	holdings     []holding
	disturbances []disturbance
	still        []disturbance // the times in which processes stand still
	missed       bool          // a fault took no effect
}

// measure reads the run's terms and faults from its history, which has audits.
func measure(h *history.History) *measured {
	m := &measured{lease: h.Header.Lease, nodes: h.Header.Nodes}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Audit:
			if e.Applied != nil && *e.Applied {
				m.audit(h.Events[:i], e)
			}
		case history.Elected, history.Extended:
			m.believe(e)
		case history.Deposed:
			t := m.of(e.Token)
			t.ended = min(t.ended, e.At)
		case history.Exit:
			for j := range m.holdings {
				if t := &m.holdings[j]; t.node == e.Node && t.elected >= 0 {
					t.ended = min(t.ended, e.At)
				}
			}
		case history.Ok:
			if e.Call == history.Write && e.Token != 0 {
				if t := m.of(e.Token); t.served < 0 {
					t.served = e.At
				}
			}
		case history.Fault:
			m.disturb(e)
		}
	}
	slices.SortFunc(m.holdings, func(a, b holding) int { return int(a.token) - int(b.token) })
	return m
}

// believe takes in the deadline of a belief. One that has ended by itself is
// told again when its clock comes to run otherwise: that changes nothing.
func (m *measured) believe(e *history.Event) {
	t := m.of(e.Token)
	until := forever
	if e.Until != nil {
		until = *e.Until
	}
	switch {
	case e.Kind == history.Elected:
		t.elected, t.node = e.At, e.Node
	case e.At >= t.ended && until <= e.At:
		return
	}
	t.ended = until
}

// of is the term of a token. The pointer is good until the next call.
func (m *measured) of(token uint64) *holding {
	for i := len(m.holdings) - 1; i >= 0; i-- {
		if m.holdings[i].token == token {
			return &m.holdings[i]
		}
	}
	m.holdings = append(m.holdings, holding{
		token: token, asked: -1, granted: -1, applied: -1, released: forever, elected: -1, served: -1,
	})
	return &m.holdings[len(m.holdings)-1]
}

// audit takes in what the store did for a request of those before.
func (m *measured) audit(before []history.Event, e *history.Event) {
	t := m.of(e.Token)
	if e.Call == history.Release {
		t.released = min(t.released, e.At)
		return
	}
	t.applied = e.At
	if e.Call != history.Acquire || t.granted >= 0 {
		return
	}
	t.granted, t.asked = e.At, e.At
	for i := len(before) - 1; i >= 0; i-- {
		if b := &before[i]; b.Kind == history.Invoke && b.Call == e.Call && b.Try == e.Try && b.Nonce == e.Nonce {
			t.node, t.asked = b.Node, b.At
			return
		}
	}
}

// harmless are the faults that leave a candidate able to act in time.
var harmless = []string{faults.ClockRate{}.Name(), faults.ClockJump{}.Name()}

func (m *measured) disturb(e *history.Event) {
	if e.Phase == history.Off && e.Effective != nil && !*e.Effective {
		m.missed = true
	}
	if slices.Contains(harmless, e.Fault) {
		return
	}
	if e.Fault == (faults.Pause{}).Name() {
		m.stand(e)
	}
	if e.Phase == history.On {
		m.disturbances = append(m.disturbances, disturbance{e.Fault + e.ID, e.Targets, e.At, forever})
		return
	}
	for i := range m.disturbances {
		if d := &m.disturbances[i]; d.fault == e.Fault+e.ID {
			d.to = e.At
			if e.Since != nil {
				d.from = *e.Since
			}
		}
	}
}

// calm reports whether no fault is on the node at any time from from to to.
func (m *measured) calm(node string, from, to time.Duration) bool {
	return !slices.ContainsFunc(m.disturbances, func(d disturbance) bool {
		return d.from <= to && d.to >= from && slices.Contains(d.nodes, node)
	})
}

// stand follows who stands still: the end of any pause lets a process go on.
func (m *measured) stand(e *history.Event) {
	for i := range m.still {
		d := &m.still[i]
		if e.Phase == history.Off && d.to > e.At && slices.Contains(e.Targets, d.nodes[0]) {
			d.to = e.At
		}
	}
	for _, node := range e.Targets {
		if e.Phase == history.On {
			m.still = append(m.still, disturbance{e.Fault, []string{node}, e.At, forever})
		}
	}
}

// able is the last moment in which the holder could act: the end of its belief,
// or the beginning of the pause in which it ended.
func (m *measured) able(t *holding) time.Duration {
	at := t.ended
	for _, d := range slices.Backward(m.still) { // the later ones first
		if d.nodes[0] == t.node && d.from >= t.elected && d.from < at && at < d.to {
			at = d.from
		}
	}
	return at
}

// failover is the longest failover that is owed: from the moment in which the
// old leader could no longer act, or a lease was granted after it to somebody
// who never acted, to the first write of the next one who did. It is owed if
// one other candidate was left alone from two leases before to its end, and if
// the winner was from the sending of the request that was granted.
func (m *measured) failover() extreme {
	var worst extreme
	old := -1
	for i := range m.holdings {
		next := &m.holdings[i]
		if next.served < 0 {
			continue
		}
		if old >= 0 {
			was := &m.holdings[old]
			x := extreme{found: true, from: was.node, to: next.node, at: m.able(was)}
			for j := old + 1; j < i; j++ {
				x.at = max(x.at, m.holdings[j].applied)
			}
			x.length = next.served - x.at
			spare := slices.ContainsFunc(m.nodes, func(node string) bool {
				return node != was.node && m.calm(node, x.at-2*m.lease, next.served)
			})
			if spare && m.calm(next.node, next.asked, next.served) && (!worst.found || x.length > worst.length) {
				worst = x
			}
		}
		old = i
	}
	return worst
}

// overlap is the largest overlap of beliefs of two candidates, or, as a
// negative length, the smallest gap between two of them, among those whose first
// lease was given back or among the others.
func (m *measured) overlap(released bool) extreme {
	var worst extreme
	for i := range m.holdings {
		next := &m.holdings[i]
		for j := range m.holdings[:i] {
			was := &m.holdings[j]
			if next.elected < 0 || was.elected < 0 || next.node == was.node || (was.released <= next.granted) != released {
				continue
			}
			x := extreme{
				found: true, from: was.node, to: next.node, at: was.ended, length: was.ended - next.elected, released: released,
			}
			if !worst.found || x.length > worst.length {
				worst = x
			}
		}
	}
	return worst
}

// extremes are what a goal makes as large as it can, and what must keep to a
// bound of its own beside it.
func (m *measured) extremes(goal Goal) (climbed, beside extreme) {
	if goal == DualBelief {
		return m.overlap(false), m.overlap(true)
	}
	return m.failover(), extreme{}
}
