package redisserver

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Control is what changes about servers while they run, and is not their data: by how
// much their clock is off, and what they answer in place of carrying commands out. The
// zero value is right and answers. It is safe for concurrent use.
type Control struct {
	step    atomic.Int64
	refuses atomic.Pointer[string] // nil: nothing
}

// Clock is what the servers' clock shows. See Options.Clock.
func (c *Control) Clock() time.Duration {
	return time.Duration(time.Now().UnixNano() + c.step.Load())
}

// Step sets the clock forward, or back.
func (c *Control) Step(by time.Duration) { c.step.Add(int64(by)) }

// Stepped reports whether the clock is off.
func (c *Control) Stepped() bool { return c.step.Load() != 0 }

// greeting are the commands that a server answers in any state.
var greeting = []string{"HELLO", "AUTH", "CLIENT", "SELECT", "PING"}

// Refuse is what the servers answer to a command in place of an answer; "": nothing. See
// Options.Refuse.
func (c *Control) Refuse(db *redismodel.Server, args []string) string {
	text := c.refuses.Load()
	switch name := strings.ToUpper(args[0]); {
	case text == nil || slices.Contains(greeting, name):
		return ""
	case *text == OpenSlot && !c.scattered(db, args):
		return ""
	}
	return *text
}

// OpenSlot is what a cluster's node answers, as long as it gives a slot to another one, to
// who names several keys of which only some are there. All else it answers as ever.
const OpenSlot = "TRYAGAIN Multiple keys request during rehashing of slot"

// scattered reports whether a script names several keys, and not all of them are there.
func (c *Control) scattered(db *redismodel.Server, args []string) bool {
	if name := strings.ToUpper(args[0]); name != "EVAL" && name != "EVALSHA" || len(args) < 3 {
		return false
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 2 || len(args) < 3+n {
		return false
	}
	for _, key := range args[3 : 3+n] {
		if db.Do(c.Clock(), "EXISTS", key).Int == 0 {
			return true
		}
	}
	return false
}

// Refusal is one of the Refusals, or an OpenSlot, by a number below 64.
func Refusal(choice int) string {
	if choice >= 48 {
		return OpenSlot
	}
	return Refusals[choice%len(Refusals)]
}

// Refuses makes the servers answer with that error until it is called off, or another
// one takes its place.
func (c *Control) Refuses(text string) (off func()) {
	c.refuses.Store(&text)
	return func() { c.refuses.CompareAndSwap(&text, nil) }
}

// Refusals are what a server answers whose memory is full, whose rights are changed,
// which loads its data, is demoted or busy, or may not write.
var Refusals = []string{
	"OOM command not allowed when used memory > 'maxmemory'.",
	"NOPERM this user has no permissions to run the 'evalsha' command",
	"NOAUTH Authentication required.",
	"LOADING Redis is loading the dataset in memory",
	"READONLY You can't write against a read only replica.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"NOREPLICAS Not enough good replicas to write.",
}
