package explore

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// majorityCodec writes the states of one world of several stores, so that those
// which differ in nothing that matters are the same bytes, and reads them again.
type majorityCodec struct {
	codes  quorum.Codes
	tokens []uint64 // ascending, without 0
	places []byte   // how each is written
	nonces []string // in the order of their names
	heads  [][]byte // of the members: what names nothing
	order  []int    // of the members, that is tried
	chosen []int    // and that was taken
	parts  [][]byte // of the stores
	best   []byte
	trial  []byte
}

// gone is the nonce of a lease that nobody can name any more.
const gone = 255

func newMajorityCodec() *majorityCodec {
	c := &majorityCodec{}
	c.codes = quorum.Codes{
		Token: c.token, Nonce: c.nonce, NonceOf: nonceOf, Span: machine.Span, SpanOf: machine.SpanOf, Patience: patience,
	}
	return c
}

func (c *majorityCodec) token(t uint64) byte {
	if t == 0 {
		return 0
	}
	return c.places[slices.Index(c.tokens, t)]
}

func (c *majorityCodec) nonce(nonce string) byte {
	if nonce == "" {
		return 0
	}
	if i := slices.Index(c.nonces, nonce); i >= 0 {
		return byte(i + 1)
	}
	return gone
}

func nonceOf(b byte) string {
	return nonceNames[b]
}

// nonceNames are the nonces of a state that was read.
var nonceNames = func() (names [gone + 1]string) {
	for i := 1; i <= gone; i++ {
		names[i] = nonceName(i)
	}
	return names
}()

func nonceName(i int) string { return fmt.Sprintf("%06d", i) }

// append brings the world into its plainest form and appends it. Candidates are
// alike, and stores are: of all orders of the candidates the smallest form is
// taken, and stores are written in the order of what is theirs.
func (c *majorityCodec) append(b []byte, w *majority) []byte {
	w.tidy()
	c.rank(w)
	c.best, c.order = c.best[:0], c.order[:0]
	for len(c.heads) < len(w.members) {
		c.heads = append(c.heads, nil)
	}
	for i := range w.members {
		c.heads[i] = c.head(c.heads[i][:0], &w.members[i], w.now)
		c.order = append(c.order, i)
	}
	slices.SortFunc(c.order, func(a, b int) int { return bytes.Compare(c.heads[a], c.heads[b]) })
	c.permute(w, 0)
	return append(b, c.best...)
}

// permute tries all orders of the members from the k-th on whose heads are alike.
func (c *majorityCodec) permute(w *majority, k int) {
	if k == len(c.order) {
		c.trial = c.write(c.trial[:0], w, c.order)
		if len(c.best) == 0 || bytes.Compare(c.trial, c.best) < 0 {
			c.best, c.trial = c.trial, c.best
			c.chosen = append(c.chosen[:0], c.order...)
		}
		return
	}
	for j := k; j < len(c.order) && bytes.Equal(c.heads[c.order[j]], c.heads[c.order[k]]); j++ {
		c.order[k], c.order[j] = c.order[j], c.order[k]
		c.permute(w, k+1)
		c.order[k], c.order[j] = c.order[j], c.order[k]
	}
}

// phase is the world's, with its member named by where it was written.
func (c *majorityCodec) phase(w *majority) phase {
	return w.phase.stage() | phase(max(slices.Index(c.chosen, w.phase.first()), 0))
}

