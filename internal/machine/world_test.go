package machine

import (
	"container/heap"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is a store, a network and some machines in virtual time: just enough to
// see machines compete. Times are the store's.
type world struct {
	now      time.Duration
	events   eventHeap
	sequence int
	random   splitmix
	nodes    []*node

	delay func() time.Duration // of one message
	lost  func() bool

	// The store: one lease.
	id, nonce string
	token     uint64
	until     time.Duration

	commands  []time.Duration // arrivals of acquire
	lastToken uint64          // of the latest elected event
	broken    string          // the first promise that was broken
}

type node struct {
	w       *world
	m       *Machine
	ppm     int64         // its clock's rate against the store's, less one
	offset  time.Duration // its clock's start
	work    time.Duration // how long its work takes to end
	paused  time.Duration // until
	queue   []Input       // arrived during a pause
	wake    int           // number of the wake-up event that counts
	live    bool          // it leads unless its deadline has passed
	token   uint64
	until   time.Duration // deadline, on the store's clock
	deposed int
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

func newWorld(nodes int, cfg Config) *world {
	w := &world{random: splitmix(cfg.Seed), lost: func() bool { return false }}
	w.delay = func() time.Duration { return 50 * time.Microsecond }
	for i := range nodes {
		cfg.ID = fmt.Sprintf("n%d", i+1)
		cfg.Seed = w.random.next()
		n := &node{w: w, m: New(cfg), offset: time.Duration(i) * time.Hour}
		w.nodes = append(w.nodes, n)
	}
	return w
}

func (w *world) start() {
	for _, n := range w.nodes {
		n.input(Input{Kind: Start})
	}
}

func (w *world) after(d time.Duration, do func()) {
	w.sequence++
	heap.Push(&w.events, event{w.now + d, w.sequence, do})
}

// run lets the world go on until a time.
func (w *world) run(until time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= until && w.broken == "" {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	w.now = max(w.now, until)
}

func (w *world) pick(most time.Duration) time.Duration {
	return time.Duration(w.random.next() % uint64(most+1))
}

// local is the node's clock; global is when it shows a time, rounded up.
func (n *node) local() time.Duration {
	return n.offset + n.w.now + time.Duration(int64(n.w.now)*n.ppm/1e6)
}

func (n *node) global(local time.Duration) time.Duration {
	return time.Duration(float64(local-n.offset)/(1+float64(n.ppm)/1e6)) + 2*time.Microsecond
}

func (n *node) input(in Input) {
	if n.w.now < n.paused {
		n.queue = append(n.queue, in)
		return
	}
	out := n.m.Step(n.local(), in)
	for _, t := range out.Transitions {
		n.apply(t)
	}
	for _, r := range out.Requests {
		n.send(r)
	}
	n.wake++
	if number := n.wake; out.Wake != Never {
		n.w.after(max(n.global(out.Wake)-n.w.now, 1), func() {
			if number == n.wake {
				n.input(Input{})
			}
		})
	}
}

func (n *node) pause(d time.Duration) {
	n.paused = n.w.now + d
	n.w.after(d, func() {
		if n.w.now < n.paused {
			return
		}
		queue := n.queue
		n.queue = nil
		n.input(Input{})
		for _, in := range queue {
			n.input(in)
		}
	})
}

func (n *node) apply(t Transition) {
	switch t.Kind {
	case Elected:
		if t.Token <= n.w.lastToken {
			n.w.fail("token %d was elected after %d", t.Token, n.w.lastToken)
		}
		n.w.lastToken = t.Token
		n.live, n.token, n.until = true, t.Token, n.global(t.Until)-4*time.Microsecond
		n.alone()
	case Extended:
		n.until = n.global(t.Until) - 4*time.Microsecond
		n.alone()
	case Deposed:
		n.live = false
		n.deposed++
		n.w.after(n.work, func() { n.input(Input{Kind: WorkEnded, Token: t.Token}) })
	case RoleChanged:
		if token := n.token; t.Role == Draining {
			n.w.after(n.work, func() { n.input(Input{Kind: WorkEnded, Token: token}) })
		}
	}
}

func (n *node) leads() bool { return n.live && n.w.now < n.until }

// alone demands that nobody else leads now.
func (n *node) alone() {
	for _, other := range n.w.nodes {
		if other != n && other.leads() {
			n.w.fail("at %v both %s (token %d) and %s (token %d) lead", n.w.now, n.m.cfg.ID, n.token, other.m.cfg.ID, other.token)
		}
	}
}

func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (n *node) send(r Request) {
	w := n.w
	if w.lost() {
		w.after(w.delay(), func() { n.input(Input{Kind: Answer, Request: r.Number, Err: errLost}) })
		return
	}
	w.after(w.delay(), func() {
		in := w.execute(n.m.cfg.ID, r)
		in.Kind, in.Request = Answer, r.Number
		if w.lost() {
			in = Input{Kind: Answer, Request: r.Number, Err: errLost}
		}
		w.after(w.delay(), func() { n.input(in) })
	})
}

// execute is the store. A lease ends up to a millisecond early, because stores
// round.
func (w *world) execute(id string, r Request) Input {
	until := (w.now + r.TTL).Truncate(ms)
	held := w.now < w.until
	mine := held && w.id == id && w.nonce == r.Nonce
	switch {
	case r.Call == Acquire && held && !mine:
		w.commands = append(w.commands, w.now)
		return Input{Result: Held, Holder: w.id, Token: w.token, Remaining: (w.until - w.now).Truncate(ms), Waiters: len(w.nodes)}
	case r.Call == Acquire:
		w.commands = append(w.commands, w.now)
		w.until = until
		if !mine {
			w.id, w.nonce, w.token = id, r.Nonce, max(w.token, r.Floor)+1
			w.tell(Input{Kind: HintGranted, Token: w.token, Remaining: r.TTL, Waiters: len(w.nodes)})
		}
		return Input{Result: Done, Token: w.token, Waiters: len(w.nodes)}
	case !mine || w.token != r.Token:
		return Input{Result: NotHeld}
	case r.Call == Renew:
		w.until = until
	case r.Call == Release:
		w.until = 0
		w.tell(Input{Kind: HintReleased, Token: w.token, Waiters: len(w.nodes)})
	}
	return Input{Result: Done}
}

func (w *world) tell(hint Input) {
	for _, n := range w.nodes {
		if !w.lost() {
			w.after(w.delay(), func() { n.input(hint) })
		}
	}
}

func (w *world) leader() *node {
	for _, n := range w.nodes {
		if n.leads() {
			return n
		}
	}
	return nil
}

// Whatever delays, losses, pauses, resignations and clock rates within the
// configured drift there are: never do two machines lead at once, tokens
// increase, and when all is quiet again somebody leads within a few leases and
// stays.
func TestNeverTwoLeaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lease = 2 * sec
		cfg := Config{Lease: lease, Renew: lease / 3, Retry: 150 * ms, RequestTimeout: 400 * ms, Drift: 0.01}
		cfg.Seed = rapid.Uint64().Draw(t, "seed")
		w := newWorld(rapid.IntRange(2, 4).Draw(t, "nodes"), cfg)
		for _, n := range w.nodes {
			n.ppm = rapid.SampledFrom([]int64{-9900, -5000, 0, 5000, 9900}).Draw(t, "ppm")
			n.work = rapid.SampledFrom([]time.Duration{0, 50 * ms, 3 * sec}).Draw(t, "work")
		}
		slow := rapid.SampledFrom([]time.Duration{ms, 100 * ms, 500 * ms, 3 * sec}).Draw(t, "slow")
		loss := rapid.Uint64Range(0, 50).Draw(t, "loss")
		calm := false
		w.delay = func() time.Duration {
			if !calm && w.random.next()%4 == 0 {
				return w.pick(slow)
			}
			return w.pick(ms)
		}
		w.lost = func() bool { return !calm && w.random.next()%100 < loss }
		const stormy = 60 * sec
		for range rapid.IntRange(0, 30).Draw(t, "disturbances") {
			n := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")]
			at := time.Duration(rapid.Int64Range(0, int64(stormy)).Draw(t, "at"))
			if rapid.Bool().Draw(t, "resigns") {
				w.after(at, func() { n.input(Input{Kind: Resign}) })
			} else {
				d := time.Duration(rapid.Int64Range(0, int64(3*lease)).Draw(t, "pause"))
				w.after(at, func() { n.pause(d) })
			}
		}
		w.start()
		w.run(stormy)
		calm = true
		w.run(stormy + 8*lease) // pauses and slow messages end, and then one fail-over
		first := w.leader()
		if w.broken == "" && first == nil {
			t.Fatal("nobody leads although all is quiet")
		}
		w.run(stormy + 30*lease)
		if w.broken == "" && w.leader() != first {
			t.Fatal("the leader changed although all is quiet")
		}
		if w.broken != "" {
			t.Fatal(w.broken)
		}
	})
}

