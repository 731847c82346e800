package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
)

// simulation draws a history: clients with random delays before and after the
// store's moment of execution, some of them longer than a lease, and lost
// requests and replies. The store executes one call at a time, at real-valued
// times.
type simulation struct {
	rand    *rand.Rand
	audit   bool
	infos   float64 // share of the operations whose caller never learns
	slow    float64 // share of the delays that are as long as a lease
	ops     int
	clients int
	ttl     time.Duration

	events []history.Event
	todo   []action
	lastOp int64

	holder, nonce string
	token, last   uint64
	expires       time.Duration
}

// action is something to come.
type action struct {
	at time.Duration
	do func(now time.Duration)
}

type client struct {
	name  string
	token uint64
	nonce string
	next  int
}

func simulate(seed uint64, change func(*simulation)) *history.History {
	s := &simulation{
		rand: rand.New(rand.NewPCG(seed, 7)), ops: 60, clients: 3, ttl: 200 * ms, infos: 0.05, slow: 0.03, audit: true,
	}
	change(s)
	started := 0
	for i := range s.clients {
		c := &client{name: "n" + strconv.Itoa(i+1)}
		var loop func(now time.Duration)
		loop = func(now time.Duration) {
			if started++; started <= s.ops {
				s.act(c, now, func(then time.Duration) { s.at(then+s.think(), loop) })
			}
		}
		s.at(s.think(), loop)
	}
	for len(s.todo) > 0 {
		i := 0
		for j := range s.todo {
			if s.todo[j].at < s.todo[i].at {
				i = j
			}
		}
		a := s.todo[i]
		s.todo = slices.Delete(s.todo, i, i+1)
		a.do(a.at)
	}
	r := history.NewRecorder(nil)
	for _, e := range s.events {
		r.Record(e)
	}
	return r.History(history.Header{Nodes: []string{"n1", "n2", "n3"}, Lease: s.ttl, World: "virtual"})
}

func (s *simulation) at(t time.Duration, do func(time.Duration)) {
	s.todo = append(s.todo, action{t, do})
}

func (s *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(int64(d)))
}

func (s *simulation) think() time.Duration { return s.upTo(s.ttl/2) + ms }

func (s *simulation) delay() time.Duration {
	if s.rand.Float64() < s.slow {
		return s.upTo(3 * s.ttl / 2)
	}
	return s.upTo(3*ms) + 1
}

// act lets the client make one call; then continues it.
func (s *simulation) act(c *client, now time.Duration, then func(time.Duration)) {
	s.lastOp++
	in := history.Event{Kind: history.Invoke, Node: c.name, Op: s.lastOp, At: now, TTL: s.ttl, Try: uint64(s.lastOp)}
	switch p := s.rand.Float64(); {
	case p < 0.1:
		in.Call, in.TTL = history.Observe, 0
	case c.token != 0 && p < 0.2:
		in.Call, in.Token, in.Nonce, in.TTL = history.Release, c.token, c.nonce, 0
	case c.token != 0:
		in.Call, in.Token, in.Nonce = history.Renew, c.token, c.nonce
	default:
		if c.nonce == "" {
			c.next++
			c.nonce = fmt.Sprintf("%s-%d", c.name, c.next)
		}
		in.Call, in.Nonce = history.Acquire, c.nonce
	}
	s.events = append(s.events, in)
	arrives := now + s.delay()
	lost := s.rand.Float64() < s.infos
	if lost {
		gaveUp := now + s.upTo(s.ttl/4) + ms
		if s.rand.IntN(3) > 0 { // else the request itself is lost
			s.at(arrives, func(x time.Duration) { s.execute(in, x) })
		}
		s.at(gaveUp, func(r time.Duration) {
			out := history.Event{Kind: history.Info, Node: c.name, Op: in.Op, Call: in.Call, At: r, Error: "time-out"}
			s.events = append(s.events, out)
			then(r)
		})
		return
	}
	s.at(arrives, func(x time.Duration) {
		out := s.execute(in, x)
		s.at(x+s.delay(), func(r time.Duration) {
			out.At = r
			s.events = append(s.events, out)
			s.learn(c, in, out)
			then(r)
		})
	})
}

// learn is what the client makes of an answer.
func (s *simulation) learn(c *client, in, out history.Event) {
	switch {
	case in.Call == history.Acquire && out.Kind == history.Ok:
		c.token = out.Token
	case in.Call == history.Acquire:
		c.nonce = ""
	case in.Call == history.Release, in.Call == history.Renew && out.Kind == history.Fail:
		if s.rand.IntN(3) > 0 { // else it goes on with a lease that is over
			c.token, c.nonce = 0, ""
		}
	}
}

// execute is the store: it answers and records.
func (s *simulation) execute(in history.Event, x time.Duration) history.Event {
	out := history.Event{Node: in.Node, Op: in.Op, Call: in.Call, Kind: history.Fail}
	alive := s.holder != "" && x < s.expires
	mine := alive && s.token == in.Token && s.nonce == in.Nonce
	recorded := in.Token
	switch in.Call {
	case history.Observe:
		out.Kind = history.Ok
		if alive {
			out.Holder, out.Token = s.holder, s.token
		}
		return out
	case history.Acquire:
		again := alive && s.nonce == in.Nonce
		if alive && !again {
			out.Holder, out.Token, recorded = s.holder, s.token, s.token
			break
		}
		if !again {
			s.last++
			s.holder, s.nonce, s.token = in.Node, in.Nonce, s.last
		}
		s.expires = x + in.TTL
		out.Kind, out.Token, recorded = history.Ok, s.token, s.token
	case history.Renew:
		if mine {
			out.Kind, s.expires = history.Ok, x+in.TTL
		}
	case history.Release:
		if mine {
			out.Kind, s.holder = history.Ok, ""
		}
	}
	if s.audit {
		s.events = append(s.events, history.Event{
			Kind: history.Audit, At: x, Call: in.Call, Nonce: in.Nonce, Try: in.Try, Token: recorded,
			Applied: history.Bool(out.Kind == history.Ok),
		})
	}
	return out
}
