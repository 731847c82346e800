// Package tamper does to the data of a model of Redis what faults on the store
// do, for every world that has one, and tells by what it was seen.
package tamper

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Election is the data of one election.
type Election struct {
	// Do executes a command.
	Do func(args ...string) redismodel.Reply
	// Lease, Counter, Guard and Witness are its keys.
	Lease, Counter, Guard, Witness string
}

// Shorten takes by off the lease's time to live. What is below 0 makes it longer.
func (e Election) Shorten(by time.Duration) (string, error) {
	left := e.Do("PTTL", e.Lease).Int
	if left < 0 {
		return "", faults.NoEffect("there was no lease to shorten")
	}
	rest := max(left-by.Milliseconds(), 0)
	e.Do("PEXPIRE", e.Lease, strconv.FormatInt(rest, 10))
	// A clock that jumps does so for the times that the scripts wrote, too.
	for _, of := range [][2]string{{e.Guard, "unsure"}, {e.Witness, "of " + e.Guard}, {e.Witness, "since"}} {
		if at, err := strconv.ParseInt(e.Do("HGET", of[0], of[1]).Text, 10, 64); err == nil && at > 0 {
			e.Do("HSET", of[0], of[1], strconv.FormatInt(at-left+rest, 10))
		}
	}
	if rest > left {
		return fmt.Sprintf("the lease had %d ms to live and gained %d", left, rest-left), nil
	}
	return fmt.Sprintf("the lease had %d ms to live and lost %d", left, left-rest), nil
}

// Persist takes the time to live off the lease.
func (e Election) Persist() (string, error) {
	return e.wants("lease with a time to live", "the lease has no time to live any more", "PERSIST", e.Lease)
}

// Delete deletes the lease.
func (e Election) Delete() (string, error) {
	return e.wants("lease to delete", "the lease's key was deleted", "DEL", e.Lease)
}

// Overwrite puts a foreign value in the lease's place.
func (e Election) Overwrite() (string, error) {
	return e.wants("lease to overwrite", "the lease's key was overwritten", "SET", e.Lease, faults.ForeignValue, "XX")
}

// DeleteCounter deletes the counter of tokens.
func (e Election) DeleteCounter() (string, error) {
	return e.wants("counter to delete", "the counter's key was deleted", "DEL", e.Counter)
}

// Flush deletes every key.
func (e Election) Flush() (string, error) {
	if e.Do("EXISTS", e.Lease).Int == 0 {
		return "", faults.NoEffect("there was no lease to delete")
	}
	e.Do("FLUSHALL")
	return "every key was deleted, the lease's among them", nil
}

// Evict deletes the lease, as a server does that runs out of memory and whose
// other keys have no time to live, or one that ends later.
func (e Election) Evict() (string, error) {
	return e.wants("lease to evict", "the store ran out of memory and evicted the lease", "DEL", e.Lease)
}

// wants carries out a command that changes a key, if there is one.
func (e Election) wants(key, done string, command ...string) (string, error) {
	r := e.Do(command...)
	if r.Kind == redismodel.Nil || r.Kind == redismodel.Int && r.Int == 0 {
		return "", faults.NoEffect("there was no %s", key)
	}
	return done, nil
}

// Content is what faults compare of two servers.
type Content struct {
	lease   string
	ends    int64 // ms since the Unix epoch
	counter string
}

// Content is what the server has of the election.
func (e Election) Content() Content {
	return Content{lease: e.Do("GET", e.Lease).Text, ends: e.Do("PEXPIRETIME", e.Lease).Int, counter: e.Do("GET", e.Counter).Text}
}

// Lacks tells what of c is not in older; "" if nothing.
func (c Content) Lacks(older Content) string {
	var all []string
	if c.counter != older.counter {
		all = append(all, fmt.Sprintf("the counter stood at %s and is %s again", orNothing(c.counter), orNothing(older.counter)))
	}
	switch {
	case c.lease != older.lease:
		all = append(all, fmt.Sprintf("the lease was %s and is %s again", orNothing(c.lease), orNothing(older.lease)))
	case c.ends != older.ends:
		all = append(all, fmt.Sprintf("the lease lasts %d ms less", c.ends-older.ends))
	}
	return strings.Join(all, ", ")
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}
