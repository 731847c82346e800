package checker

import (
	"container/heap"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
)

// watch draws the history of a long election as a virtual world records it,
// event by event, in the order of their times: candidates that wait, one that
// leads, renews and writes, a store that records, and now and then a fault. The
// store and the candidates keep every promise.
type watch struct {
	rand   *rand.Rand
	emit   func(e *history.Event)
	lease  time.Duration
	faults time.Duration // between two of them, on average; 0: none
	lossy  bool          // the store may lose its data
	lost   float64       // share of the replies that are lost

	now   time.Duration
	seq   int64
	todo  agenda
	order int64
	ops   int64
	fault int
	nodes []*watcher

	holder, nonce string
	token, last   uint64
	expires       time.Duration
	fence         uint64
	value         string
	down          bool // the store answers nobody
}

// watcher is one candidate.
type watcher struct {
	name  string
	life  int // of its process
	up    bool
	cut   bool
	token uint64
	nonce string
	until time.Duration
	try   uint64
	named int
	held  []func() // what waits for the end of a pause
	pause bool
	heard map[int64]bool // its operations that are under way
}

// errand is something to come.
type errand struct {
	at    time.Duration
	order int64
	do    func()
}

type agenda []errand

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(errand)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = errand{}
	*a = (*a)[:last]
	return x
}

func newWatch(seed uint64, emit func(e *history.Event), change func(*watch)) *watch {
	w := &watch{rand: rand.New(rand.NewPCG(seed, 11)), emit: emit, lease: 30 * time.Second, faults: 600 * time.Second, lossy: true, lost: 0.0005}
	change(w)
	for i := range 5 {
		n := &watcher{name: "n" + strconv.Itoa(i+1), heard: map[int64]bool{}}
		w.nodes = append(w.nodes, n)
		w.in(w.upTo(time.Second), func() { w.start(n) })
	}
	if w.faults > 0 {
		w.in(w.lease*2, w.strike)
	}
	w.in(w.lease, w.look)
	return w
}

func (w *watch) header() history.Header {
	h := history.Header{
		Version: history.Version, Scenario: "watch", Subject: "itself", World: "virtual", Lease: w.lease,
		DriftPPM: 10_000, Renew: w.lease / 3, Retry: w.lease / 10, FailoverBound: 2 * w.lease,
	}
	for _, n := range w.nodes {
		h.Nodes = append(h.Nodes, n.name)
	}
	return h
}

func (w *watch) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(d))) + 1
}
func (w *watch) delay() time.Duration { return ms/2 + w.upTo(2*ms) }

func (w *watch) in(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.todo, errand{w.now + d, w.order, do})
}

func (w *watch) record(e history.Event) {
	w.seq++
	e.Seq, e.At = w.seq, w.now
	w.emit(&e)
}

// run goes on until n events are recorded.
func (w *watch) run(n int64) {
	for w.seq < n {
		x := heap.Pop(&w.todo).(errand)
		w.now = x.at
		x.do()
	}
}

// after lets a candidate go on a little later, unless its process has ended by
// then; a paused one goes on when it is resumed.
func (w *watch) after(n *watcher, d time.Duration, do func()) {
	life := n.life
	w.in(d, func() {
		switch {
		case n.life != life:
		case n.pause:
			n.held = append(n.held, do)
		default:
			do()
		}
	})
}

func (w *watch) start(n *watcher) {
	n.up, n.life = true, n.life+1
	w.record(history.Event{Kind: history.Start, Node: n.name})
	w.after(n, w.upTo(time.Second), func() { w.acquire(n) })
}

// call sends a request to the store; then tells the answer, whose kind is Info
// if it did not come.
func (w *watch) call(n *watcher, e history.Event, then func(out history.Event)) {
	w.ops++
	e.Kind, e.Node, e.Op = history.Invoke, n.name, w.ops
	if e.Call != history.Observe {
		n.try++
		e.Try = n.try
	}
	w.record(e)
	op := e.Op
	n.heard[op] = true
	answered := func(out history.Event) {
		if !n.heard[op] {
			return // it gave up
		}
		delete(n.heard, op)
		out.Node, out.Op, out.Call = n.name, op, e.Call
		w.record(out)
		then(out)
	}
	w.in(w.delay(), func() {
		if n.cut || w.down {
			return
		}
		out := w.execute(e)
		if w.rand.Float64() < w.lost {
			return
		}
		w.in(w.delay(), func() {
			if !n.cut && !w.down {
				w.after(n, 0, func() { answered(out) })
			}
		})
	})
	w.after(n, w.lease/10, func() { answered(history.Event{Kind: history.Info, Error: "time-out"}) })
}

