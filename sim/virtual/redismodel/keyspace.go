package redismodel

import (
	"maps"
	"math"
	"slices"
)

// cycle is how often Redis looks for expired keys by itself, in milliseconds:
// ten times a second unless it is configured otherwise.
const cycle = 100

// never is the expiry time of a key that has none.
const never = -1

type kind uint8

const (
	aString kind = iota
	aHash
	aList
)

func (k kind) String() string { return [...]string{"string", "hash", "list"}[k] }

// entry is what a key holds.
type entry struct {
	kind    kind
	text    string   // of a string
	items   []string // of a list, or a hash's fields and values in turn
	expires int64    // ms since the epoch, or never
	used    uint64   // when it was last accessed, counted in accesses
}

func (e *entry) clone() *entry {
	c := *e
	c.items = slices.Clone(e.items)
	return &c
}

// keyspace is the data of a server. Every change of it is one of the
// methods below that are named after effects.
type keyspace struct {
	entries map[string]*entry
	soonest int64 // no key expires before, in ms
}

func newKeyspace() keyspace {
	return keyspace{entries: make(map[string]*entry), soonest: math.MaxInt64}
}

func (k *keyspace) clone() keyspace {
	c := keyspace{entries: maps.Clone(k.entries), soonest: k.soonest}
	for name, e := range c.entries {
		c.entries[name] = e.clone()
	}
	return c
}

// effect is one change of the data. What commands and scripts do comes down to
// effects, with absolute expiry times: these are what persistence and replicas
// get, so that what they hold does not depend on when they get it. Redis sends
// them commands that it rewrites to the same end.
type effect struct {
	op      op
	key     string
	text    string
	more    string // of a hash: the value
	expires int64
}

type op uint8

const (
	opSet    op = iota // the key is a string with this text and expiry time
	opExpire           // it has this expiry time
	opDel
	opHSet
	opHDel // the last field takes the key with it
	opRPush
	opLPush
	opRPop  // the last item takes the key with it
	opLPop  // likewise
	opClear // all keys are gone
)

// apply changes the data: e is the key's entry, if it has one. It returns the
// entry that it has then.
func (k *keyspace) apply(e *entry, f *effect) *entry {
	switch f.op {
	case opSet:
		if e == nil {
			e = &entry{}
			k.entries[f.key] = e
		}
		*e = entry{text: f.text, expires: f.expires, used: e.used}
		k.expect(f.expires)
	case opExpire:
		e.expires = f.expires
		k.expect(f.expires)
	case opDel:
		delete(k.entries, f.key)
		return nil
	case opHSet:
		e = k.container(e, f.key, aHash)
		if i := e.field(f.text); i >= 0 {
			e.items[i+1] = f.more
		} else {
			e.items = append(e.items, f.text, f.more)
		}
	case opHDel:
		i := e.field(f.text)
		e.items = slices.Delete(e.items, i, i+2)
		if len(e.items) == 0 {
			delete(k.entries, f.key)
			return nil
		}
	case opRPush:
		e = k.container(e, f.key, aList)
		e.items = append(e.items, f.text)
	case opLPush:
		e = k.container(e, f.key, aList)
		e.items = slices.Insert(e.items, 0, f.text)
	case opRPop, opLPop:
		if len(e.items) == 1 {
			delete(k.entries, f.key)
			return nil
		}
		if f.op == opLPop {
			e.items = slices.Delete(e.items, 0, 1)
		} else {
			e.items = e.items[:len(e.items)-1]
		}
	case opClear:
		*k = newKeyspace()
	}
	return e
}

func (k *keyspace) container(e *entry, key string, kind kind) *entry {
	if e == nil {
		e = &entry{kind: kind, expires: never}
		k.entries[key] = e
	}
	return e
}

func (k *keyspace) expect(expires int64) {
	if expires != never {
		k.soonest = min(k.soonest, expires)
	}
}

// field is the index of a hash's field, -1 if it has none of that name. A
// small hash in Redis is searched likewise, and keeps the order of insertion.
func (e *entry) field(name string) int {
	for i := 0; i < len(e.items); i += 2 {
		if e.items[i] == name {
			return i
		}
	}
	return -1
}

// expired reports whether the key's time is over at now. It is not yet while the
// clock shows the expiry time itself.
func (e *entry) expired(now int64) bool { return e.expires != never && now > e.expires }
