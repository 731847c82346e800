package redisserver

import (
	"sync/atomic"
	"time"
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

// Stepped tells whether the clock is off.
func (c *Control) Stepped() bool { return c.step.Load() != 0 }

// Refuse is what the servers answer to a command in place of an answer; "": nothing. See
// Options.Refuse.
func (c *Control) Refuse(command string) string {
	text := c.refuses.Load()
	if text == nil || command == "HELLO" || command == "SELECT" || command == "PING" {
		return ""
	}
	return *text
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
