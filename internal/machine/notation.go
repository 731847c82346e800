package machine

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// Tick is the unit of time in which a state is written. A machine can be written
// only if all its settings and all times of its steps are whole ticks.
const Tick = time.Millisecond

// tickZero is how the present is written: a byte holds the times from 100 ticks
// before it to 150 ticks after it. What is later is never: see Span.
const (
	tickZero = 100
	tickMost = 150
)

// never is how a time is written that does not come, and how long it is.
const (
	neverByte  = 255
	neverTicks = 1000
)

// Notation is how the parts of one world name what they share, so that states
// which differ in names only are written alike: a token is its place in the order
// of all tokens, a nonce is its place in the order of their first mention, and a
// candidate is its place among the candidates. Zero and the empty string are
// written as 0.
type Notation struct {
	// Gaps is how large gaps between tokens may be that are kept: 1, or 0, for none.
	// A store that never forgets hands out nothing but the largest of all.
	Gaps uint64

	mentioned [tokens / 64]uint64 // a bit for each token
	names     [tokens]byte        // of the tokens mentioned, and one more; 0: not known yet
	nonces    []string
	ids       []string
}

// tokens is how many there may be, 0 included: a state that is read has small ones,
// and no path is so long that many more come to them.
const tokens = 256

// nonceNames are the nonces of a state that was read.
var nonceNames = [...]string{"", "#1", "#2", "#3", "#4", "#5", "#6", "#7", "#8", "#9", "#10", "#11", "#12", "#13", "#14", "#15"}

// Reset forgets all names. After it, every token of the world must be mentioned
// before the first is written.
func (n *Notation) Reset() {
	n.mentioned, n.names, n.nonces = [tokens / 64]uint64{}, [tokens]byte{}, n.nonces[:0]
}

// Mention takes a token into the order.
func (n *Notation) Mention(t uint64) { n.mentioned[t/64] |= 1 << (t % 64) }

// Rename forgets the nonces, and names the candidates by their places in ids.
func (n *Notation) Rename(ids []string) {
	n.nonces = n.nonces[:0]
	n.ids = ids
}

// Token is how a token is written.
func (n *Notation) Token(t uint64) byte {
	if name := n.names[t]; name != 0 {
		return name - 1
	}
	return n.name(t)
}

// name names all tokens, and returns the name of one.
func (n *Notation) name(t uint64) byte {
	n.Keeps()
	if n.names[t] == 0 {
		panic(fmt.Sprintf("machine: token %d was not among those of the state", t))
	}
	return n.names[t] - 1
}

// Keeps names all tokens, and reports whether they are their own names.
func (n *Notation) Keeps() bool {
	n.names[0] = 1
	name, last, keeps := uint64(1), 0, true
	for word, left := range n.mentioned {
		for ; left != 0; left &= left - 1 {
			token := 64*word + bits.TrailingZeros64(left)
			name += min(uint64(token-last), max(n.Gaps, 1))
			n.names[token], last = byte(name), token
			keeps = keeps && int(name)-1 == token
		}
	}
	return keeps
}

// Nonce is how a nonce is written.
func (n *Notation) Nonce(nonce string) byte {
	if nonce == "" {
		return 0
	}
	for i := range n.nonces {
		if n.nonces[i] == nonce {
			return byte(i + 1)
		}
	}
	n.nonces = append(n.nonces, nonce)
	if len(n.nonces) >= len(nonceNames) {
		panic("machine: more nonces in one state than can be named")
	}
	return byte(len(n.nonces))
}

// ID is how a candidate is written.
func (n *Notation) ID(id string) byte {
	if id == "" {
		return 0
	}
	return byte(slices.Index(n.ids, id) + 1)
}

// NonceOf is the nonce that was written as b.
func NonceOf(b byte) string { return nonceNames[b] }

// IDOf is the candidate that was written as b, if ids were its names.
func IDOf(b byte, ids []string) string {
	if b == 0 {
		return ""
	}
	return ids[b-1]
}

// Span is how a time is written that is d after the present. More than 150 ticks
// are never: no wait is so long, if the settings are short. It panics if d is no
// whole number of ticks, or too long ago: a wrong state would be worse.
func Span(d time.Duration) byte {
	d += tickZero * Tick
	if ticks := uint64(d) / uint64(Tick); ticks <= tickZero+tickMost && time.Duration(ticks)*Tick == d {
		return byte(ticks)
	}
	return farSpan(d - tickZero*Tick)
}

func farSpan(d time.Duration) byte {
	if d < -tickZero*Tick || d%Tick != 0 {
		panic(fmt.Sprintf("machine: %v is no whole number of ticks of %v from -%d on", d, Tick, tickZero))
	}
	return neverByte
}

// SpanOf is the time after the present that was written as b.
func SpanOf(b byte) time.Duration {
	if b == neverByte {
		return neverTicks * Tick
	}
	return (time.Duration(b) - tickZero) * Tick
}
