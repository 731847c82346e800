package crosscheck

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// size is about how many operations a history has.
type size int

const (
	small  size = iota // so few that every order can be tried
	medium             // so few that every order mostly can be tried
	large              // more
)

// drawn are the circumstances of a generated history.
type drawn struct {
	seed       uint64
	size       size
	mistake    mistake
	clients    int
	elections  int
	ops        int
	ttl        time.Duration
	clockError time.Duration
	unknown    float64 // share of the operations whose caller never learns
	lag        time.Duration
	slow       float64 // share of the delays that are as long as a lease
	think      time.Duration
	tokens     bool
	nonces     bool
	record     bool
	cut        float64 // share of the record that is there
	disturbed  string  // by what: "", "void", "shorten", "lengthen"
	beliefs    bool
	planted    bool // one certainly wrong answer is added to those of a right store
}

func (d *drawn) String() string {
	who := string(d.mistake)
	switch {
	case d.planted:
		who = "a right store, and one wrong answer"
	case d.mistake == none:
		who = "a right store"
	}
	return fmt.Sprintf("seed %d (%s, %d clients, %d elections, %d operations, ttl %v, clock error %v, %.0f%% unknown, tokens %v, nonces %v, record %v %.2f, faults %q)",
		d.seed, who, d.clients, d.elections, d.ops, d.ttl, d.clockError, 100*d.unknown, d.tokens, d.nonces, d.record, d.cut, d.disturbed)
}

// draw draws circumstances. Half of the stores are right.
func draw(seed uint64) *drawn {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &drawn{
		seed: seed, clients: 2 + r.IntN(9), elections: 1, cut: 1, tokens: r.IntN(8) > 0, nonces: r.IntN(6) > 0,
		ttl: time.Duration(float64(20*ms) * math.Pow(500, r.Float64())).Round(ms),
	}
	switch n := r.IntN(200); {
	case n < 150:
		d.size, d.ops = small, 2+r.IntN(8)
		d.clients = min(d.clients, 2+r.IntN(3))
	case n < 196:
		d.size, d.ops = medium, 10+r.IntN(30)
	default:
		d.size, d.ops = large, 50+r.IntN(550)
	}
	if r.IntN(10) == 0 && d.size != large {
		d.elections = 2 + r.IntN(2)
	}
	if r.IntN(2) == 0 {
		d.mistake = mistakes[r.IntN(len(mistakes))]
	}
	if r.IntN(4) == 0 {
		d.clockError = time.Duration(r.Int64N(int64(min(2*ms, d.ttl/20))))
	}
	d.unknown = []float64{0, 0, 0.05, 0.1, 0.2, 0.35, 0.5}[r.IntN(7)]
	d.slow = []float64{0, 0, 0.03, 0.1, 0.3}[r.IntN(5)]
	d.lag = []time.Duration{200 * time.Microsecond, 3 * ms, d.ttl / 20, d.ttl / 4}[r.IntN(4)]
	d.think = []time.Duration{d.ttl / 20, d.ttl / 3, d.ttl / 3, d.ttl}[r.IntN(4)]
	if d.record = d.nonces && r.IntN(2) == 0; d.mistake.ofRecord() {
		d.record, d.nonces = true, true
	}
	if d.record && r.IntN(8) == 0 && !d.mistake.ofRecord() {
		d.cut = r.Float64()
	}
	if r.IntN(8) == 0 {
		d.disturbed = []string{"void", "shorten", "lengthen"}[r.IntN(3)]
	}
	d.beliefs = d.tokens && d.nonces && d.mistake == none && d.disturbed == "" && r.IntN(2) == 0
	d.planted = d.size != small && d.mistake == none && d.tokens && d.nonces && d.disturbed == "" && !d.beliefs && r.IntN(2) == 0
	return d
}

// action is something to come.
type action struct {
	at time.Duration
	n  int // of two at one time the one planned first comes first
	do func(now time.Duration)
}

type actions []action

