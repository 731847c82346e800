package bubble

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/gate"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/protocol"
)

// process is one incarnation of a candidate.
type process struct {
	node  *node
	seed  uint64 // of its own
	dice  *dice  // of its starting, and its way to the resource
	gate  gate.Gate
	ways  []*network.Endpoint // to each store
	host  *candidate.Host
	stop  context.CancelFunc
	ended chan struct{} // closed when nothing more is heard of it
	needs int           // how many replicas must confirm its leases

	mu        sync.Mutex
	dead      bool // it was killed, or has ended
	why       history.Why
	pending   map[int64]history.Event // operations that were invoked and not completed
	givenBack uint64                  // the last token that it wanted to release
	lacked    bool                    // its last request, which has ended, lacked confirmations
	sleeping  time.Duration           // since when its machine is suspended; below 0: it is not
	behind    time.Duration           // by how much its monotonic clock is behind
}

// node is a candidate's place in the world.
type node struct {
	run    *run
	index  int
	name   string
	links  []*network.Link // to each store
	logger *slog.Logger

	mu      sync.Mutex
	lives   uint64
	process *process // nil while none runs
	clocks  clocks
}

// clocks are the clocks that a candidate keeps.
type clocks struct {
	rate   float64
	offset time.Duration // of the wall clock
	asleep bool
}

// running is the process that runs, if one does.
func (n *node) running() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// launch starts a process, unless one runs. It takes between half of so long and
// all of it until its elector begins.
func (n *node) launch(takes time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return
	}
	r := n.run
	n.lives++
	seed := mix(r.plan.Seed, streamOf(drawProcess, n.index, n.lives))
	p := &process{
		node: n, seed: seed, dice: newDice(seed, 0), needs: r.release(n).Replicas,
		ended: make(chan struct{}), pending: map[int64]history.Event{}, sleeping: -1,
	}
	for _, link := range n.links {
		p.ways = append(p.ways, link.Endpoint())
	}
	n.process = p
	r.recorder.Stamp(history.Event{Kind: history.Start, Node: n.name})
	p.host = candidate.NewHost(r.settings(n), candidate.Surroundings{
		Real: r.recorder.Now, Keep: p.keep, Wait: p.gate.Wait, Record: p.record, NextOp: r.recorder.NextOp,
		Dial: p.dial, Resource: &way{p}, Logger: n.logger, Alarm: p.alarmed,
	})
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	began := takes/2 + p.dice.upTo(takes/2)
	r.processes.Go(func() {
		time.Sleep(began)
		p.gate.Wait()
		var err error
		if ctx.Err() == nil {
			err = r.subject(ctx, p.host)
		}
		stop()
		time.Sleep(sim.Linger + p.dice.upTo(time.Millisecond))
		why := history.ByItself
		var panicked *candidate.PanicError
		if errors.As(err, &panicked) {
			why = history.Panicked
		}
		p.end(why, err)
	})
}

// record takes in what the process tells, as long as it lives.
func (p *process) record(e history.Event) { p.checkAnswer(p.take(e), e) }

// take records an event. Of one that ends an operation it returns the beginning, if
// what is said of its lease still holds.
func (p *process) take(e history.Event) (asked history.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return asked
	}
	switch e.Kind {
	case history.Invoke:
		p.pending[e.Op] = e
		p.lacked = p.lacked && e.Call == history.Observe
		if e.Call == history.Release {
			p.givenBack = max(p.givenBack, e.Token)
		}
	case history.Ok, history.Fail, history.Info:
		if asked = p.pending[e.Op]; e.Token <= p.givenBack {
			asked = history.Event{} // what was true when it was answered is over
		}
		delete(p.pending, e.Op)
		if e.Call != history.Observe {
			p.lacked = strings.Contains(e.Error, redisstore.ErrUnconfirmed.Error())
		}
	}
	p.node.run.recorder.Record(e)
	return asked
}