// execute is the store.
func (w *watch) execute(in history.Event) history.Event {
	out := history.Event{Kind: history.Fail}
	alive := w.holder != "" && w.now < w.expires
	mine := alive && w.nonce == in.Nonce
	recorded := in.Token
	switch in.Call {
	case history.Observe:
		out.Kind = history.Ok
		if alive {
			out.Holder, out.Token = w.holder, w.token
		}
		return out
	case history.Acquire:
		if alive && !mine {
			out.Holder, out.Token, recorded = w.holder, w.token, w.token
			break
		}
		if !mine {
			w.last++
			w.holder, w.nonce, w.token = in.Node, in.Nonce, w.last
		}
		out.Kind, out.Token, recorded = history.Ok, w.token, w.token
		w.expires = w.now + in.TTL
	case history.Renew:
		if mine {
			out.Kind, w.expires = history.Ok, w.now+in.TTL
		}
	case history.Release:
		if mine {
			out.Kind, w.holder = history.Ok, ""
		}
	}
	w.record(history.Event{
		Kind: history.Audit, Call: in.Call, Nonce: in.Nonce, Try: in.Try, Token: recorded, Applied: history.Bool(out.Kind == history.Ok),
	})
	return out
}

func (w *watch) acquire(n *watcher) {
	if n.nonce == "" {
		n.named++
		n.nonce = n.name + "/" + strconv.Itoa(n.named)
	}
	sent := w.now
	w.call(n, history.Event{Call: history.Acquire, Nonce: n.nonce, TTL: w.lease}, func(out history.Event) {
		switch out.Kind {
		case history.Ok:
			n.token, n.until = out.Token, sent+w.lease*99/100-ms
			if n.until <= w.now { // granted, but too late to believe in
				n.token, n.nonce = 0, ""
				w.after(n, w.lease/10, func() { w.acquire(n) })
				return
			}
			w.record(history.Event{Kind: history.Elected, Node: n.name, Token: n.token, Until: history.At(n.until)})
			w.lead(n)
		case history.Info:
			w.after(n, w.lease/10, func() { w.acquire(n) })
		default:
			n.nonce = ""
			w.after(n, max(w.expires-w.now, 0)+w.upTo(20*ms), func() { w.acquire(n) })
		}
	})
}

// lead renews and writes until the belief is over.
func (w *watch) lead(n *watcher) {
	token := n.token
	leads := func() bool { return n.token == token && w.now < n.until }
	over := func(why history.Why) {
		if n.token == token {
			w.record(history.Event{Kind: history.Deposed, Node: n.name, Token: token, Why: why})
			n.token, n.nonce = 0, ""
			w.after(n, w.lease/10, func() { w.acquire(n) })
		}
	}
	var expire func()
	expire = func() {
		if n.token == token && w.now >= n.until {
			over(history.Expired)
		} else if n.token == token {
			w.after(n, n.until-w.now, expire)
		}
	}
	var renew, write func()
	renew = func() {
		if !leads() {
			return
		}
		sent := w.now
		w.call(n, history.Event{Call: history.Renew, Nonce: n.nonce, Token: token, TTL: w.lease}, func(out history.Event) {
			switch {
			case out.Kind == history.Ok && leads():
				n.until = sent + w.lease*99/100 - ms
				w.record(history.Event{Kind: history.Extended, Node: n.name, Token: token, Until: history.At(n.until)})
				w.after(n, sent+w.lease/3-w.now, renew)
			case out.Kind == history.Info:
				w.after(n, ms, renew)
			case out.Kind == history.Fail:
				over(history.Superseded)
			}
		})
	}
	write = func() {
		if leads() {
			w.write(n, token)
			w.after(n, w.lease/4+w.upTo(w.lease/10), write)
		}
	}
	w.after(n, n.until-w.now, expire)
	w.after(n, w.lease/3, renew)
	w.after(n, ms, write)
}

