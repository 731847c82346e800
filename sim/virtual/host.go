package virtual

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/wire"
)

// host is a process with an elector in blocking style in it, which runs as a
// coroutine.
type host struct {
	node     *node
	routine  *routine
	stopping bool
	stopped  signal
	answered signal
	outcome  outcome // of the last call
	belief   *history.Event
	deadline time.Duration // of the belief, on the clock that Now shows
	stands   bool          // that clock stands still while the machine is suspended
	works    []*hostWork
	tap      *wire.Conn // nil if nobody reads what it asks of the store
}

var _ sim.Host = (*host)(nil)

// startHost starts a process that runs e.
func startHost(n *node, e sim.Elector) *host {
	h := &host{node: n, tap: n.tap()}
	h.routine = prepare(&n.run.agenda, func(*routine) { h.run(e) })
	h.routine.defers = n.defers
	n.run.plan(n.run.now, h.routine, 0)
	return h
}

func (h *host) run(e sim.Elector) {
	n := h.node
	defer func() {
		with := recover()
		if _, gone := with.(ended); gone {
			panic(with) // it is unwound
		}
		if with != nil {
			n.fall(with)
		}
	}()
	if err := e(h); err != nil {
		n.run.add(history.Event{Kind: history.Note, Node: n.name, Text: err.Error()})
	}
	n.run.plan(n.run.now+sim.Linger, (*hostEnd)(h), n.life)
}

// hostEnd is the end of a host's process.
type hostEnd host

func (h *hostEnd) act(life uint64) {
	if h.node.life != life || h.node.defers(h, life) {
		return
	}
	why := history.Dismissed
	if !h.stopping {
		why = history.ByItself
	}
	h.node.exit(why, "")
}

// stop implements process.
func (h *host) stop() {
	h.stopping = true
	h.stopped.fire()
}

// hint implements process: an elector in blocking style hears of none.
func (h *host) hint(machine.Input) {}

// kill implements process.
func (h *host) kill() {
	h.routine.end()
	for _, w := range h.works {
		w.routine.end()
	}
}

// reclocked implements process.
func (h *host) reclocked() {
	if h.belief != nil && h.Now() < h.deadline {
		e := *h.belief
		e.Kind = history.Extended
		h.believe(e, h.deadline)
	}
}

func (h *host) Settings() sim.Settings {
	t := h.node.timings()
	return sim.Settings{
		Election: "e1", Node: h.node.name, Drift: h.node.run.spec.Drift,
		Lease: t.Lease, Renew: t.Renew, Retry: t.Retry,
	}
}

// alive ends a process that is gone wherever it is: what it has deferred does
// nothing, since nothing is deferred for one that is killed.
func (h *host) alive() {
	if h.routine.done {
		panic(ended{})
	}
}

func (h *host) Now() time.Duration {
	now := h.node.clock.show(h.node.run.now)
	if !h.stands {
		return now
	}
	if h.node.asleep >= 0 {
		now = h.node.asleep
	}
	return now - h.node.slept
}

func (h *host) Monotonic() { h.stands = true }

// Wall implements sim.Host: the clock runs on while the machine is suspended.
func (h *host) Wall() time.Duration {
	return storeEpoch + h.node.clock.show(h.node.run.now) + h.node.wall
}

func (h *host) Random(n int) int { return h.node.random.below(n) }

// when is the true time at which Now shows own, unless the machine is suspended
// before that.
func (h *host) when(own time.Duration) time.Duration {
	if h.stands {
		own += h.node.slept
	}
	return h.node.clock.when(own)
}

func (h *host) Sleep(d time.Duration) {
	if h.stopping {
		return
	}
	for end := h.Now() + d; h.Now() < end && !h.stopping; {
		h.routine.await(&h.stopped, h.when(end)-h.node.run.now)
	}
}

func (h *host) Stopping() bool { return h.stopping }

func (h *host) LeaseKey() string { return h.node.run.store.keys.lease }

func (h *host) Store() sim.Store { return hostStore{h} }

func (h *host) Recorded(s sim.Store) sim.Store {
	return sim.Recorder{Store: s, Tell: h.tell, Next: h.node.run.nextOp, Node: h.node.name}
}

func (h *host) tell(e history.Event) {
	h.alive()
	h.node.run.add(e)
}

func (h *host) Do(timeout time.Duration, args ...string) (any, error) {
	h.alive()
	x := h.sent(args)
	h.ask(command{args: args}, timeout)
	h.outcome.came(x)
	if h.outcome.input.Result != machine.Done {
		return nil, h.outcome.input.Err
	}
	return h.outcome.value, nil
}