// A herd after a release: fifty waiters cost few commands and few at the same
// time, and the lease is free for a few milliseconds only. The same when the
// lease expires because its holder is dead.
func TestHerdAfterRelease(t *testing.T) {
	for _, crash := range []bool{false, true} {
		for seed := range uint64(20) {
			w := newWorld(50, Config{Seed: seed, Drift: 0.01})
			w.start()
			w.run(65 * sec) // all have asked at about one time, some seconds ago
			leader := w.leader()
			if leader == nil {
				t.Fatal("nobody leads after a minute")
			}
			w.commands = nil
			free := w.now
			if crash {
				leader.pause(time.Hour)
				free = w.until
			} else {
				leader.input(Input{Kind: Resign})
			}
			w.run(free + 500*ms)
			if w.leader() == nil || w.leader() == leader {
				t.Fatalf("crash %t: no other leader 500ms later", crash)
			}
			commands := slices.DeleteFunc(w.commands, func(at time.Duration) bool { return at < free })
			soon := slices.DeleteFunc(slices.Clone(commands), func(at time.Duration) bool { return at > free+50*ms })
			if len(soon) > 12 || len(commands) > 49 { // who has not asked for a lease does within a Retry
				t.Errorf("crash %t, seed %d: %d commands of 49 waiters, %d at once", crash, seed, len(commands), len(soon))
			}
			if at := mostWithin(commands, 100*time.Microsecond); at > 7 {
				t.Errorf("crash %t, seed %d: %d commands within 100µs", crash, seed, at)
			}
			if d := commands[0] - free; d > 5*ms {
				t.Errorf("crash %t, seed %d: the lease was free for %v", crash, seed, d)
			}
		}
	}
}