// write is what the resource records.
func (w *watch) write(n *watcher, token uint64) {
	w.ops++
	e := history.Event{Kind: history.Invoke, Call: history.Write, Node: n.name, Token: token, Op: w.ops, Value: n.name + "=" + strconv.FormatInt(w.ops, 10)}
	w.record(e)
	e.Kind = history.Ok
	if token < w.fence {
		e.Kind, e.Fence = history.Fail, w.fence
	} else {
		w.fence, w.value = token, e.Value
	}
	w.record(e)
}

// look lets somebody observe the lease, or read what was written.
func (w *watch) look() {
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	switch {
	case !n.up || n.pause:
	case w.rand.IntN(6) == 0:
		w.ops++
		e := history.Event{Kind: history.Invoke, Call: history.Read, Node: n.name, Op: w.ops}
		w.record(e)
		e.Kind, e.Value, e.Token = history.Ok, w.value, w.fence
		w.record(e)
	default:
		w.call(n, history.Event{Call: history.Observe}, func(history.Event) {})
	}
	w.in(w.lease/4+w.upTo(w.lease/4), w.look)
}

func (w *watch) leader() *watcher {
	for _, n := range w.nodes {
		if n.token != 0 && w.now < n.until && n.up {
			return n
		}
	}
	return w.nodes[0]
}

// strike puts a fault on, takes it off, and comes back.
func (w *watch) strike() {
	n := w.leader()
	if w.rand.IntN(3) == 0 {
		n = w.nodes[w.rand.IntN(len(w.nodes))]
	}
	kinds := []string{"crash", "partition", "pause", "resign", "store-pause", "store-loss"}
	if !w.lossy {
		kinds = kinds[:5]
	}
	w.fault++
	e := history.Event{Kind: history.Fault, ID: "f" + strconv.Itoa(w.fault), Fault: kinds[w.rand.IntN(len(kinds))], Targets: []string{n.name}, Phase: history.On}
	if e.Fault[:5] == "store" {
		e.Targets = []string{history.StoreTarget}
	}
	e.Void = e.Fault == "store-loss"
	w.record(e)
	end := w.bite(n, e.Fault)
	since := w.now
	length := 2*ms + w.upTo(3*w.lease)
	if e.Void || e.Fault == "resign" {
		length = 5 * ms
	}
	w.in(length, func() {
		end()
		e.Phase, e.Effective, e.Since = history.Off, history.Bool(true), history.At(since)
		w.record(e)
		w.in(w.faults/2+w.upTo(w.faults), w.strike)
	})
}

// bite lets the fault take effect and returns what ends it.
func (w *watch) bite(n *watcher, name string) (end func()) {
	switch name {
	case "crash":
		n.up, n.life, n.token, n.nonce, n.heard, n.held = false, n.life+1, 0, "", map[int64]bool{}, nil
		w.record(history.Event{Kind: history.Exit, Node: n.name, Why: history.Killed})
		return func() { w.start(n) }
	case "partition":
		n.cut = true
		return func() { n.cut = false }
	case "pause":
		n.pause = true
		return func() {
			n.pause = false
			held := n.held
			n.held = nil
			for _, do := range held {
				w.after(n, 1, do)
			}
		}
	case "store-pause":
		w.down = true
		return func() { w.down = false }
	case "store-loss":
		w.holder = "" // the token's counter is kept elsewhere
	case "resign":
		if token, nonce := n.token, n.nonce; token != 0 && w.now < n.until {
			w.record(history.Event{Kind: history.Deposed, Node: n.name, Token: token, Why: history.Resigned})
			n.token, n.nonce = 0, ""
			w.call(n, history.Event{Call: history.Release, Nonce: nonce, Token: token}, func(history.Event) {})
			w.after(n, w.lease/3, func() { w.acquire(n) })
		}
	}
	return func() {}
}

// watched is the history of n events.
func watched(seed uint64, n int64, change func(*watch)) *history.History {
	h := &history.History{}
	w := newWatch(seed, func(e *history.Event) { h.Events = append(h.Events, *e) }, change)
	w.run(n)
	h.Header = w.header()
	return h
}
