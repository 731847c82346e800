package explore

import (
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// layout is where the parts of a written state stand: of each member, and of each
// store what belongs to it and to each member.
type layout struct {
	state   []byte
	members [][]byte
	stores  [][]byte
	shares  [][][]byte // by store and member
	ghosts  [][]byte
	keepers []keeper // as they are written
	least   uint64   // of their tokens
}

// load makes the world the one that was written as b, which must stay as it is.
func (w *majority) load(b []byte) {
	l, c := &w.origin, w.codec
	if l.members == nil {
		*l = newLayout(len(w.members), len(w.stores))
	}
	l.state = b
	b = w.loadHead(b)
	for i := range w.members {
		l.members[i] = b
		b = w.members[i].load(b, &c.codes)
	}
	w.ghosts = w.ghosts[:0]
	for s := range w.stores {
		l.stores[s] = b
		b = w.loadKeeper(b, s)
		for i := range w.members {
			l.shares[s][i] = b
			b = w.members[i].loadShare(b, s, &c.codes)
		}
		l.ghosts[s] = b
		b = w.loadGhosts(b, s)
	}
	copy(l.keepers, w.stores)
	l.least = w.least()
}

func newLayout(members, stores int) layout {
	l := layout{
		members: make([][]byte, members), stores: make([][]byte, stores), shares: make([][][]byte, stores), ghosts: make([][]byte, stores),
		keepers: make([]keeper, stores),
	}
	for s := range stores {
		l.shares[s] = make([][]byte, members)
	}
	return l
}

// again makes the world the one that was read last. Of the members it reads those
// again that the action since may have touched.
func (w *majority) again(a Action) {
	l, c := &w.origin, w.codec
	w.loadHead(l.state)
	for i := range w.members {
		if n := &w.members[i]; w.touches(a, i) {
			n.load(l.members[i], &c.codes)
			for s := range w.stores {
				n.loadShare(l.shares[s][i], s, &c.codes)
			}
		}
	}
	w.ghosts = w.ghosts[:0]
	for s := range w.stores {
		w.loadKeeper(l.stores[s], s)
		w.loadGhosts(l.ghosts[s], s)
	}
}

// touches reports whether an action may have touched a member: it was the member's
// own, time went on, or one of the stores is not what it was to the member's
// requests or floors.
func (w *majority) touches(a Action, i int) bool {
	if a.Kind == Tick || int(a.Node) == i || w.least() != w.origin.least {
		return true
	}
	n := &w.members[i]
	for k := range n.parcels {
		if s := n.parcels[k].store; w.stores[s] != w.origin.keepers[s] {
			return true
		}
	}
	return false
}

func (w *majority) loadHead(b []byte) (rest []byte) {
	w.now, w.begun, w.folded = epoch, gone, true
	w.top = uint64(b[0])
	return w.loadLimits(b[1:])
}

func (n *member) load(b []byte, codes *quorum.Codes) (rest []byte) {
	*n = member{id: n.id, m: n.m, up: b[0] != 0, busy: b[0]&2 != 0, errands: n.errands[:0], parcels: n.parcels[:0]}
	if !n.up {
		return b[1:]
	}
	n.token, n.until = uint64(b[1]), epoch+machine.SpanOf(b[2])
	count := b[3]
	for b = b[4:]; count > 0; count-- {
		n.calls++
		n.errands = append(n.errands, errand{n.calls, quorum.InputKind(b[0]), uint64(b[1]), epoch + machine.SpanOf(b[2])})
		b = b[3:]
	}
	n.nonce, codes.ID = nonceOf(b[0]), n.id
	return n.m.LoadState(b[1:], epoch, codes)
}

func (w *majority) loadKeeper(b []byte, s int) (rest []byte) {
	w.stores[s] = keeper{
		nonce: nonceOf(b[0]), until: epoch + machine.SpanOf(b[1]), token: uint64(b[2]), withheld: epoch + machine.SpanOf(b[3]), lost: b[4] != 0,
	}
	return b[5:]
}

// loadShare reads what a member has to do with a store.
func (n *member) loadShare(b []byte, s int, codes *quorum.Codes) (rest []byte) {
	if !n.up {
		return b
	}
	before := n.m.Requests()
	b = n.m.LoadNode(b, s, epoch, codes)
	for number := before + 1; number <= n.m.Requests(); number++ {
		n.parcels, b = append(n.parcels, loadParcel(b, s, number)), b[parcelSize:]
	}
	return b
}

func (w *majority) loadGhosts(b []byte, s int) (rest []byte) {
	count := b[0]
	for b = b[1:]; count > 0; count-- {
		w.ghosts, b = append(w.ghosts, loadParcel(b, s, 0)), b[parcelSize:]
	}
	return b
}

const parcelSize = 6

func loadParcel(b []byte, s int, number uint64) parcel {
	return parcel{
		stage: stage(b[0] & 3), ask: quorum.Ask(b[0] >> 2 & 7), verdict: quorum.Verdict(b[0] >> 5), silent: b[1]&1 != 0, denied: b[1]&2 != 0,
		age: b[2], store: uint8(s), number: number, nonce: nonceOf(b[3]), token: uint64(b[4]), floor: uint64(b[5]),
	}
}
