package explore

import (
	"bytes"

	"github.com/recount-io/recount/internal/machine"
)

// codec writes the states of one world, so that those which differ in nothing that
// matters are the same bytes, and reads them again.
type codec struct {
	notation machine.Notation
	parts    [][]byte // of the nodes, without names
	written  [][]byte // what parts of touched nodes are written into
	order    []int    // of the nodes, as they are written
	ids      []string // of the nodes, in that order
	best     []byte
	trial    []byte
	chosen   []int
}

func (w *world) append(b []byte) []byte {
	w.tidy()
	return w.codec.append(b, w)
}

func (w *world) written() phase { return w.phase.among(w.codec.chosen) }

// append appends a world that is in its plainest form.
func (c *codec) append(b []byte, w *world) []byte {
	c.notation.Reset()
	if w.set.Limits[Forgettings]+w.set.Limits[Fencings]+w.set.Limits[Rewinds] > 0 {
		c.notation.Gaps = 3 // more grants in a row from an old token are not seen as such
	}
	w.mention(&c.notation)
	keeps := c.notation.Keeps()
	for len(c.parts) < len(w.nodes) {
		c.parts, c.written = append(c.parts, nil), append(c.written, nil)
	}
	c.order = c.order[:0]
	for i := range w.nodes {
		if keeps && w.origin.untouched(i) {
			at := &w.origin.places[i]
			c.parts[i] = w.origin.state[at.begin:at.end]
		} else {
			c.written[i] = c.appendNode(c.written[i][:0], &w.nodes[i])
			c.parts[i] = c.written[i]
		}
		c.order = append(c.order, i)
	}
	b = c.appendWorld(b, w)
	// Candidates are alike but for their names: they are written in the order of
	// what is theirs, and where that is the same, in the order that makes the
	// names the smallest.
	alike := c.sort()
	for _, i := range c.order {
		b = append(b, c.parts[i]...)
	}
	if !alike {
		c.chosen = append(c.chosen[:0], c.order...)
		return c.appendNames(b, w)
	}
	c.best = c.best[:0]
	c.permute(w, 0)
	return append(b, c.best...)
}

// sort puts the nodes into the order of their parts, and reports whether some are
// alike.
func (c *codec) sort() (alike bool) {
	for i := 1; i < len(c.order); i++ {
		for k := i; k > 0; k-- {
			order := bytes.Compare(c.parts[c.order[k-1]], c.parts[c.order[k]])
			alike = alike || order == 0
			if order <= 0 {
				break
			}
			c.order[k-1], c.order[k] = c.order[k], c.order[k-1]
		}
	}
	return alike
}

// permute tries all orders of the nodes from the k-th on that write the same parts.
func (c *codec) permute(w *world, k int) {
	if k == len(c.order) {
		c.trial = c.appendNames(c.trial[:0], w)
		if len(c.best) == 0 || bytes.Compare(c.trial, c.best) < 0 {
			c.best, c.trial = c.trial, c.best
			c.chosen = append(c.chosen[:0], c.order...)
		}
		return
	}
	for j := k; j < len(c.order) && (j == k || bytes.Equal(c.parts[c.order[j]], c.parts[c.order[k]])); j++ {
		c.order[k], c.order[j] = c.order[j], c.order[k]
		c.permute(w, k+1)
		c.order[k], c.order[j] = c.order[j], c.order[k]
	}
}

func (c *codec) appendWorld(b []byte, w *world) []byte {
	s := &w.store
	b = append(b, machine.Span(s.until-w.now), c.notation.Token(s.token), c.notation.Token(w.top), machine.Span(s.reserved-w.now), machine.Span(s.withheld-w.now))
	if w.set.Limits[Rewinds] > 0 {
		b = append(b, flag(s.behind, storeBehind)|flag(s.seed, storeSeed)|flag(s.saved.kept, storeSaved),
			c.notation.Token(s.handed), machine.Span(s.saved.until-w.now), c.notation.Token(s.saved.token))
	}
	b = w.appendLimits(b)
	if w.set.Bids {
		b = c.appendBid(b, w, &s.bid)
		if w.set.Limits[Rewinds] > 0 {
			b = c.appendBid(b, w, &s.saved.bid)
		}
	}
	b = append(b, byte(len(w.ghosts)))
	for i := range w.ghosts {
		g := &w.ghosts[i]
		b = append(b, byte(g.call)|flag(g.orphan, ghostOrphan), c.notation.Token(g.token), c.notation.Token(g.floor))
	}
	return b
}

