package virtual

import (
	"errors"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

// programProcess is a process that is a program of its own.
type programProcess struct {
	node     *node
	program  Program
	lived    time.Duration // its clock shows it
	came     []Came        // and it has not seen yet
	did      []Did         // and the world has not heard of it yet
	passages map[int]*passage
	awaited  int  // answers that may be on their way to it
	halted   bool // it was asked to stand still
	stopping bool
	over     bool // it has ended by itself
	belief   *history.Event
	deadline time.Duration // of the belief, on its clock
	write    write
}

var _ process = (*programProcess)(nil)

// startProgram starts a program. One that cannot be started ends the run.
func startProgram(n *node, begin func(Seat) (Program, error)) process {
	g := &programProcess{node: n, passages: map[int]*passage{}}
	g.lived = g.shows(n.run.now)
	t := n.timings()
	program, err := begin(Seat{
		Node: n.name, Election: programElection, Writes: n.run.spec.Writes, Epoch: storeEpoch, Began: g.lived, Seed: n.random.number(),
		Settings: sim.Settings{Election: programElection, Node: n.name, Drift: n.run.spec.Drift, Lease: t.Lease, Renew: t.Renew, Retry: t.Retry},
	})
	if err != nil {
		n.run.failure = errors.Join(n.run.failure, err)
		n.run.until = n.run.now
		return (*start)(n)
	}
	g.program = program
	return g
}

// What the keys of programs begin with, and the election is called.
const (
	programPrefix   = "virtual:"
	programElection = programPrefix + "e1"
)

// shows is what the program's clock shows at the true time t: it stands still while the
// machine is suspended.
func (g *programProcess) shows(t time.Duration) time.Duration {
	now := g.node.clock.show(t)
	if g.node.asleep >= 0 {
		now = g.node.asleep
	}
	return now - g.node.slept
}

// when is the true time at which the program's clock shows own.
func (g *programProcess) when(own time.Duration) time.Duration {
	return g.node.clock.when(own + g.node.slept)
}

// live lets the program live at least until the true time bound. One to which nothing
// is on its way may live until far. It returns bound, or when the program did something,
// if that was sooner.
func (g *programProcess) live(bound, far time.Duration) time.Duration {
	if g.over {
		return bound
	}
	if halted := g.node.paused; halted != g.halted {
		g.halted = halted
		g.tell(Came{What: map[bool]string{true: Halted, false: GoesOn}[halted]})
	}
	until := max(g.shows(bound), g.lived)
	if until == g.lived && len(g.came) == 0 {
		return bound
	}
	if g.awaited == 0 {
		until = max(g.shows(far), g.lived)
	}
	came := g.came
	g.came = nil
	lived, err := g.program.Live(until, came)
	if err != nil {
		lived = Lived{Now: g.lived, Did: []Did{{What: Panics, Text: err.Error()}}}
	}
	g.lived = max(lived.Now, g.lived)
	if len(lived.Did) == 0 {
		return bound
	}
	at := g.node.run.now
	if g.node.asleep < 0 {
		at = max(g.when(g.lived), at)
	}
	for _, d := range lived.Did {
		g.over = g.over || d.What == Ends || d.What == Panics
		if d.What == Dials || d.What == Sends || d.What == Writes {
			g.awaited++
		}
		g.did = append(g.did, d)
		g.node.run.plan(at, (*programDeed)(g), g.node.life)
	}
	return at
}

// tell tells the program something when it lives on.
func (g *programProcess) tell(c Came) { g.came = append(g.came, c) }

// programDeed is the next thing that a program did.
type programDeed programProcess

// act implements actor.
func (d *programDeed) act(life uint64) {
	g := (*programProcess)(d)
	n := g.node
	if n.life != life || n.defers(d, life) {
		return
	}
	did := g.did[0]
	g.did = g.did[1:]
	switch did.What {
	case Dials:
		g.passages[did.Conn] = dial(g, did.Conn)
	case Sends:
		g.passages[did.Conn].send(did.Data)
	case Closes:
		g.passages[did.Conn].close()
	case Tells:
		g.tells(did.Event)
	case Writes:
		n.run.resource.send(&g.write, n, g, did.Token, did.Value)
	case Panics:
		n.exit(history.Panicked, did.Text)
	case Ends:
		why := history.ByItself
		if g.stopping {
			why = history.Dismissed
		}
		n.exit(why, did.Text)
	}
}

// tells records an event.
func (g *programProcess) tells(e history.Event) {
	e.Node = g.node.name
	switch e.Kind {
	case history.Elected, history.Extended:
		g.belief = nil
		g.node.run.believes = true
		if e.Until != nil {
			g.deadline = *e.Until
			g.belief = &e
			e.Until = history.At(g.when(g.deadline))
		}
	case history.Deposed:
		g.belief = nil
	}
	g.node.run.add(e)
}

// stop implements process.
func (g *programProcess) stop() {
	g.stopping = true
	g.tell(Came{What: Stopping})
}

// hint implements process: programs that want hints subscribe to them.
func (g *programProcess) hint(machine.Input) {}

// reclocked implements process: a belief that has not ended ends at another time.
func (g *programProcess) reclocked() {
	if g.belief == nil || g.shows(g.node.run.now) >= g.deadline {
		return
	}
	e := *g.belief
	e.Kind, e.Until = history.Extended, history.At(g.when(g.deadline))
	g.node.run.add(e)
}

// kill implements process.
func (g *programProcess) kill() {
	g.over = true
	g.program.Kill()
	for i := range len(g.passages) {
		if p := g.passages[i+1]; p != nil {
			p.vanish()
		}
	}
}

// wrote implements writer.
func (g *programProcess) wrote(accepted bool, fence uint64) {
	g.awaited = max(g.awaited-1, 0)
	g.tell(Came{What: Written, Accepted: accepted, Fence: fence})
}
