package virtual

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

const (
	// overtime is how many times its time-out a request may last. As in the
	// production elector, which explains it.
	overtime = 2
)

// Decider makes an elector's decisions: machine.Machine, or something with
// the same interface.
type Decider interface {
	Step(now time.Duration, in machine.Input) machine.Output
}

// shell is a process with the production elector in it: it drives a machine
// as the production elector's own shell does, and does the leader's work.
type shell struct {
	node    *node
	machine Decider
	id      string
	timeout time.Duration // of a request

	due      time.Duration // time on the node's own clock at which the machine wants a step
	wake     time.Duration // the same in true time
	planned  time.Duration // of the wake-up on the agenda
	plans    uint64        // wake-ups so far: older ones are stale
	pending  []machine.Input
	stepping bool
	stopping bool // it was asked to
	exiting  bool
	gone     bool

	bids      []bid         // the last attempts that may stand
	asked     time.Duration // when the last attempt was made
	roundTrip time.Duration // of the last one that was refused

	term    term
	observe ticker
}

// term is the last one.
type term struct {
	token    uint64
	nonce    string
	value    string        // of the lease
	deadline time.Duration // on the node's own clock
	believes bool
	draining bool // the work's context is done
	working  bool
	writing  bool // a write is under way
	writes   int
	before   uint64 // the last term, while its work has not ended: this one's begins then
	write    write
	beat     ticker
}

// ticker is an actor that acts every so often.
type ticker struct {
	shell *shell
	uses  uint64
	next  time.Duration
	work  bool // writes; else observes
}

func startShell(n *node, decide func(machine.Config) Decider) *shell {
	t := n.timings()
	e := &shell{node: n, id: n.id(), planned: machine.Never, due: machine.Never, wake: machine.Never}
	cfg := machine.Config{
		ID: e.id, Seed: n.random.number(), Lease: t.Lease, LongestLease: max(t.Lease, n.run.spec.LongLease), Renew: t.Renew, Retry: t.Retry,
		RequestTimeout: t.RequestTimeout, Drift: n.run.spec.Drift, Bids: n.majority == nil,
	}.WithDefaults()
	e.timeout = cfg.RequestTimeout
	e.machine = decide(cfg)
	e.observe = ticker{shell: e}
	e.term.beat = ticker{shell: e, work: true}
	n.subscribe()
	n.run.resource.read(n) // a hot standby has its connections
	e.observe.start(n.run.spec.Asks())
	e.step(machine.Input{Kind: machine.Start})
	return e
}

// step lets the machine decide on one input, and on what follows from it at
// once.
func (e *shell) step(in machine.Input) {
	e.pending = append(e.pending, in)
	if e.stepping || e.exiting {
		return // by apply: the outer step goes on with it
	}
	e.stepping = true
	done := false
	i := 0
	for i < len(e.pending) { // apply adds to it
		out := e.decide(e.pending[i])
		for j := range out.Transitions {
			e.apply(&out.Transitions[j])
		}
		for j := range out.Requests {
			e.send(&out.Requests[j])
		}
		done, e.due = out.Done, out.Wake
		i++
	}
	e.pending = e.pending[:0]
	e.stepping = false
	if done && !e.exiting {
		e.exiting = true
		e.node.run.plan(e.node.run.now+sim.Linger, e, exitMark)
	}
	e.planWake()
}

// decide is what the machine makes of an input: nothing more, once it has panicked.
func (e *shell) decide(in machine.Input) (out machine.Output) {
	defer func() {
		if with := recover(); with != nil {
			e.exiting = true
			e.node.fall(with)
		}
	}()
	return e.machine.Step(e.node.shows(), in)
}

// exitMark tells the end of a process from a wake-up on the agenda.
const exitMark = 1 << 63

// planWake makes sure that the machine gets its step in time. A wake-up that was
// planned for an earlier time plans the next one, one for a later time is stale.
func (e *shell) planWake() {
	e.wake = machine.Never
	if e.due != machine.Never {
		e.wake = e.node.clock.when(e.due)
	}
	if e.wake < e.planned {
		e.planned = e.wake
		e.plans++
		e.node.run.plan(e.wake+e.node.random.upTo(Lateness), e, e.plans)
	}
}

// act implements actor.
func (e *shell) act(arg uint64) {
	n := e.node
	if e.gone || arg != exitMark && arg != e.plans || n.defers(e, arg) {
		return
	}
	if arg == exitMark {
		why := history.ByItself
		if e.stopping {
			why = history.Dismissed
		}
		n.exit(why, "")
		return
	}
	e.planned = machine.Never
	if n.run.now >= e.wake {
		e.step(machine.Input{Kind: machine.Wake})
		return
	}
	e.planWake()
}

// send makes a request.
func (e *shell) send(r *machine.Request) {
	c := command{id: e.id, nonce: r.Nonce, token: r.Token, floor: r.Floor, try: r.Number, ttl: r.TTL, longest: r.Longest}
	switch r.Call {
	case machine.Acquire:
		c.call = history.Acquire
		e.asked = e.node.run.now
		if r.Stands {
			c.beacon = e.node.subscriptions[0].bids()
			e.stands(r)
		}
	case machine.Renew:
		c.call, c.value = history.Renew, e.valueOf(r)
	case machine.Withdraw:
		c.call, c.quiet = withdraw, true
	default:
		c.call, c.value, c.to, c.reserve = history.Release, e.valueOf(r), r.To, r.Reserve
	}
	e.node.ask(e, c, overtime*r.Timeout)
}

