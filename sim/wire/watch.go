package wire

import (
	"maps"
	"slices"
)

// maxWatched is how many keys of one connection are followed.
const maxWatched = 16

// watched is a key that a connection watches: a transaction takes effect only if
// nobody changed it meanwhile, so what was seen of it before is what it begins
// with.
type watched struct {
	at   place
	seen view
}

// watches notes the keys that a command watches, or that none is watched any
// more.
func (c *Conn) watches(cmd command) {
	switch cmd.name {
	case "WATCH":
		for _, i := range keysOf(cmd) {
			at := place{cmd.db, cmd.args[i]}
			if c.watch(at) == nil && len(c.watching) < maxWatched {
				c.watching = append(c.watching, watched{at: at})
			}
		}
	case "UNWATCH", "EXEC", "DISCARD", "RESET":
		c.watching = nil
	}
}

// watch is what was seen of the key, nil if it is not watched.
func (c *Conn) watch(at place) *view {
	for i := range c.watching {
		if c.watching[i].at == at {
			return &c.watching[i].seen
		}
	}
	return nil
}

// named reports whether a command names a key that is watched.
func (c *Conn) named(cmd command) bool {
	return slices.ContainsFunc(keysOf(cmd), func(i int) bool { return c.watch(place{cmd.db, cmd.args[i]}) != nil })
}

// saw notes what the reply to a command shows of keys that are watched.
func (x *Exchange) saw(v Value) {
	c := x.conn
	cmd := x.sentAs
	if len(c.watching) == 0 || x.queued || x.multi || v.Kind == Error || !reads(cmd) {
		return
	}
	for _, i := range keysOf(cmd) {
		at := place{cmd.db, cmd.args[i]}
		seen := c.watch(at)
		if seen == nil {
			continue
		}
		next := *seen
		c.onKey(cmd, at, nil).step(&next, v)
		if next.unclear == "" {
			*seen = next
		}
	}
}

// claims looks for the lock among the keys that were seen to be free and are
// taken by the transaction.
func (c *Conn) claims(queue []command) {
	for _, w := range c.watching {
		if c.lock.found || w.seen.before == present {
			continue
		}
		v, slots := w.seen, maps.Clone(c.lock.slots)
		for _, cmd := range queue {
			for _, i := range keysOf(cmd) {
				if (place{cmd.db, cmd.args[i]}) != w.at {
					continue
				}
				k := c.onKey(cmd, w.at, nil)
				k.slots = slots
				if replies := k.guesses(&v); len(replies) > 0 {
					k.step(&v, replies[0])
				}
			}
		}
		if v.call != "" && v.fresh && v.unclear == "" {
			c.lock.is(w.at, true, c, "a transaction")
		}
	}
}
