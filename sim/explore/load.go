package explore

import (
	"github.com/recount-io/recount/internal/machine"
)

// origin is the written state that a world was read from, and what actions have
// touched of it since. The zero origin is that of a world that was not read.
type origin struct {
	state   []byte
	places  []place // of the nodes, in state
	touched uint8   // a bit for each node
}

// place is where a node is written: its part from begin to end, its names from
// names on.
type place struct{ begin, end, names int }

// untouched reports whether a node is as it was read.
func (o *origin) untouched(node int) bool { return o.state != nil && o.touched>>node&1 == 0 }

func (o *origin) touch(node uint8) { o.touched |= 1 << node }

func (o *origin) touchAll() { o.touched = 1<<len(o.places) - 1 }

// load makes the world the one that was written as b, which must stay as it is. It
// keeps the world's slices.
func (w *world) load(b []byte) {
	w.origin.state, w.origin.places = b, w.origin.places[:0]
	at := len(b) - len(w.loadWorld(b))
	for i := range w.nodes {
		end := len(b) - len(w.nodes[i].load(b[at:]))
		w.origin.places = append(w.origin.places, place{begin: at, end: end})
		at = end
	}
	at = len(b) - len(w.loadNames(b[at:]))
	for i := range w.nodes {
		w.origin.places[i].names = at
		at = len(b) - len(w.nodes[i].loadNames(b[at:], names[:len(w.nodes)]))
	}
	w.origin.touched = 0
}

// again makes the world the one that was read last: it reads again what was
// touched.
func (w *world) again(Action) {
	b := w.origin.state
	w.loadWorld(b)
	for i := range w.nodes {
		if n, at := &w.nodes[i], &w.origin.places[i]; !w.origin.untouched(i) {
			n.load(b[at.begin:])
			n.loadNames(b[at.names:], names[:len(w.nodes)])
		}
	}
	w.loadNames(b[w.origin.places[len(w.nodes)-1].end:])
	w.origin.touched = 0
}

func (w *world) loadNames(b []byte) (rest []byte) {
	ids := names[:len(w.nodes)]
	w.store.holder, w.store.nonce, w.store.to = machine.IDOf(b[0], ids), machine.NonceOf(b[1]), machine.IDOf(b[2], ids)
	b = b[3:]
	if w.set.Limits[Rewinds] > 0 {
		w.store.saved.holder, w.store.saved.nonce = machine.IDOf(b[0], ids), machine.NonceOf(b[1])
		b = b[2:]
	}
	if w.set.Bids {
		b = w.loadBidNames(b, &w.store.bid)
		if w.set.Limits[Rewinds] > 0 {
			b = w.loadBidNames(b, &w.store.saved.bid)
		}
	}
	for i := range w.ghosts {
		g := &w.ghosts[i]
		g.owner, g.nonce, g.to = machine.IDOf(b[0], ids), machine.NonceOf(b[1]), machine.IDOf(b[2], ids)
		b = b[3:]
		if w.set.Bids {
			if !g.orphan {
				g.number = w.node(g.owner).m.NumberOf(b[0])
			}
			b = b[1:]
		}
	}
	return b
}

func (w *world) loadBidNames(b []byte, bid *bid) (rest []byte) {
	bid.owner, bid.nonce = machine.IDOf(b[0], names[:len(w.nodes)]), machine.NonceOf(b[1])
	if bid.nonce != "" {
		bid.number = w.node(bid.owner).m.NumberOf(byte(bid.number))
	}
	return b[2:]
}

// loadBid reads a bid. Its number is the reference until its names are read.
func loadBid(b []byte, to *bid) (rest []byte) {
	if b[0] == 0 {
		return b[1:]
	}
	*to = bid{arrived: epoch + machine.SpanOf(b[1]), floor: uint64(b[2]), number: uint64(b[3])}
	return b[4:]
}

func (n *node) loadNames(b []byte, ids []string) (rest []byte) {
	if !n.up {
		return b
	}
	for k := range n.messages {
		m := &n.messages[k]
		m.nonce, m.to = machine.NonceOf(b[0]), machine.IDOf(b[1], ids)
		b = b[2:]
	}
	for k := range n.hints {
		h := &n.hints[k]
		h.to = machine.IDOf(b[0], ids)
		b = b[1:]
		if h.kind == machine.HintPassed {
			h.nonce = machine.NonceOf(b[0])
			b = b[1:]
		}
	}
	return n.m.LoadNames(b, ids)
}

