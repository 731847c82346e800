package explore

import (
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// epoch is the present of a state that was read, so that all that lies before it
// has a positive time.
const epoch = 1000 * machine.Tick

// world is one state of a world of one store and one election.
type world struct {
	common
	store  store
	nodes  []node
	ghosts []message // on their way to the store, and nobody waits for them
	top    uint64    // the highest token that was elected
	begun  uint64    // processes, whose nonces must differ
	origin origin    // what it was read from
	codec  *codec
}

// node is a candidate: a machine, and what of the shell around it matters.
type node struct {
	id       string
	m        *machine.Machine
	up       bool
	now      time.Duration // by its own clock
	still    uint8         // ticks until its clock may stand still again
	belief   belief
	work     work
	messages []message // one for each request that the machine has no answer to, in its order
	hints    []hint
}

// belief is what the candidate's own code would answer.
type belief struct {
	live  bool
	token uint64
	until time.Duration
}

func (n *node) believes() bool { return n.up && n.belief.live && n.now < n.belief.until }

// work is that of the last term.
type work struct {
	runs   bool
	ending bool // it was asked to end
	capped bool // it need not be waited for any longer
	token  uint64
	age    uint8 // ticks since it was asked to end
}

// stage is where a message is.
type stage uint8

const (
	going  stage = iota // to the store
	coming              // back from it
	lost                // no answer will come
)

// message is a request and then its answer.
type message struct {
	stage     stage
	call      machine.Call
	result    machine.Result
	age       uint8  // ticks
	number    uint64 // of the request
	token     uint64
	floor     uint64
	nonce     string
	owner, to string
	remaining time.Duration
	orphan    bool // the process that sent it is gone
}

// hint is an announcement on its way to one candidate.
type hint struct {
	kind      machine.InputKind
	nonce     string // of the bid that the lease was passed on to
	number    uint64 // and of its request
	age       uint8
	token     uint64
	to        string
	remaining time.Duration
}

var (
	errLost  = errors.New("the connection broke")
	errFatal = errors.New("no permission")
)

// newWorld is the world before anything has begun: no candidate has been started.
func newWorld(set *Settings, plant *plant) *world {
	w := &world{common: newCommon(set, plant), codec: &codec{}}
	for _, id := range names[:set.Candidates] {
		w.nodes = append(w.nodes, node{id: id, m: w.newMachine(id), now: epoch})
	}
	return w
}

// place is a node's place among the nodes.
func (w *world) place(n *node) int {
	for i := range w.nodes {
		if &w.nodes[i] == n {
			return i
		}
	}
	panic("explore: a node that is none of the world's")
}

func (w *world) newMachine(id string) *machine.Machine {
	w.begun++
	cfg := w.set.config(id)
	cfg.Seed = w.begun
	if w.plant.config != nil {
		w.plant.config(&cfg)
	}
	m := machine.New(cfg)
	m.Choose(w.random.roll)
	return m
}

// clone returns an independent copy, for searches in the concrete world.
func (w *world) clone() *world {
	c := *w
	c.nodes, c.ghosts, c.events = slices.Clone(w.nodes), slices.Clone(w.ghosts), nil
	c.random, c.codec = dice{}, &codec{}
	for i := range c.nodes {
		n := &c.nodes[i]
		n.m = n.m.Clone()
		n.m.Choose(c.random.roll)
		n.messages, n.hints = slices.Clone(n.messages), slices.Clone(n.hints)
	}
	return &c
}

func (w *world) fork(planned []uint8) model {
	c := w.clone()
	c.random.planned = planned
	return c
}

// due reports whether a machine has to be woken. In the concrete world that leaves
// the alarm of a silent store out, which a folded state does not have.
func (w *world) due(n *node) bool {
	m := n.m
	if !w.folded {
		m = m.Clone()
		m.Settle(n.now)
	}
	return m.Wake() <= n.now
}

// dice are the random times of one action. They fall as planned, and after that with
// the lowest number; what they could have shown is noted.
type dice struct {
	planned []uint8
	faces   []uint8 // the highest number of each throw so far
}

func (d *dice) roll(most time.Duration) time.Duration {
	i := len(d.faces)
	d.faces = append(d.faces, uint8(most/machine.Tick))
	if i >= len(d.planned) {
		d.planned = append(d.planned, 0)
	}
	return time.Duration(d.planned[i]) * machine.Tick
}

// fit reports whether the dice could fall as planned.
func (d *dice) fit() bool {
	for i, face := range d.planned {
		if i >= len(d.faces) || face > d.faces[i] {
			return false
		}
	}
	return true
}

// next tells the dice to fall as they have not yet, for the same action once more;
// false if they have shown everything.
func (d *dice) next() bool {
	d.planned = d.planned[:len(d.faces)]
	for i := len(d.planned) - 1; i >= 0; i-- {
		if d.planned[i] < d.faces[i] {
			d.planned[i]++
			d.planned, d.faces = d.planned[:i+1], d.faces[:0]
			return true
		}
	}
	d.planned, d.faces = d.planned[:0], d.faces[:0]
	return false
}
