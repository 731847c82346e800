// Package guards draws what the guards of package elector/fence meet: resources
// whose leaders follow each other with growing tokens, former leaders who write on,
// writes that take long, and ways that are cut. What ships is what runs: the guards,
// the handler and the transport, the Redis client and the guard's script.
//
// A case is drawn from one number, and carried out in a bubble of fake time, so Run
// must be called inside synctest.Test. Each resource is an election of the history.
package guards

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Case is one run, with everything decided.
type Case struct {
	Seed      uint64
	Guard     Kind
	Resources int
	RoundTrip time.Duration
	Terms     []Term
	Cuts      []Cut
}

// Kind is which guard stands before the resources.
type Kind int

// The kinds.
const (
	InProcess Kind = iota // fence.Guard, one for each resource
	InMemory              // fence.Memory, which keeps a resource for as long as a write takes
	OverHTTP              // the same, behind fence.Handler and fence.Transport
	InRedis               // fence.RedisGuard
	guards
)

func (k Kind) String() string {
	return [...]string{"in the process", "in memory", "over http", "in redis"}[k]
}

// Term is somebody's time as the leader of a resource.
type Term struct {
	Resource int
	Writer   int // one of writers
	Token    uint64
	From, To time.Duration // it writes, perhaps for longer than it leads
	Pace     time.Duration
	Takes    time.Duration // a write, where it is made
}

func (t Term) String() string {
	return fmt.Sprintf("r%d w%d token %d from %v to %v every %v taking %v", t.Resource, t.Writer, t.Token, t.From, t.To, t.Pace, t.Takes)
}

// Cut is a time in which nothing of a writer arrives, or no answer.
type Cut struct {
	Writer   int
	Answers  bool // only these are lost
	From, To time.Duration
}

// writers is how many processes there are.
const writers = 4

// firsts are tokens to begin with: next to where they get longer, or numbers
// inexact.
var firsts = []uint64{1, 8, 98, 1<<31 - 3, 1<<53 - 3, 999_999_999_999_998, 1_795_353_457_344_522}

// Draw draws a case.
func Draw(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 0))
	c := Case{
		Seed: seed, Guard: Kind(r.IntN(int(guards))), Resources: 1 + r.IntN(3),
		RoundTrip: between(r, 100*time.Microsecond, 200*time.Millisecond),
	}
	for i := range c.Resources {
		c.lead(r, i)
	}
	if c.Guard == InRedis && r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			from := time.Duration(r.Int64N(int64(5 * time.Second)))
			c.Cuts = append(c.Cuts, Cut{r.IntN(writers), r.IntN(2) == 0, from, from + between(r, 10*time.Millisecond, 2*time.Second)})
		}
	}
	return c
}

// lead draws the terms of a resource.
func (c *Case) lead(r *rand.Rand, resource int) {
	token, begin := firsts[r.IntN(len(firsts))], time.Duration(0)
	for range 2 + r.IntN(9) {
		t := Term{Resource: resource, Writer: r.IntN(writers), Token: token, From: begin, Pace: between(r, 5*time.Millisecond, 300*time.Millisecond)}
		begin += between(r, 20*time.Millisecond, 2*time.Second)
		t.To = begin
		if r.IntN(2) == 0 {
			t.To += between(r, time.Millisecond, 2*time.Second)
		}
		if r.IntN(2) == 0 {
			t.Takes = between(r, 100*time.Microsecond, 500*time.Millisecond)
		}
		c.Terms = append(c.Terms, t)
		token++
		if r.IntN(4) == 0 {
			token += uint64(r.IntN(100))
		}
	}
}

// between draws evenly by orders of magnitude.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}