func (a actions) Len() int           { return len(a) }
func (a actions) Less(i, j int) bool { return cmp.Or(cmp.Compare(a[i].at, a[j].at), a[i].n-a[j].n) < 0 }
func (a actions) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *actions) Push(x any)        { *a = append(*a, x.(action)) }
func (a *actions) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// simulation makes a history: clients with delays before and after the moment
// in which the store executes their calls, and lost requests and replies.
type simulation struct {
	*drawn
	rand    *rand.Rand
	todo    actions
	planned int
	events  []history.Event
	started int
	lastOp  int64
	offsets map[string]time.Duration
	stores  []*store
	tries   map[string]uint64
}

// client is one node's part in one election.
type client struct {
	name     string
	election string
	store    *store
	attempts int
	nonce    string // of the attempt that it is at
	mine     string // nonce of the lease that it holds, for all it knows
	token    uint64 // of that lease
	holds    bool
	led      uint64   // token of the term in which it believes to lead; 0: it does not
	terms    []uint64 // that it has led
	until    time.Duration
}

// generate is the history, and how many mistakes the store made in it.
func (d *drawn) generate() (h *history.History, made int) {
	s := &simulation{drawn: d, rand: rand.New(rand.NewPCG(d.seed, 2)), offsets: map[string]time.Duration{}, tries: map[string]uint64{}}
	var names []string
	for i := range d.clients {
		name := fmt.Sprintf("n%d", i+1)
		names = append(names, name)
		if d.clockError > 0 {
			s.offsets[name] = time.Duration(s.rand.Int64N(int64(d.clockError))) - d.clockError/2
		}
	}
	for i := range d.elections {
		election := ""
		if d.elections > 1 {
			election = fmt.Sprintf("e%d", i+1)
		}
		s.stores = append(s.stores, s.open())
		for _, name := range names {
			c := &client{name: name, election: election, store: s.stores[i]}
			for range 1 + s.rand.IntN(10)/9 { // few do two things at a time
				s.after(s.upTo(d.think)+10*ms, func(now time.Duration) { s.next(c, now) })
			}
		}
	}
	if d.disturbed != "" {
		s.after(10*ms+s.upTo(3*d.ttl), func(now time.Duration) { s.disturb(now, 1) })
	}
	for len(s.todo) > 0 {
		a := heap.Pop(&s.todo).(action)
		a.do(a.at)
	}
	for _, x := range s.stores {
		made += x.made
	}
	h = s.history(names)
	if d.planted && plant(h, s.rand) != "" {
		made++
	}
	return h, made
}

func (s *simulation) open() *store {
	tolerated := 2*ms + 2*s.clockError + s.ttl/10_000
	x := &store{
		rand: s.rand, mistake: s.mistake, rate: []float64{0.2, 0.5, 1}[s.rand.IntN(3)], share: 0.05 + 0.5*s.rand.Float64(),
		beyond: tolerated + ms/2 + s.upTo(5*ms), tokens: s.tokens, stride: 1,
	}
	if s.tokens && s.rand.IntN(3) == 0 {
		x.stride, x.last = 3, s.rand.Uint64N(100)
	}
	if s.rand.IntN(2) == 0 {
		x.jitter = tolerated * 9 / 10
	}
	return x
}

func (s *simulation) history(names []string) *history.History {
	for _, x := range s.stores {
		if !s.record {
			break
		}
		last := time.Duration(0)
		for _, e := range x.entries[:int(math.Ceil(s.cut*float64(len(x.entries))))] {
			last = max(last, e.At+s.upTo(s.lag+1))
			e.At = last
			s.events = append(s.events, e)
		}
	}
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	for i := range s.events {
		s.events[i].Seq = int64(i) + 1
	}
	return &history.History{
		Header: history.Header{
			Version: history.Version, Scenario: "generated", Subject: "simulated", World: "virtual", Seed: s.seed, Nodes: names, Lease: s.ttl,
			ClockError: s.clockError, DriftPPM: drift, Margin: margin,
		},
		Events: s.events,
	}
}

const (
	drift  = 10_000 // millionths
	margin = 2*ms + ms/2
)

func (s *simulation) after(t time.Duration, do func(time.Duration)) {
	s.planned++
	heap.Push(&s.todo, action{t, s.planned, do})
}