func (c *majorityCodec) write(b []byte, w *majority, order []int) []byte {
	c.name(w, order)
	b = append(b, c.token(w.top))
	for l, n := range w.set.Limits {
		if n != 0 && n != Endless {
			b = append(b, w.left[l])
		}
	}
	for _, i := range order {
		b = append(b, c.heads[i]...)
		if n := &w.members[i]; n.up {
			b = n.m.AppendState(append(b, c.nonce(n.nonce)), w.now, &c.codes)
		}
	}
	for len(c.parts) < len(w.stores) {
		c.parts = append(c.parts, nil)
	}
	for s := range w.stores {
		c.parts[s] = c.writeStore(c.parts[s][:0], w, s, order)
	}
	parts := c.parts[:len(w.stores)]
	slices.SortFunc(parts, bytes.Compare)
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

// name names the nonces of all that may be asked for yet, by candidates and then by
// age.
func (c *majorityCodec) name(w *majority, order []int) {
	c.nonces = c.nonces[:0]
	for _, i := range order {
		n, from := &w.members[i], len(c.nonces)
		if !n.up {
			continue
		}
		c.nonces = n.m.AppendNonces(c.nonces)
		if n.nonce != "" {
			c.nonces = append(c.nonces, n.nonce)
		}
		c.nonces = append(c.nonces, nonces(n.parcels)...)
		slices.Sort(c.nonces[from:])
		c.nonces = append(c.nonces[:from], slices.Compact(c.nonces[from:])...)
	}
	old := nonces(w.ghosts)
	slices.Sort(old)
	for _, nonce := range old {
		if !slices.Contains(c.nonces, nonce) {
			c.nonces = append(c.nonces, nonce)
		}
	}
}

func nonces(parcels []parcel) (list []string) {
	for i := range parcels {
		if parcels[i].nonce != "" {
			list = append(list, parcels[i].nonce)
		}
	}
	return list
}

func (c *majorityCodec) head(b []byte, n *member, now time.Duration) []byte {
	if !n.up {
		return append(b, 0)
	}
	b = append(b, 1|flag(n.busy, 2), c.token(n.token), machine.Span(n.until-now), byte(len(n.errands)))
	for _, e := range n.errands {
		b = append(b, byte(e.kind), c.token(e.token), machine.Span(e.began-now))
	}
	return b
}

func (c *majorityCodec) writeStore(b []byte, w *majority, s int, order []int) []byte {
	k := &w.stores[s]
	b = append(b, c.nonce(k.nonce), machine.Span(k.until-w.now), c.token(k.token), machine.Span(k.withheld-w.now), flag(k.lost, 1))
	for _, i := range order {
		n := &w.members[i]
		if !n.up {
			continue
		}
		b = n.m.AppendNode(b, s, w.now, &c.codes)
		for k := range n.parcels {
			if p := &n.parcels[k]; int(p.store) == s {
				b = c.writeParcel(b, p)
			}
		}
	}
	start := len(b)
	b = append(b, 0)
	for g := range w.ghosts {
		if p := &w.ghosts[g]; int(p.store) == s {
			b[start]++
			b = c.writeParcel(b, p)
		}
	}
	return b
}

func (c *majorityCodec) writeParcel(b []byte, p *parcel) []byte {
	return append(b, byte(p.stage)|byte(p.ask)<<2|byte(p.verdict)<<5, flag(p.silent, 1)|flag(p.denied, 2), p.age,
		c.nonce(p.nonce), c.token(p.token), c.token(p.floor))
}

// rank puts the tokens into an order, and names each by its place: one behind the
// other by their distance, or by most if that is less. A store that has handed out
// none begins at 1; without any, the smallest token is 1.
func (c *majorityCodec) rank(w *majority) {
	c.tokens = c.tokens[:0]
	mention := func(t uint64) {
		if i, known := slices.BinarySearch(c.tokens, t); !known && t != 0 {
			c.tokens = slices.Insert(c.tokens, i, t)
		}
	}
	anchored := false
	for i := range w.stores {
		mention(w.stores[i].token)
		anchored = anchored || w.stores[i].token == 0
	}
	for i := range w.members {
		n := &w.members[i]
		if !n.up {
			continue
		}
		mention(n.token)
		for _, e := range n.errands {
			mention(e.token)
		}
		mentionParcels(n.parcels, mention)
		n.m.MentionTokens(mention)
	}
	mentionParcels(w.ghosts, mention)
	if len(c.tokens) > 0 && w.top < c.tokens[0] {
		w.top = 0 // whatever is elected has a larger token
	}
	mention(w.top)
	c.places = c.places[:0]
	last, place := uint64(0), uint64(0)
	for i, t := range c.tokens {
		step := min(t-last, gap)
		if i == 0 && !anchored {
			step = 1
		}
		place, last = place+step, t
		c.places = append(c.places, byte(place))
	}
}

// gap is the largest distance between two tokens that is kept: between more than
// so many grants in a row from an old token nothing differs that is asked here.
const gap = 4

func mentionParcels(list []parcel, mention func(uint64)) {
	for i := range list {
		mention(list[i].token)
		mention(list[i].floor)
	}
}

// tidy brings the world into its plainest form: what cannot matter any more is
// blank.
func (w *majority) tidy() {
	least := ^uint64(0)
	for i := range w.stores {
		s := &w.stores[i]
		if s.until <= w.now {
			s.until, s.nonce = w.now, ""
		}
		s.withheld = max(s.withheld, w.now)
		least = min(least, s.token)
	}
	for i := range w.members {
		if n := &w.members[i]; n.up {
			n.until = max(n.until, w.now)
			n.m.Settle(w.now, n.nonce, least)
		}
	}
}

// tidyParcels is the part of tidy that changes what may happen to messages. It
// comes after each action, in the concrete world, too, so that its paths are as
// long.
func (w *majority) tidyParcels() {
	w.ghosts = slices.DeleteFunc(w.ghosts, func(p parcel) bool { w.tidyParcel(&p); return p.stage == coming })
	for i := range w.ghosts {
		w.tidyParcel(&w.ghosts[i])
	}
	for i := range w.members {
		for k := range w.members[i].parcels {
			w.tidyParcel(&w.members[i].parcels[k])
		}
	}
}

// tidyParcel: a floor below what a store hands out anyway is none, an answer says
// nothing but what its machine will use, and what is asked of a lease that is over
// is as good as refused.
func (w *majority) tidyParcel(p *parcel) {
	s := &w.stores[p.store]
	attempt := p.ask == quorum.AskGrant || p.ask == quorum.AskMend
	if p.floor <= s.token || s.lost {
		p.floor = 0
	}
	if p.stage == going && !attempt && !(s.until > w.now && s.nonce == p.nonce && s.token == p.token) {
		p.stage, p.verdict = coming, quorum.No
	}
	if p.stage == coming {
		p.nonce, p.floor = "", 0
		if !attempt {
			p.token = 0
		}
	}
	if p.age = min(p.age, uint8(w.set.Delay)); p.silent && w.set.Delay == Endless {
		p.age = 1
	}
}

// load makes the world the one that was written as b.
func (w *majority) load(b []byte, c *majorityCodec) {
	w.now, w.begun, w.folded = epoch, gone, true
	w.top, b = uint64(b[0]), b[1:]
	for l, n := range w.set.Limits {
		w.left[l] = uint8(n)
		if n != 0 && n != Endless {
			w.left[l], b = b[0], b[1:]
		}
	}
	for i := range w.members {
		b = w.members[i].load(b, &c.codes)
	}
	w.ghosts = w.ghosts[:0]
	for s := range w.stores {
		b = w.loadStore(b, s, &c.codes)
	}
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

func (w *majority) loadStore(b []byte, s int, codes *quorum.Codes) (rest []byte) {
	w.stores[s] = keeper{
		nonce: nonceOf(b[0]), until: epoch + machine.SpanOf(b[1]), token: uint64(b[2]), withheld: epoch + machine.SpanOf(b[3]), lost: b[4] != 0,
	}
	b = b[5:]
	for i := range w.members {
		n := &w.members[i]
		if !n.up {
			continue
		}
		before := n.m.Requests()
		b = n.m.LoadNode(b, s, epoch, codes)
		for number := before + 1; number <= n.m.Requests(); number++ {
			n.parcels, b = append(n.parcels, loadParcel(b, s, number)), b[parcelSize:]
		}
	}
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