func (w *world) loadWorld(b []byte) (rest []byte) {
	w.now, w.folded = epoch, true
	w.store = store{until: epoch + machine.SpanOf(b[0]), token: uint64(b[1]), reserved: epoch + machine.SpanOf(b[3]), withheld: epoch + machine.SpanOf(b[4])}
	w.top = uint64(b[2])
	b = b[5:]
	if w.set.Limits[Rewinds] > 0 {
		s := &w.store
		s.behind, s.seed, s.handed = b[0]&storeBehind != 0, b[0]&storeSeed != 0, uint64(b[1])
		s.saved = backup{kept: b[0]&storeSaved != 0, until: epoch + machine.SpanOf(b[2]), token: uint64(b[3])}
		b = b[4:]
	}
	b = w.loadLimits(b)
	if w.set.Bids {
		b = loadBid(b, &w.store.bid)
		if w.set.Limits[Rewinds] > 0 {
			b = loadBid(b, &w.store.saved.bid)
		}
	}
	count := b[0]
	b = b[1:]
	w.ghosts = w.ghosts[:0]
	for range count {
		w.ghosts = append(w.ghosts, message{call: machine.Call(b[0] &^ ghostOrphan), orphan: b[0]&ghostOrphan != 0, token: uint64(b[1]), floor: uint64(b[2])})
		b = b[3:]
	}
	return b
}

func (n *node) load(b []byte) (rest []byte) {
	flags, still := b[0], b[1]
	*n = node{id: n.id, m: n.m, now: epoch, still: still, up: flags&nodeUp != 0, messages: n.messages[:0], hints: n.hints[:0]}
	if !n.up {
		return b[2:]
	}
	counts := b[2]
	b = b[3:]
	if flags&nodeLeads != 0 {
		n.belief = belief{true, uint64(b[0]), epoch + machine.SpanOf(b[1])}
		b = b[2:]
	}
	if flags&nodeWorks != 0 {
		n.work = work{runs: true, ending: flags&nodeEnding != 0, capped: flags&nodeCapped != 0, token: uint64(b[0]), age: b[1]}
		b = b[2:]
	}
	for i := range counts >> 4 {
		n.messages = append(n.messages, message{
			stage: stage(b[0] & 3), call: machine.Call(b[0] >> 2 & 7), result: machine.Result(b[0] >> 5), age: b[1], number: uint64(i) + 1,
			token: uint64(b[2]), floor: uint64(b[3]), remaining: machine.SpanOf(b[4]), owner: n.id,
		})
		b = b[5:]
	}
	for range counts & 15 {
		n.hints = append(n.hints, hint{kind: machine.InputKind(b[0]), age: b[1], token: uint64(b[2]), remaining: machine.SpanOf(b[3])})
		b = b[4:]
		if h := &n.hints[len(n.hints)-1]; h.kind == machine.HintPassed {
			h.number = uint64(b[0]) // the reference yet
			b = b[1:]
		}
	}
	rest = n.m.LoadState(b, epoch)
	for k := range n.hints {
		if h := &n.hints[k]; h.kind == machine.HintPassed {
			h.number = n.m.NumberOf(byte(h.number))
		}
	}
	return rest
}

// mention mentions every token of a tidy world.
func (w *world) mention(all *machine.Notation) {
	all.Mention(w.store.token)
	all.Mention(w.top)
	all.Mention(w.store.saved.token)
	all.Mention(w.store.handed)
	all.Mention(w.store.bid.floor)
	all.Mention(w.store.saved.bid.floor)
	for i := range w.ghosts {
		all.Mention(w.ghosts[i].token)
		all.Mention(w.ghosts[i].floor)
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		if !n.up {
			continue
		}
		all.Mention(n.belief.token)
		all.Mention(n.work.token)
		for k := range n.messages {
			all.Mention(n.messages[k].token)
			all.Mention(n.messages[k].floor)
		}
		for k := range n.hints {
			all.Mention(n.hints[k].token)
		}
		n.m.MentionTokens(all)
	}
}

// tidy brings the world into its plainest form: what cannot matter any more is
// blank or gone.
func (w *world) tidy() {
	w.tidyMessages()
	s := &w.store
	if !s.held(w.now) {
		s.until, s.holder, s.nonce = w.now, "", ""
	}
	s.withheld = max(s.withheld, w.now)
	w.tidyBackup()
	w.tidyBid(&s.bid)
	w.tidyBid(&s.saved.bid)
	if s.reserved <= w.now {
		s.reserved, s.to = w.now, ""
	}
	for i := range w.nodes {
		if !w.origin.untouched(i) {
			w.nodes[i].tidy(w)
		}
	}
}