func (s *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(max(1, int64(d))))
}

func (s *simulation) delay() time.Duration {
	if s.rand.Float64() < s.slow {
		return s.upTo(3*s.ttl/2) + 1
	}
	return s.upTo(s.lag) + 1
}

// resume is when the client makes its next call. Some come just when the lease
// is about to be over, where all that a tolerance allows is seen.
func (s *simulation) resume(c *client, now time.Duration) time.Duration {
	near := 2 * (2*ms + 2*s.clockError + s.ttl/10_000)
	if then := c.store.over - near + s.upTo(2*near); s.rand.IntN(5) == 0 && c.store.held && then > now && then < now+2*s.ttl {
		return then
	}
	return now + s.upTo(s.think) + 1
}

// note records an event that its node stamps.
func (s *simulation) note(e history.Event, at time.Duration) {
	e.At = at + s.offsets[e.Node]
	s.events = append(s.events, e)
}

// next lets the client make a call, and continues it afterwards.
func (s *simulation) next(c *client, now time.Duration) {
	if s.started++; s.started > s.ops*s.elections {
		return
	}
	s.lastOp++
	s.tries[c.name]++
	in := history.Event{Kind: history.Invoke, Node: c.name, Election: c.election, Op: s.lastOp}
	if s.record || s.seed%2 == 0 {
		in.Try = s.tries[c.name]
	}
	s.choose(c, &in)
	s.note(in, now)
	if in.Call == history.Release {
		s.depose(c, now, history.Resigned)
	}
	if s.seed%4 == 0 && in.Call != history.Observe && s.rand.IntN(6) == 0 { // refused for another reason
		s.after(now+s.delay(), func(t time.Duration) {
			s.note(history.Event{Kind: history.Fail, Node: c.name, Election: c.election, Op: in.Op, Call: in.Call, Error: "NOPERM this user has no permissions"}, t)
			if in.Call == history.Release {
				c.forget()
			}
			s.after(s.resume(c, t), func(t time.Duration) { s.next(c, t) })
		})
		return
	}
	if s.rand.Float64() >= s.unknown {
		s.known(c, in, now)
		return
	}
	gaveUp := now + s.upTo(s.ttl/2) + 1
	switch s.rand.IntN(4) {
	case 0: // the request is lost
	case 1: // it comes late
		s.after(now+s.upTo(4*s.ttl)+1, func(t time.Duration) { c.store.execute(&in, t) })
	default: // the reply is lost
		s.after(now+s.delay(), func(t time.Duration) { c.store.execute(&in, t) })
	}
	if s.rand.IntN(20) == 0 { // it is never heard of again
		return
	}
	s.after(gaveUp, func(t time.Duration) {
		s.note(history.Event{Kind: history.Info, Node: c.name, Election: c.election, Op: in.Op, Call: in.Call, Error: "time-out"}, t)
		if in.Call == history.Acquire && s.rand.IntN(3) == 0 {
			c.nonce = ""
		}
		if in.Call == history.Release && s.rand.IntN(2) == 0 {
			c.forget()
		}
		s.after(s.resume(c, t), func(t time.Duration) { s.next(c, t) })
	})
}

// forget lets the client hold nothing.
func (c *client) forget() { c.holds, c.token, c.mine, c.nonce = false, 0, "", "" }

// known makes a call whose answer comes back.
func (s *simulation) known(c *client, in history.Event, now time.Duration) {
	s.after(now+s.delay(), func(t time.Duration) {
		out := c.store.execute(&in, t)
		s.after(t+s.delay(), func(t time.Duration) {
			s.note(out, t)
			s.learn(c, &in, &out, now, t)
			s.after(s.resume(c, t), func(t time.Duration) { s.next(c, t) })
		})
	})
}