// ask makes why the reason of the end to come, if there is none yet.
func (p *process) ask(why history.Why) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = cmp.Or(p.why, why)
}

// asked reports whether the process was asked to end.
func (p *process) asked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why != ""
}

// kill ends the process without warning. Its goroutines go on for a while, cut off
// from everything.
func (p *process) kill(why history.Why) {
	p.end(why, nil)
	p.sleep(false)
	p.stop()
	p.gate.Open()
}

// end records the end of the process, once, and closes its connections.
func (p *process) end(why history.Why, err error) {
	if !p.die(why, err) {
		return
	}
	for _, way := range p.ways {
		way.Vanish()
	}
	n := p.node
	n.mu.Lock()
	n.process = nil
	n.mu.Unlock()
	close(p.ended)
}

func (p *process) die(why history.Why, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false
	}
	p.dead = true
	recorder := p.node.run.recorder
	for _, number := range slices.Sorted(maps.Keys(p.pending)) {
		e := p.pending[number]
		e.Kind, e.Error = history.Info, "the process ended"
		recorder.Stamp(e)
	}
	exit := history.Event{Kind: history.Exit, Node: p.node.name, Why: cmp.Or(p.why, why)}
	if err != nil {
		exit.Text = err.Error()
	}
	recorder.Stamp(exit)
	return true
}

// stand makes the process stand still, goOn lets it go on.
func (p *process) stand() {
	p.gate.Close()
	for _, way := range p.ways {
		way.Stand()
	}
}

func (p *process) goOn() {
	for _, way := range p.ways {
		way.GoOn()
	}
	p.gate.Open()
}

// slept is by how much the process's monotonic clock is behind.
func (p *process) slept() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sleeping >= 0 {
		return p.behind + p.node.run.recorder.Now() - p.sleeping
	}
	return p.behind
}

// sleep suspends the process's machine, or wakes it up. What is left of a process
// that has ended does not sleep: it could not end.
func (p *process) sleep(asleep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.node.run.recorder.Now()
	switch {
	case asleep && p.sleeping < 0 && !p.dead:
		p.sleeping = now
	case (!asleep || p.dead) && p.sleeping >= 0:
		p.behind += now - p.sleeping
		p.sleeping = -1
	}
}

// dial opens a connection to a store.
func (p *process) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	for i, s := range p.node.run.stores {
		if addr != s.addr() {
			continue
		}
		conn, err := p.ways[i].Dial(ctx)
		if err != nil || p.node.run.taps == nil {
			return conn, err
		}
		return p.node.run.taps.along(p, conn), nil
	}
	return nil, &net.AddrError{Err: "there is no such store", Addr: addr}
}

// way is the process's way to the protected resource.
type way struct{ process *process }

var _ candidate.Resource = (*way)(nil)

// delivery is what a write takes on its way, at the most; mostly it is a tenth of
// that, as in the virtual world. No fault makes it slower.
const delivery = 3 * time.Millisecond

// travel lets a message's time pass.
func (w *way) travel() {
	d := w.process.dice
	took := delivery/20 + d.upTo(delivery/8)
	if d.upTo(100) == 0 {
		took += d.upTo(delivery - delivery/4)
	}
	time.Sleep(took)
}

// Write implements candidate.Resource.
func (w *way) Write(write protocol.WriteRequest) (protocol.WriteReply, error) {
	p := w.process
	p.gate.Wait()
	if p.gone() {
		return protocol.WriteReply{}, nil
	}
	w.travel()
	reply := p.node.run.resource.Write(write)
	w.travel()
	p.gate.Wait()
	if p.gone() {
		return protocol.WriteReply{}, nil
	}
	return reply, nil
}

// Read implements candidate.Resource.
func (w *way) Read(node, election string) {
	p := w.process
	p.gate.Wait()
	if !p.gone() {
		p.node.run.resource.Read(node, election)
	}
}

func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}