// valueOf is the lease that the request names.
func (e *shell) valueOf(r *machine.Request) string {
	if e.term.token != r.Token || e.term.nonce != r.Nonce {
		return leaseValue(r.Token, r.Nonce, e.id)
	}
	if e.term.value == "" {
		e.term.value = leaseValue(r.Token, r.Nonce, e.id)
	}
	return e.term.value
}

// called implements caller: a request has come to its end.
func (e *shell) called(k *call) {
	if k.command.call == history.Acquire && k.outcome.input.Result == machine.Done {
		e.term.nonce, e.term.value = k.command.nonce, ""
	}
	if k.outcome.input.Result == machine.Held {
		e.roundTrip = e.node.run.now - e.asked
	}
	e.step(k.outcome.input)
}

// hint implements process.
func (e *shell) hint(in machine.Input) {
	in.RoundTrip = e.roundTrip
	if in.Nonce != "" && in.Holder == e.id {
		in.Kind = machine.HintPassed
		e.passed(in)
	}
	e.step(in)
}

// stop implements process.
func (e *shell) stop() {
	e.stopping = true
	e.observe.stop()
	if e.node.run.spec.HandsOver && e.term.believes && e.node.majority == nil { // several stores know no successor
		(&bequest{shell: e}).act(e.node.life)
		return
	}
	e.step(machine.Input{Kind: machine.Stop})
}

// kill implements process.
func (e *shell) kill() {
	e.gone = true
	e.observe.stop()
	e.term.beat.stop()
}

// reclocked implements process: a belief that is under way ends at another
// true time, since its deadline is a time on the node's own clock; so does the
// time until the next step.
func (e *shell) reclocked() {
	// A process that stands still may have believed for too long already: no
	// clock makes that undone.
	if e.term.believes && e.node.shows() < e.term.deadline {
		e.believe(history.Extended)
	}
	e.planWake()
}

// apply makes a transition real.
func (e *shell) apply(t *machine.Transition) {
	switch t.Kind {
	case machine.RoleChanged:
		if t.Role == machine.Draining {
			e.endWork()
		}
	case machine.Elected:
		e.elected(t)
	case machine.Extended:
		e.term.deadline = t.Until
		e.believe(history.Extended)
	case machine.Deposed:
		e.term.believes = false
		e.node.run.add(history.Event{
			Kind: history.Deposed, Node: e.node.name, Token: t.Token, Why: history.Why(t.Why.String()),
		})
		e.endWork()
	}
}

func (e *shell) elected(t *machine.Transition) {
	e.term.before = 0
	if e.term.writing {
		e.term.before = e.term.token
	}
	e.term.token, e.term.deadline = t.Token, t.Until
	e.term.believes, e.term.draining, e.term.working = true, false, true
	e.term.writes = 0
	e.believe(history.Elected)
	if !e.term.writing {
		e.term.beat.start(0)
	}
}

func (e *shell) believe(kind history.Kind) {
	r := e.node.run
	r.add(history.Event{
		Kind: kind, Node: e.node.name, Token: e.term.token, Until: r.at(e.node.clock.when(e.term.deadline)),
	})
}

// goesOn reports whether the work may make another write.
func (e *shell) goesOn() bool {
	return !e.term.draining && e.term.believes && e.node.shows() < e.term.deadline
}

// endWork ends the work's context, and the work as soon as no write is under way.
func (e *shell) endWork() {
	t := &e.term
	t.draining = true
	if t.working && !t.writing {
		t.working = false
		t.beat.stop()
		e.step(machine.Input{Kind: machine.WorkEnded, Token: t.token})
	}
}

// workOn makes the next write of the term.
func (e *shell) workOn() {
	t, n := &e.term, e.node
	if !t.working || t.writing {
		return
	}
	if !e.goesOn() {
		e.endWork()
		return
	}
	t.writing = true
	t.writes++
	t.beat.align(n.run.spec.Writes)
	n.run.resource.send(&t.write, n, e, t.token, n.name+"/"+decimal(t.token)+"/"+strconv.Itoa(t.writes))
}

// wrote implements writer.
func (e *shell) wrote(accepted bool, fence uint64) {
	t := &e.term
	t.writing = false
	if before := t.before; before != 0 {
		t.before = 0
		e.step(machine.Input{Kind: machine.WorkEnded, Token: before})
		t.beat.start(0)
		return
	}
	if !accepted {
		e.step(machine.Input{Kind: machine.Fenced, Token: fence})
		e.node.run.resource.read(e.node) // who is refused looks what is there
		e.endWork()
		return
	}
	if t.draining {
		if e.endWork(); !t.working {
			return
		}
	}
	r := e.node.run
	if t.writes%sim.ReadEvery == 0 {
		r.resource.read(e.node)
	}
	t.beat.startAt(t.beat.next + r.spec.Writes)
}

// start lets the ticker act in d.
func (t *ticker) start(d time.Duration) {
	if d < 0 {
		return
	}
	t.startAt(t.shell.node.run.now + d)
}

// startAt lets the ticker act at at, or now if that is over.
func (t *ticker) startAt(at time.Duration) {
	t.uses++
	t.next = at
	t.shell.node.run.plan(at, t, t.uses)
}

// align forgets the times that were missed while the process stood still, as
// Go's tickers do, which come every so often.
func (t *ticker) align(every time.Duration) {
	if missed := t.shell.node.run.now - t.next; missed >= every && every > 0 {
		t.next += missed - missed%every
	}
}

func (t *ticker) stop() { t.uses++ }

// act implements actor.
func (t *ticker) act(uses uint64) {
	e := t.shell
	if uses != t.uses || e.node.defers(t, uses) {
		return
	}
	if t.work {
		e.workOn()
		return
	}
	e.node.ask(nobody{}, command{call: history.Observe}, overtime*e.timeout)
	t.start(e.node.run.spec.Asks())
}
