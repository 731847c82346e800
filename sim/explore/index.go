package explore

import (
	"encoding/binary"
	"math/bits"
)

// index is the states visited: their hashes, in the order of their discovery, and
// for each the one that it was reached from. Two states of one hash count as one:
// of n states, about n²/2⁶⁵ are missed so.
type index struct {
	hashes  []uint64
	parents []uint32
	slots   []slot
}

// slot is a place in the table that finds hashes.
type slot struct {
	hash  uint64
	count uint32 // 1 + the hash's place in hashes; 0: empty
}

// most is how many states an index can hold.
const most = 1<<32 - 2

func newIndex() *index { return &index{slots: make([]slot, 1<<16)} }

// add adds a state, unless it is there: then added is false. It returns its place.
func (x *index) add(hash uint64, parent uint32) (place uint32, added bool) {
	if len(x.hashes) >= len(x.slots)/4*3 {
		x.grow()
	}
	at := x.find(hash)
	if at.count != 0 {
		return at.count - 1, false
	}
	x.hashes, x.parents = append(x.hashes, hash), append(x.parents, parent)
	*at = slot{hash, uint32(len(x.hashes))}
	return at.count - 1, true
}

// find is the slot of a hash, or the empty one where it belongs.
func (x *index) find(hash uint64) *slot {
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if at := &x.slots[i]; at.hash == hash && at.count != 0 || at.count == 0 {
			return at
		}
	}
}

// fetch has the slot of a hash fetched from memory, which nobody needs to wait for,
// and returns something of it.
func (x *index) fetch(hash uint64) uint32 { return x.slots[hash&uint64(len(x.slots)-1)].count }

func (x *index) grow() {
	x.slots = make([]slot, 2*len(x.slots))
	for i, hash := range x.hashes {
		*x.find(hash) = slot{hash, uint32(i + 1)}
	}
}

// way is the hashes from the first state to one.
func (x *index) way(place uint32) []uint64 {
	var list []uint64
	for {
		list = append(list, x.hashes[place])
		if place == 0 {
			break
		}
		place = x.parents[place]
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// hash is a multiply-and-fold hash in the manner of Wang Yi's wyhash (2019): two
// words are multiplied, and the halves of the product combined. The constants are
// odd digits of π.
func hash(b []byte) uint64 {
	const (
		k0 = 0x243f6a8885a308d3
		k1 = 0x13198a2e03707345
	)
	h := uint64(len(b)) ^ k0
	for ; len(b) >= 16; b = b[16:] {
		h = fold(binary.LittleEndian.Uint64(b)^k1, binary.LittleEndian.Uint64(b[8:])^h)
	}
	var tail [16]byte
	copy(tail[:], b)
	h = fold(binary.LittleEndian.Uint64(tail[:])^k1, binary.LittleEndian.Uint64(tail[8:])^h)
	return fold(h^k0, k1)
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
