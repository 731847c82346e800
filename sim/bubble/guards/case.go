package guards

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/space"
)

// Case is one run, with everything decided.
type Case struct {
	Number    uint64
	Guard     Kind
	Resources int
	RoundTrip time.Duration // to what guards
	Patience  time.Duration // how long a writer waits for an answer
	Terms     []Term
	Acts      []Act
}

// Kind is which guard stands before the resources, and where.
type Kind int

// The kinds.
const (
	InProcess Kind = iota // fence.Guard, one for each resource; a write takes no time of the clock
	InMemory              // fence.Memory
	OverHTTP              // the same, behind fence.Handler and fence.Transport
	InRedis               // fence.RedisGuard
	Relayed               // fence.Handler asks a fence.RedisGuard, and what it lets pass writes by one
	kinds
)

func (k Kind) String() string {
	return [...]string{"in the process", "in memory", "over http", "in redis", "relayed"}[k]
}

// local reports whether the guard is in the writers' own process.
func (k Kind) local() bool { return k <= InMemory }

// web reports whether writers send requests.
func (k Kind) web() bool { return k == OverHTTP || k == Relayed }

// Term is somebody's time as the leader of a resource.
type Term struct {
	Resource int
	Writer   int // one of writers
	Token    uint64
	From, To time.Duration // it leads; its context is done then
	After    time.Duration // it writes on for so long, as who was suspended
	Bound    bool          // what it calls has the term's context, and ends with it
	Checks   bool          // it makes itself known before it writes
	Pace     time.Duration
	Takes    time.Duration // a write, where it is made, at the most
	Hangs    time.Duration // one of its writes; 0: none does
	Beside   int           // so many of its writes go on at a time
	Repeats  bool          // what has failed it sends again
}

func (t Term) String() string {
	var w space.Words
	w.Add(true, "r%d w%d token %d from %v to %v", t.Resource+1, t.Writer+1, t.Token, t.From, t.To)
	w.Add(t.After > 0, "and on for %v", t.After)
	w.Add(t.Bound, "bound")
	w.Add(t.Checks, "checks")
	w.Add(true, "every %v", t.Pace)
	w.Add(t.Takes > 0, "taking %v", t.Takes)
	w.Add(t.Hangs > 0, "hanging %v", t.Hangs)
	w.Add(t.Beside > 1, "%d at a time", t.Beside)
	w.Add(t.Repeats, "repeats")
	return w.String()
}

// ActKind is what happens to the resources, or to the way to them.
type ActKind int

// The kinds of acts.
const (
	Cut     ActKind = iota // a way is cut, for Act.For
	Hangup                 // the connections of a way are closed at its end
	Strand                 // they are half open from now on
	Restart                // what guards ends, and is there again after Act.For
	Freeze                 // Redis answers nothing for Act.For
	Flush                  // SCRIPT FLUSH
	acts
)

func (k ActKind) String() string {
	return [...]string{"cut", "hang up", "strand", "restart", "freeze", "flush"}[k]
}

// Act is something that happens.
type Act struct {
	Kind  ActKind
	Way   int // a writer's; one more than those: the service's to Redis
	How   faults.Cut
	Store bool // that restarts: Redis, and not the service before it
	Keep  bool // it has what it had stored
	At    time.Duration
	For   time.Duration
}

func (a Act) String() string {
	return strings.TrimSpace(fmt.Sprintf("%v %s of way %d for %v %s", a.At, a.Kind, a.Way+1, a.For, a.How)) + fmt.Sprintf(" (Redis %v, data %v)", a.Store, a.Keep)
}

// Forgets reports whether a guard forgets its tokens in the case: what it admits then is
// nobody's fault but the operator's.
func (c Case) Forgets() bool {
	for _, a := range c.Acts {
		if c.forgets(a) {
			return true
		}
	}
	return false
}

// forgets reports whether the guard forgets its tokens by the act.
func (c Case) forgets(a Act) bool {
	switch {
	case a.Kind != Restart:
		return false
	case c.Guard == Relayed && !a.Store: // the service keeps nothing itself
		return false
	case c.Guard == InProcess: // it keeps the token of the last write, and none that it was only told
		return true
	default:
		return !a.Keep
	}
}

// pool is how many connections to Redis a process has at the most.
const pool = 100

// writers is how many processes there are.
const writers = 4

// Features are what is drawn in the case, each in a word or two.
func (c Case) Features() []string {
	set := map[string]bool{"guard:" + c.Guard.String(): true}
	for _, a := range c.Acts {
		set["act:"+a.Kind.String()] = true
	}
	for _, t := range c.Terms {
		for feature, has := range map[string]bool{
			"goes on": t.After > 0, "bound": t.Bound, "checks": t.Checks, "hangs": t.Hangs > 0, "beside": t.Beside > 1, "repeats": t.Repeats,
			"token 1": t.Token == 1, "token 2^53": t.Token == 1<<53, "token 2^63": t.Token == 1<<63, "token 2^64-1": t.Token == math.MaxUint64,
		} {
			set[feature] = set[feature] || has
		}
	}
	return space.Features(set)
}

// Simpler are cases that are simpler in one thing.
func (c Case) Simpler() []Case {
	var all []Case
	add := func(change func(*Case)) {
		one := c
		one.Terms, one.Acts = slices.Clone(c.Terms), slices.Clone(c.Acts)
		change(&one)
		all = append(all, one)
	}
	for i := range c.Acts {
		add(func(one *Case) { one.Acts = slices.Delete(one.Acts, i, i+1) })
	}
	for i, t := range c.Terms {
		others := func(other Term) bool { return other.Resource == t.Resource && other != t }
		if slices.ContainsFunc(c.Terms, others) { // somebody leads each resource in the end
			add(func(one *Case) { one.Terms = slices.Delete(one.Terms, i, i+1) })
		}
	}
	for i, t := range c.Terms {
		plain := Term{Resource: t.Resource, Writer: t.Writer, Token: t.Token, From: t.From, To: t.To, Pace: t.Pace, Beside: 1}
		if t != plain {
			add(func(one *Case) { one.Terms[i] = plain })
		}
	}
	return all
}