const ghostOrphan = 1 << 7 // beside a call

func (c *codec) appendBid(b []byte, w *world, bid *bid) []byte {
	if bid.nonce == "" {
		return append(b, 0)
	}
	return append(b, 1, machine.Span(bid.arrived-w.now), c.notation.Token(bid.floor), w.node(bid.owner).m.Reference(bid.number))
}

func flag(is bool, value byte) byte {
	if is {
		return value
	}
	return 0
}

// The bits of a byte of the store that may go back.
const (
	storeBehind = 1 << iota
	storeSeed
	storeSaved
)

// The bits of a node's first byte.
const (
	nodeUp = 1 << iota
	nodeLeads
	nodeWorks
	nodeEnding
	nodeCapped
)

func (c *codec) appendNode(b []byte, n *node) []byte {
	if !n.up {
		return append(b, 0, n.still)
	}
	b = append(b,
		nodeUp|flag(n.belief.live, nodeLeads)|flag(n.work.runs, nodeWorks)|flag(n.work.ending, nodeEnding)|flag(n.work.capped, nodeCapped),
		n.still, byte(len(n.messages))<<4|byte(len(n.hints)))
	if n.belief.live {
		b = append(b, c.notation.Token(n.belief.token), machine.Span(n.belief.until-n.now))
	}
	if n.work.runs {
		b = append(b, c.notation.Token(n.work.token), n.work.age)
	}
	for i := range n.messages {
		m := &n.messages[i]
		b = append(b, byte(m.stage)|byte(m.call)<<2|byte(m.result)<<5, m.age,
			c.notation.Token(m.token), c.notation.Token(m.floor), machine.Span(m.remaining))
	}
	for i := range n.hints {
		h := &n.hints[i]
		b = append(b, byte(h.kind), h.age, c.notation.Token(h.token), machine.Span(h.remaining))
		if h.kind == machine.HintPassed {
			b = append(b, n.m.Reference(h.number))
		}
	}
	return n.m.AppendState(b, n.now, &c.notation)
}

func (c *codec) appendNames(b []byte, w *world) []byte {
	c.ids = c.ids[:0]
	for _, i := range c.order {
		c.ids = append(c.ids, w.nodes[i].id)
	}
	n := &c.notation
	n.Rename(c.ids)
	b = append(b, n.ID(w.store.holder), n.Nonce(w.store.nonce), n.ID(w.store.to))
	if w.set.Limits[Rewinds] > 0 {
		b = append(b, n.ID(w.store.saved.holder), n.Nonce(w.store.saved.nonce))
	}
	if w.set.Bids {
		b = append(b, n.ID(w.store.bid.owner), n.Nonce(w.store.bid.nonce))
		if w.set.Limits[Rewinds] > 0 {
			b = append(b, n.ID(w.store.saved.bid.owner), n.Nonce(w.store.saved.bid.nonce))
		}
	}
	for i := range w.ghosts {
		g := &w.ghosts[i]
		b = append(b, n.ID(g.owner), n.Nonce(g.nonce), n.ID(g.to))
		if w.set.Bids {
			b = append(b, w.reference(g))
		}
	}
	for _, i := range c.order {
		node := &w.nodes[i]
		if !node.up {
			continue
		}
		for k := range node.messages {
			b = append(b, n.Nonce(node.messages[k].nonce), n.ID(node.messages[k].to))
		}
		for k := range node.hints {
			b = append(b, n.ID(node.hints[k].to))
			if node.hints[k].kind == machine.HintPassed {
				b = append(b, n.Nonce(node.hints[k].nonce))
			}
		}
		b = node.m.AppendNames(b, n)
	}
	return b
}
