package virtual

import (
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

// node is a candidate's place in the world: its process, if one runs, its
// clock, and its way to the store.
type node struct {
	run    *run
	index  int
	name   string
	random *random
	clock  clock
	wall   time.Duration // by how far its wall clock is off
	slept  time.Duration // by how far its monotonic clock is behind, because it was suspended
	asleep time.Duration // what its clock showed when it was suspended; negative: it is awake
	link   *link

	life          uint64 // counts the processes so far
	process       process
	clients       []*client // of the process, one for each store
	subscriptions []*subscription
	majority      *majority // nil where there is one store
	rows          *client   // its way to PostgreSQL; nil until the process wants it
	paused        bool
	leaving       bool    // it was asked to resign
	inbox         []event // what has come while the process stood still
	hold          *hold   // on its next write
	exited        signal
}

// process is the elector that runs in a node.
type process interface {
	// stop asks it to resign and exit.
	stop()
	// hint tells what the store has announced.
	hint(in machine.Input)
	// reclocked tells that the clock has come to run at another rate.
	reclocked()
	// kill ends it without warning.
	kill()
}

// launch starts a process. It takes so long until its elector begins.
func (n *node) launch(took time.Duration) {
	n.life++
	n.paused = false
	n.connect()
	n.run.add(history.Event{Kind: history.Start, Node: n.name})
	if took == 0 {
		n.process = n.run.subject.start(n)
		return
	}
	n.process = (*start)(n)
	n.run.plan(n.run.now+took, (*start)(n), n.life)
}

// connect gives the new process its ways to the stores.
func (n *node) connect() {
	n.clients, n.subscriptions, n.majority, n.rows = nil, nil, nil, nil
	for _, store := range n.run.stores {
		n.clients = append(n.clients, &client{run: n.run, store: store, node: n, life: n.life})
		n.subscriptions = append(n.subscriptions, &subscription{node: n, store: store, life: n.life})
	}
	if len(n.clients) > 1 {
		n.majority = newMajority(n)
	}
}

// timings are those that the node's processes are configured with.
func (n *node) timings() sim.Timings {
	t := n.run.spec.Timings
	if longer := n.run.spec.LongLease; longer > 0 && n.index%2 == 1 {
		t.Lease = longer
	}
	return t
}

// client is the process's way to the first store, which mostly is the only one.
func (n *node) client() *client { return n.clients[0] }

// ask makes a call on the store, or on a majority of the stores.
func (n *node) ask(owner caller, cmd command, timeout time.Duration) {
	if n.majority != nil {
		n.majority.ask(owner, cmd, timeout)
		return
	}
	n.client().ask(owner, cmd, timeout)
}

// heard tells the process what a store has announced.
func (n *node) heard(store int, in machine.Input) {
	if n.majority == nil || n.majority.heard(store, &in) {
		n.process.hint(in)
	}
}

// subscribe opens the process's connections for hints.
func (n *node) subscribe() {
	for _, s := range n.subscriptions {
		s.subscribe()
	}
}

// start is a process whose elector has not begun.
type start node

func (s *start) act(life uint64) {
	if n := (*node)(s); n.life == life && !n.defers(s, life) {
		n.process = n.run.subject.start(n)
	}
}

func (s *start) stop()              { (*node)(s).exit(history.Dismissed, "") }
func (s *start) hint(machine.Input) {}
func (s *start) reclocked()         {}
func (s *start) kill()              {}

// id is that of the present process: no two are alike.
func (n *node) id() string {
	return n.name + "/" + strconv.FormatUint(n.life, 36) + strconv.FormatUint(n.random.number(), 36)
}

// order is the wish that a process resign and exit. One that stands still hears
// of it when it goes on.
type order node

// act implements actor.
func (o *order) act(life uint64) {
	if n := (*node)(o); n.life == life && !n.defers(o, life) {
		n.process.stop()
	}
}

// exit ends the process, for the given reason, and tells who waits for it.
func (n *node) exit(why history.Why, text string) {
	if n.process == nil {
		return
	}
	n.process.kill()
	n.process, n.leaving = nil, false
	n.life++
	n.paused = false
	n.inbox = n.inbox[:0]
	for i := range n.clients {
		n.clients[i].vanish()
		n.subscriptions[i].close()
	}
	if n.rows != nil {
		n.rows.vanish()
	}
	exit := history.Event{Kind: history.Exit, Node: n.name, Why: why, Text: text}
	n.run.add(exit)
	n.run.infer(exit)
	n.exited.fire()
}

// fall ends the process, whose elector panicked, when what goes on in this moment
// is done.
func (n *node) fall(with any) {
	n.run.plan(n.run.now, &fall{node: n, text: fmt.Sprint(with)}, n.life)
}

type fall struct {
	node *node
	text string
}

// act implements actor.
func (f *fall) act(life uint64) {
	if f.node.life == life {
		f.node.exit(history.Panicked, f.text)
	}
}

// defers keeps what has come for a process that stands still, and reports
// whether it did.
func (n *node) defers(who actor, arg uint64) bool {
	if n.paused {
		n.inbox = append(n.inbox, event{who: who, arg: arg})
	}
	return n.paused
}

// resume lets the process go on. What has come meanwhile reaches it now, in
// any order: it came by several ways.
func (n *node) resume() {
	n.paused = false
	for i := range n.inbox {
		j := i + n.random.below(len(n.inbox)-i)
		n.inbox[i], n.inbox[j] = n.inbox[j], n.inbox[i]
		n.run.plan(n.run.now, n.inbox[i].who, n.inbox[i].arg)
	}
	n.inbox = n.inbox[:0]
}

// closeConnections closes what is open on the node's link.
func (n *node) closeConnections() {
	if n.process == nil {
		return
	}
	for i := range n.clients {
		n.closeConnectionsTo(i)
	}
	if n.rows != nil {
		n.rows.shut()
	}
}

// closeConnectionsTo closes what is open to one of the stores.
func (n *node) closeConnectionsTo(store int) {
	if n.process == nil {
		return
	}
	n.clients[store].shut()
	n.subscriptions[store].breaks()
	if g, is := n.process.(*programProcess); is {
		g.breaks()
	}
}

// shows is what the clock that the production elector reads shows: boot time, which
// goes on while the machine is suspended.
func (n *node) shows() time.Duration { return n.clock.show(n.run.now) }