// ask makes a call and waits for its outcome.
func (h *host) ask(c command, timeout time.Duration) { h.askOf(h.node.client(), c, timeout) }

// askOf is ask of another server.
func (h *host) askOf(to *client, c command, timeout time.Duration) {
	h.alive()
	c.quiet = true
	to.ask(h, c, timeout)
	for !h.routine.await(&h.answered, timeout+time.Hour) {
		continue // a process that stands still learns nothing meanwhile
	}
}

// called implements caller.
func (h *host) called(k *call) {
	h.outcome = k.outcome
	h.answered.fire()
}

func (h *host) Elected(token uint64, until time.Duration) {
	h.believe(history.Event{Kind: history.Elected, Node: h.node.name, Token: token}, until)
}

func (h *host) Extended(token uint64, until time.Duration) {
	h.believe(history.Event{Kind: history.Extended, Node: h.node.name, Token: token}, until)
}

func (h *host) believe(e history.Event, until time.Duration) {
	h.alive()
	h.belief, h.deadline = nil, until
	e.Until = nil
	if until != sim.Forever {
		e.Until = history.At(h.when(until))
		h.belief = &e
	}
	h.node.run.add(e)
}

func (h *host) Deposed(token uint64, why history.Why) {
	h.belief = nil
	h.tell(history.Event{Kind: history.Deposed, Node: h.node.name, Token: token, Why: why})
}

func (h *host) Work(token uint64) (stop func()) {
	h.alive()
	w := &hostWork{host: h, token: token}
	w.routine = prepare(&h.node.run.agenda, w.run)
	w.routine.defers = h.node.defers
	h.works = append(h.works, w)
	h.node.run.plan(h.node.run.now, w.routine, 0)
	return w.stop
}

// hostWork writes to the protected resource until it is stopped.
type hostWork struct {
	host     *host
	routine  *routine
	write    write
	token    uint64
	writing  bool
	accepted bool // the last write
	over     bool // it is to stop
	ended    bool // it has
	moved    signal
}

func (w *hostWork) run(r *routine) {
	n := w.host.node
	for i := 1; !w.over; i++ {
		w.writing = true
		n.run.resource.send(&w.write, n, w, w.token, fmt.Sprintf("%s/%d/%d", n.name, w.token, i))
		for w.writing {
			r.await(&w.moved, time.Hour)
		}
		if !w.accepted {
			break
		}
		if !w.over {
			r.await(&w.moved, n.run.spec.Writes)
		}
	}
	w.ended = true
	w.moved.fire()
}

// wrote implements writer.
func (w *hostWork) wrote(accepted bool, _ uint64) {
	w.writing, w.accepted = false, accepted
	w.moved.fire()
}

func (w *hostWork) stop() {
	w.over = true
	w.moved.fire()
	for !w.ended {
		w.host.routine.await(&w.moved, time.Hour)
	}
}

// hostStore is the production elector's store, with nothing recorded.
type hostStore struct{ *host }

func (s hostStore) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	s.ask(command{
		call: history.Acquire, id: a.ID, nonce: a.Nonce, try: a.Request, ttl: a.TTL, longest: max(a.Longest, s.node.run.spec.LongLease), floor: a.Floor,
	}, timeout)
	in := &s.outcome.input
	if in.Result == machine.Held {
		held := &elector.HeldError{Holder: in.Holder, Token: in.Token, Remaining: in.Remaining, Waiters: in.Waiters}
		if in.Holder == "" {
			held.Withheld = sim.Withheld
		}
		return store.Grant{}, held
	}
	return store.Grant{Token: in.Token, Waiters: in.Waiters}, s.failure()
}

func (s hostStore) Renew(l store.Lease, timeout time.Duration) error {
	return s.own(history.Renew, l, timeout)
}

func (s hostStore) Release(l store.Lease, timeout time.Duration) error {
	return s.own(history.Release, l, timeout)
}

func (s hostStore) own(call history.Call, l store.Lease, timeout time.Duration) error {
	s.ask(command{
		call: call, id: l.ID, nonce: l.Nonce, token: l.Token, try: l.Request, ttl: l.TTL, longest: max(l.Longest, s.node.run.spec.LongLease),
		value: leaseValue(l.Token, l.Nonce, l.ID),
	}, timeout)
	return s.failure()
}

// failure is the error that the outcome is to the elector, nil if it is done.
func (h *host) failure() error {
	switch h.outcome.input.Result {
	case machine.Done:
		return nil
	case machine.NotHeld:
		return store.ErrNotHeld
	default:
		return h.outcome.input.Err
	}
}