// choose draws the call.
func (s *simulation) choose(c *client, in *history.Event) {
	switch p := s.rand.Float64(); {
	case p < 0.12:
		in.Call = history.Observe
	case c.holds && p < 0.3:
		in.Call, in.Token, in.Nonce = history.Release, c.token, c.mine
		if s.nonces && s.rand.IntN(6) == 0 && !s.beliefs { // it may be of a later lease of the same attempt
			in.Token = 0
		}
	case c.holds && s.nonces && p < 0.4: // the same attempt again
		in.Call, in.Nonce, in.TTL = history.Acquire, c.mine, s.ttl
	case c.holds:
		in.Call, in.Token, in.Nonce, in.TTL = history.Renew, c.token, c.mine, s.ttl
	default:
		if s.nonces && c.nonce == "" {
			c.attempts++
			c.nonce = fmt.Sprintf("%s/%d%s", c.name, c.attempts, c.election)
		}
		in.Call, in.Nonce, in.TTL = history.Acquire, c.nonce, s.ttl
	}
	if s.size == small && !s.beliefs && s.rand.IntN(8) == 0 && in.TTL != 0 { // leases of several lengths
		in.TTL = s.ttl/2 + s.upTo(s.ttl)
	}
}

// learn is what the client makes of an answer.
func (s *simulation) learn(c *client, in, out *history.Event, asked, now time.Duration) {
	until := asked + s.offsets[c.name] + in.TTL - in.TTL*drift/1_000_000 - margin - 2*s.clockError - 1
	switch {
	case in.Call == history.Acquire && out.Kind == history.Ok:
		if s.tokens && out.Token < c.token { // an answer that comes late
			return
		}
		c.holds, c.token, c.mine = true, out.Token, in.Nonce
		s.believe(c, out.Token, until, now)
	case in.Call == history.Acquire:
		if c.nonce == in.Nonce && s.rand.IntN(3) > 0 {
			c.nonce = ""
		}
	case in.Call == history.Renew && out.Kind == history.Ok:
		if c.led == in.Token {
			s.believe(c, in.Token, until, now)
		}
	case in.Call == history.Release, in.Call == history.Renew:
		if c.led == in.Token {
			s.depose(c, now, history.Superseded)
		}
		if s.rand.IntN(4) > 0 || in.Call == history.Release { // else it goes on with a lease that is over
			c.forget()
		}
	}
}

// believe notes that the client believes to lead until then.
func (s *simulation) believe(c *client, token uint64, until, now time.Duration) {
	e := history.Event{Kind: history.Extended, Node: c.name, Election: c.election, Token: token, Until: history.At(until)}
	if c.led != token {
		e.Kind, c.until = history.Elected, 0
		if slices.Contains(c.terms, token) { // it is over for it
			return
		}
		c.terms = append(c.terms, token)
	}
	if s.beliefs && until > now+s.offsets[c.name] && until > c.until {
		c.led, c.until = token, until
		s.note(e, now)
	}
}

func (s *simulation) depose(c *client, now time.Duration, why history.Why) {
	if s.beliefs && c.led != 0 {
		s.note(history.Event{Kind: history.Deposed, Node: c.name, Election: c.election, Token: c.led, Why: why}, now)
	}
	c.led = 0
}

// disturb lets a fault touch the leases now and then.
func (s *simulation) disturb(now time.Duration, n int) {
	e := history.Event{Kind: history.Fault, ID: fmt.Sprintf("f%d", n), Fault: "store-clock-jump", Targets: []string{history.StoreTarget}, Phase: history.On}
	switch s.disturbed {
	case "void":
		e.Fault, e.Void = "key-deleted", true
	case "shorten":
		e.Shorten = s.upTo(s.ttl) + 1
	default:
		e.Shorten = -s.upTo(s.ttl) - 1
	}
	s.note(e, now)
	s.after(now+s.delay(), func(t time.Duration) {
		for _, x := range s.stores {
			switch {
			case e.Void:
				x.held = false
			case e.Shorten > 0 || t < x.over: // what is over does not come back
				x.over -= e.Shorten
			}
		}
		s.after(t+s.delay(), func(off time.Duration) {
			e.Phase, e.Effective = history.Off, history.Bool(true)
			s.note(e, off)
			if n < 3 && s.started <= s.ops*s.elections {
				s.after(off+s.upTo(3*s.ttl)+1, func(t time.Duration) { s.disturb(t, n+1) })
			}
		})
	})
}