// mostWithin is the largest number of times within a span.
func mostWithin(times []time.Duration, span time.Duration) int {
	most := 0
	for i := range times {
		n := 0
		for _, at := range times[i:] {
			if at < times[i]+span {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// The same seeds give the same run, step by step; other seeds do not.
func TestSameSeedSameRun(t *testing.T) {
	trace := func(seed uint64) []time.Duration {
		w := newWorld(5, Config{Seed: seed, Drift: 0.01})
		w.lost = func() bool { return w.random.next()%10 == 0 }
		w.start()
		w.run(10 * 60 * sec)
		return w.commands
	}
	if !slices.Equal(trace(1), trace(1)) {
		t.Error("two runs with one seed differ")
	}
	if slices.Equal(trace(1), trace(2)) {
		t.Error("two seeds give one run")
	}
}

// BenchmarkMachineStep is one step of a leader, renewals included.
func BenchmarkMachineStep(b *testing.B) {
	m := New(Config{ID: "n1", Drift: 0.01})
	now := time.Duration(0)
	out := m.Step(now, Input{Kind: Start})
	b.ReportAllocs()
	for b.Loop() {
		if len(out.Requests) > 0 {
			out = m.Step(now, Input{Kind: Answer, Request: out.Requests[0].Number, Result: Done, Token: 1})
			continue
		}
		now = out.Wake
		out = m.Step(now, Input{})
	}
}
