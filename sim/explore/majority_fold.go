package explore

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// majorityCodec writes the states of one world of several stores, so that those
// which differ in nothing that matters are the same bytes, and reads them again.
type majorityCodec struct {
	codes    quorum.Codes
	tokens   [tokens / 64]uint64 // a bit for each that there is
	places   [tokens]byte        // how each is written
	mentions func(uint64)
	nonces   []string // in the order of their names
	heads    [][]byte // of the members: what names nothing
	order    []int    // of the members, that is tried
	chosen   []int    // and that was taken
	parts    [][]byte // of the stores
	best     []byte
	trial    []byte
}

// tokens is how many there may be, 0 included.
const tokens = 256

// gone is the nonce of a lease that nobody can name any more.
const gone = 255

func newMajorityCodec() *majorityCodec {
	c := &majorityCodec{}
	c.mentions = c.mention
	c.codes = quorum.Codes{
		Token: c.token, Nonce: c.nonce, NonceOf: nonceOf, Span: machine.Span, SpanOf: machine.SpanOf, Patience: patience,
	}
	return c
}

func (c *majorityCodec) token(t uint64) byte {
	place := c.places[t]
	if place == 0 {
		panic(fmt.Sprintf("explore: token %d was not among those of the state", t))
	}
	return place - 1
}

func (c *majorityCodec) mention(t uint64) { c.tokens[t/64] |= 1 << (t % 64) }

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

// append appends the world in its plainest form. Candidates are alike, and stores
// are: of all orders of the candidates the smallest form is taken, and stores are
// written in the order of what is theirs.
func (w *majority) append(b []byte) []byte {
	c := w.codec
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
	slices.SortFunc(c.order, c.byHead)
	c.permute(w, 0)
	return append(b, c.best...)
}

func (c *majorityCodec) byHead(a, b int) int { return bytes.Compare(c.heads[a], c.heads[b]) }

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

func (w *majority) written() phase { return w.phase.among(w.codec.chosen) }

func (c *majorityCodec) write(b []byte, w *majority, order []int) []byte {
	c.name(w, order)
	b = w.appendLimits(append(b, c.token(w.top)))
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
		c.add(from, n.nonce)
		for k := range n.parcels {
			c.add(from, n.parcels[k].nonce)
		}
	}
	from := len(c.nonces)
	for g := range w.ghosts {
		if nonce := w.ghosts[g].nonce; !slices.Contains(c.nonces[:from], nonce) {
			c.add(from, nonce)
		}
	}
}

// add adds a nonce to those from a place on, which are in order, if it is not
// there.
func (c *majorityCodec) add(from int, nonce string) {
	if nonce == "" {
		return
	}
	if i, known := slices.BinarySearch(c.nonces[from:], nonce); !known {
		c.nonces = slices.Insert(c.nonces, from+i, nonce)
	}
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
	c.tokens = [tokens / 64]uint64{}
	anchored := false
	for i := range w.stores {
		c.mention(w.stores[i].token)
		anchored = anchored || w.stores[i].token == 0
	}
	for i := range w.members {
		n := &w.members[i]
		if !n.up {
			continue
		}
		c.mention(n.token)
		for k := range n.errands {
			c.mention(n.errands[k].token)
		}
		c.mentionParcels(n.parcels)
		n.m.MentionTokens(c.mentions)
	}
	c.mentionParcels(w.ghosts)
	c.tokens[0] &^= 1
	if smallest := c.smallest(); w.top < smallest && smallest < tokens {
		w.top = 0 // whatever is elected has a larger token
	}
	c.mention(w.top)
	c.tokens[0] &^= 1
	c.places = [tokens]byte{1}
	last, place := 0, 1
	for word, left := range c.tokens {
		for ; left != 0; left &= left - 1 {
			t := 64*word + bits.TrailingZeros64(left)
			step := min(t-last, gap)
			if last == 0 && !anchored {
				step = 1
			}
			place, last = place+step, t
			c.places[t] = byte(place)
		}
	}
}

// smallest is the smallest token, or tokens if there is none.
func (c *majorityCodec) smallest() uint64 {
	for word, set := range c.tokens {
		if set != 0 {
			return uint64(64*word + bits.TrailingZeros64(set))
		}
	}
	return tokens
}

// gap is the largest distance between two tokens that is kept: between more than
// so many grants in a row from an old token nothing differs that is asked here.
const gap = 4

func (c *majorityCodec) mentionParcels(list []parcel) {
	for i := range list {
		c.mention(list[i].token)
		c.mention(list[i].floor)
	}
}
