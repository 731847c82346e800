package explore

import (
	"errors"

	"github.com/recount-io/recount/internal/machine"
)

// step gives one input to a node's machine, and does what it asks for.
func (w *world) step(n *node, in machine.Input, call machine.Call) {
	var out machine.Output
	if w.plant.bends() {
		out = w.plant.step(&situation{machine: n.m, set: w.set, now: n.now, in: in, call: call})
	} else {
		out = n.m.Step(n.now, in)
	}
	if w.tells {
		w.tell(n, &out)
	}
	for i := range out.Transitions {
		w.transition(n, &out.Transitions[i])
	}
	for i := range out.Requests {
		w.request(n, &out.Requests[i])
	}
	if in.Kind == machine.HintPassed {
		w.passed(&out)
	}
	if out.Wake <= n.now {
		w.fail("a machine wants to be woken in the past")
	}
	if out.Done {
		w.observations |= SawStopped
		w.end(n)
	}
}

func (w *world) transition(n *node, t *machine.Transition) {
	switch t.Kind {
	case machine.Elected:
		if t.Token <= w.top {
			w.fail("token %d was elected after token %d", t.Token, w.top)
		}
		w.top = max(w.top, t.Token)
		n.belief = belief{true, t.Token, t.Until}
		n.work = work{runs: true, token: t.Token}
		w.observations |= SawElected
		w.elected(w.place(n))
	case machine.Extended:
		if !n.believes() || n.belief.token != t.Token {
			w.fail("a belief that had ended was revived")
		}
		n.belief.until = t.Until
		w.observations |= SawRenewed
	case machine.Deposed:
		w.deposed(n, t)
	case machine.RoleChanged:
		if t.Role == machine.Draining {
			n.tellWork()
			w.observations |= SawDraining
		}
	case machine.Released:
		if t.Err == nil {
			w.observations |= SawReleased
		}
	case machine.Trouble:
		w.trouble(n, t)
	}
}

// passed is what comes of a lease that was passed on.
func (w *world) passed(out *machine.Output) {
	for i := range out.Transitions {
		switch out.Transitions[i].Kind {
		case machine.Elected:
			w.observations |= SawPassed
		case machine.Trouble:
			w.observations |= SawPassedBack
		}
	}
}

func (w *world) deposed(n *node, t *machine.Transition) {
	n.belief = belief{}
	n.tellWork()
	switch t.Why {
	case machine.Expired:
		w.observations |= SawExpired
		w.lost(w.place(n))
	case machine.Superseded:
		w.observations |= SawSuperseded
		w.lost(w.place(n))
	case machine.Resigned:
		w.observations |= SawResigned
	}
	if w.set.Calm && (t.Why == machine.Expired || t.Why == machine.Superseded) {
		w.fail("a term was lost though nothing went wrong: %v", t.Why)
	}
}

// tellWork tells the work to end.
func (n *node) tellWork() {
	if !n.work.ending {
		n.work.ending, n.work.age = true, 0
	}
}

func (w *world) trouble(n *node, t *machine.Transition) {
	switch {
	case t.Err == errLost: //nolint:errorlint // it is passed on as it is, and more often than all others
	case errors.Is(t.Err, machine.ErrDrainCapped):
		n.work.capped = true
		w.observations |= SawCapped
	case errors.Is(t.Err, machine.ErrStray):
		w.observations |= SawOrphan
	case errors.Is(t.Err, machine.ErrTooLate):
		w.observations |= SawTooLate
	case errors.Is(t.Err, machine.ErrTokenSeen):
		w.observations |= SawTokenSeen
	case errors.Is(t.Err, machine.ErrTooMany):
		w.observations |= SawTooMany
	}
}

func (w *world) request(n *node, r *machine.Request) {
	if r.Call == machine.Release && n.work.runs && n.work.token == r.Token && !n.work.capped {
		w.fail("a lease was given back before its work had ended")
	}
	stage := going
	if r.Call == machine.None { // a test's bug has kept it back
		stage = lost
	}
	n.messages = append(n.messages, message{
		stage: stage, call: r.Call, number: r.Number, token: r.Token, floor: r.Floor, nonce: r.Nonce, owner: n.id, to: r.To,
	})
}

// check demands what must hold at every moment.
func (w *world) check() {
	leader := ""
	for i := range w.nodes {
		n := &w.nodes[i]
		if !n.believes() {
			continue
		}
		if leader != "" {
			w.fail("both %s and %s believe", leader, n.id)
		}
		leader = n.id
		if s := &w.store; !s.behind && s.withheld <= w.now && (s.token != n.belief.token || !s.held(w.now) || s.holder != n.id) {
			w.fail("%s believes, but the store's lease is not its own", n.id)
		}
	}
}
