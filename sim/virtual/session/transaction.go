package session

import (
	"slices"
	"strings"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// transaction is what is about transactions, or becomes part of one. It reports false of
// any other command.
func (c *Session) transaction(name string, args []string) bool {
	switch {
	case name == "MULTI" && c.queues:
		c.out = appendError(c.out, "ERR MULTI calls can not be nested")
	case name == "MULTI":
		c.queues = true
		c.out = append(c.out, "+OK\r\n"...)
	case (name == "EXEC" || name == "DISCARD") && !c.queues:
		c.out = appendError(c.out, "ERR "+name+" without MULTI")
	case name == "EXEC":
		c.exec()
	case name == "DISCARD":
		c.discard()
		c.out = append(c.out, "+OK\r\n"...)
	case name == "WATCH" && c.queues:
		c.out = appendError(c.out, "ERR WATCH inside MULTI is not allowed")
	case name == "WATCH" && len(args) > 1:
		db, now := c.Database(), c.server.Now()
		for _, key := range args[1:] {
			c.watched = append(c.watched, watched{db, key, db.Changes(now, key)})
		}
		c.out = append(c.out, "+OK\r\n"...)
	case name == "UNWATCH" && !c.queues:
		c.watched = nil
		c.out = append(c.out, "+OK\r\n"...)
	case c.queues:
		c.enqueue(name, args)
	default:
		return false
	}
	return true
}

// known are the commands that a transaction may have besides those of the model.
var known = []string{"SELECT", "SUBSCRIBE", "UNSUBSCRIBE", "UNWATCH", "CLIENT", "PING"}

// enqueue adds a command to the transaction, if there is such a command.
func (c *Session) enqueue(name string, args []string) {
	if !slices.Contains(known, name) {
		if fault := redismodel.Misspelt(name, args); fault.Failed() {
			c.fail(fault.Text)
			if executed := c.server.Executed; executed != nil {
				executed(c.Database(), append([]string{name}, args[1:]...), fault)
			}
			return
		}
	}
	c.queue = append(c.queue, args)
	c.out = append(c.out, "+QUEUED\r\n"...)
}

// exec carries out what is queued, unless something is in the way.
func (c *Session) exec() {
	queue, spoiled, untouched := c.queue, c.spoiled, c.untouched()
	c.discard()
	switch {
	case spoiled:
		c.out = appendError(c.out, "EXECABORT Transaction discarded because of previous errors.")
	case !untouched:
		c.out = append(c.out, "*-1\r\n"...)
	default:
		c.out = appendHead(c.out, '*', int64(len(queue)))
		for _, args := range queue {
			if name := strings.ToUpper(args[0]); name == "UNWATCH" {
				c.out = append(c.out, "+OK\r\n"...)
			} else {
				c.command(name, args)
			}
		}
	}
}

// untouched reports whether no key has changed that is watched.
func (c *Session) untouched() bool {
	now := c.server.Now()
	return !slices.ContainsFunc(c.watched, func(w watched) bool { return w.db.Changes(now, w.key) != w.version })
}

func (c *Session) discard() {
	c.queues, c.spoiled, c.queue, c.watched = false, false, nil, nil
}