// tidyBackup: what the store may go back to matters until it has, and the last
// token for as long as the count may be an old one.
func (w *world) tidyBackup() {
	s := &w.store
	if w.left[Rewinds] == 0 {
		s.saved = backup{}
		if !s.behind && !s.seed {
			s.handed = 0
		}
	}
	if s.saved.until <= w.now {
		s.saved.until, s.saved.holder, s.saved.nonce = w.now, "", ""
	}
}

func (n *node) tidy(w *world) {
	if w.set.Drift == 0 {
		n.still = 0
	}
	if !n.up {
		return
	}
	if w.set.Bids {
		w.forget(n)
	}
	n.m.Settle(n.now)
	if w.onlyNews() {
		n.m.ForgetNews(n.now, n.named(w.next()), w.set.Hints == 0)
	}
	if !n.belief.live {
		n.belief = belief{}
	}
	n.belief.until = max(n.belief.until, n.now)
	if !n.work.runs {
		n.work = work{}
	}
	if !n.work.ending || w.set.Work == Endless || n.work.capped {
		n.work.age = 0
	}
}

// tidyMessages is the part of tidy that changes how many messages there are and
// where they are. It changes nothing else: the worlds of a path that is described
// step by step are numbered like those that were searched.
func (w *world) tidyMessages() {
	kept := w.ghosts[:0]
	for i := range w.ghosts {
		if g := w.ghosts[i]; g.call == machine.Acquire || g.call == machine.Withdraw || w.store.is(w.now, g.nonce, g.token) || w.store.saved.is(w.now, g.nonce, g.token) {
			g.age = 0
			g.floor = w.tidyFloor(g.floor)
			kept = append(kept, g)
		}
	}
	w.ghosts = kept
	for i := range w.nodes {
		n := &w.nodes[i]
		if w.origin.untouched(i) {
			continue
		}
		for k := range n.messages {
			w.tidyMessage(n, &n.messages[k])
		}
		kept := n.hints[:0]
		for k := range n.hints {
			h := n.hints[k]
			if w.set.Delay == Endless {
				h.age = 0
			}
			if known := n.m.LastToken(); h.token > known || h.token == known && h.kind == machine.HintReleased || h.kind == machine.HintPassed {
				kept = append(kept, h)
			}
		}
		n.hints = kept
	}
}

// next is the smallest token that the store may name yet: that of its lease, or that of
// the next one.
func (w *world) next() uint64 {
	if w.store.held(w.now) {
		return w.store.token
	}
	return w.store.token + 1
}

// named is the smallest token that a candidate may hear of yet, in an announcement or an
// answer: one that is under way, or the store's next one.
func (n *node) named(least uint64) uint64 {
	for i := range n.hints {
		least = min(least, n.hints[i].token)
	}
	for i := range n.messages {
		if m := &n.messages[i]; m.stage == coming && m.token > 0 {
			least = min(least, m.token)
		}
	}
	return least
}

// onlyNews reports whether no candidate will hear of a token smaller than that of an answer
// it has got. A store that does not go back names its last token and larger ones only;
// tidyMessages drops what is under way and older.
func (w *world) onlyNews() bool {
	return w.set.Hints == 0 || w.set.Limits[Forgettings]+w.set.Limits[Rewinds] == 0
}

// tidyFloor: a request need not name a token that the store knows and will not forget.
func (w *world) tidyFloor(floor uint64) uint64 {
	if floor <= w.store.token && w.left[Forgettings]+w.left[Rewinds] == 0 {
		return 0
	}
	return floor
}

// tidyMessage: a request that the store cannot grant any more is as good as
// refused, and an answer says nothing but what its caller will use.
func (w *world) tidyMessage(n *node, m *message) {
	m.floor = w.tidyFloor(m.floor)
	if w.set.Delay == Endless {
		m.age = 0
	}
	switch {
	case m.stage == going && (m.call == machine.Acquire || m.call == machine.Withdraw || w.store.is(w.now, m.nonce, m.token) || w.store.saved.is(w.now, m.nonce, m.token)):
		return
	case m.stage == going:
		m.stage, m.result = coming, machine.NotHeld
	}
	m.nonce, m.to, m.floor = "", "", 0
	if m.call == machine.Release || m.call == machine.Renew && (m.result != machine.NotHeld || m.token != n.belief.token) {
		m.token = 0
	}
	if m.stage == lost {
		*m = message{stage: lost, call: m.call, number: m.number, owner: m.owner}
	}
}
