package explore

import (
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// apply lets an action happen and checks what comes of it. The caller must have planned
// how the dice fall.
func (w *world) apply(a Action) {
	w.reset()
	defer func() {
		if p := recover(); p != nil {
			w.fail("the machine panicked: %v", p)
		}
	}()
	n := &w.nodes[a.Node]
	w.origin.touch(a.Node)
	before := w.store
	switch a.Kind {
	case Tick:
		w.origin.touchAll()
		w.tick(int(a.Index) - 1)
	case Wake:
		w.step(n, machine.Input{}, 0)
	case Begin:
		w.begin(n)
	case Crash, CrashHaunt:
		w.crash(n, a.Kind == CrashHaunt)
	case Arrive, Answered, Lose, Haunt, Repeat, Refuse:
		w.applyMessage(n, a)
	case Appear:
		w.execute(&w.ghosts[a.Index])
		w.ghosts = slices.Delete(w.ghosts, int(a.Index), int(a.Index)+1)
		w.origin.touchAll() // it may have been the last to name a nonce
	case Hear, Miss, Echo:
		w.hear(n, a)
	case Restart:
		w.spend(Restarts)
		w.restart()
	case Save:
		w.store.save()
	case Rewind:
		w.spend(Rewinds)
		w.store.rewind()
	case Jump:
		w.jump(machine.Tick * time.Duration(1-2*int(a.Index)))
	case Forget:
		w.spend(Forgettings)
		w.store = store{}
	default:
		w.order(n, a)
	}
	if w.store != before { // what is on its way means something else now
		w.origin.touchAll()
	}
	w.check()
}

// hear deals with a hint.
func (w *world) hear(n *node, a Action) {
	h := n.hints[a.Index]
	if a.Kind == Echo {
		w.spend(Echoes)
	} else {
		n.hints = slices.Delete(n.hints, int(a.Index), int(a.Index)+1)
	}
	if a.Kind == Miss {
		w.spend(Losses)
		return
	}
	w.step(n, machine.Input{
		Kind: h.kind, Token: h.token, Holder: h.to, Remaining: h.remaining, Waiters: len(w.nodes), Nonce: h.nonce, Request: h.number,
	}, 0)
}

// tick lets time go on for everybody but one clock.
func (w *world) tick(still int) {
	w.now += machine.Tick
	for i := range w.nodes {
		n := &w.nodes[i]
		n.still -= min(n.still, 1)
		if i == still {
			n.still = uint8(w.set.Lease / max(w.set.Drift, 1))
		} else {
			n.now += machine.Tick
		}
		n.work.age += min(1, 254-n.work.age)
		for k := range n.messages {
			m := &n.messages[k]
			m.age += min(1, 254-m.age)
		}
		for k := range n.hints {
			h := &n.hints[k]
			h.age += min(1, 254-h.age)
		}
	}
}

func (w *world) begin(n *node) {
	*n = node{id: n.id, m: w.newMachine(n.id), up: true, now: n.now, messages: n.messages[:0], hints: n.hints[:0]}
	w.step(n, machine.Input{Kind: machine.Start}, 0)
}

func (w *world) crash(n *node, haunt bool) {
	w.spend(Crashes)
	if n.believes() {
		w.lost(w.place(n))
	}
	for i := range n.messages {
		if m := n.messages[i]; haunt && m.stage == going && w.left[Ghosts] > 0 {
			w.haunt(m)
		}
	}
	w.end(n)
}

// end takes a process away.
func (w *world) end(n *node) {
	w.leave(n.id)
	*n = node{id: n.id, m: n.m, now: n.now, messages: n.messages[:0], hints: n.hints[:0]}
}

func (w *world) haunt(m message) {
	w.spend(Ghosts)
	w.ghosts = append(w.ghosts, m)
}

func (w *world) applyMessage(n *node, a Action) {
	m := &n.messages[a.Index]
	switch a.Kind {
	case Arrive:
		w.execute(m)
		return
	case Repeat:
		w.spend(Repeats)
		w.ghosts = append(w.ghosts, *m)
		w.execute(m)
		return
	}
	w.deliver(n, int(a.Index), a.Kind)
}

// deliver ends a request for its sender.
func (w *world) deliver(n *node, index int, kind Kind) {
	m := n.messages[index]
	n.messages = slices.Delete(n.messages, index, index+1)
	in := machine.Input{Kind: machine.Answer, Request: m.number}
	switch kind {
	case Answered:
		in.Result, in.Token, in.Remaining, in.Holder, in.Waiters = m.result, m.token, m.remaining, w.holder(&m), len(w.nodes)
		in.Stands = w.set.Bids && m.result == machine.Held && m.token != 0
		if m.call == machine.Withdraw {
			if m.result == machine.Held {
				w.observations |= SawWithdrawn
			}
			in.Remaining, in.Holder, in.Waiters = 0, "", 0
		} else if m.call != machine.Acquire {
			in.Token, in.Remaining, in.Holder, in.Waiters = 0, 0, "", 0
		}
	case Refuse:
		w.spend(Refusals)
		in.Result, in.Err = machine.Fatal, errFatal
	case Haunt:
		w.haunt(m)
		fallthrough
	default:
		w.spend(Losses)
		in.Err = errLost
	}
	believed := n.believes()
	w.step(n, in, m.call)
	if kind == Answered && m.call == machine.Renew && m.result == machine.NotHeld && believed && m.token == n.belief.token && n.believes() {
		w.fail("a leader whose renewal was refused believes on")
	}
}

// holder is what a refusal names. Nothing but reports depends on it.
func (w *world) holder(m *message) string {
	if m.result == machine.Held && m.token != 0 {
		return w.store.holder
	}
	return ""
}

// order tells a candidate something that comes from outside.
func (w *world) order(n *node, a Action) {
	in := machine.Input{}
	switch a.Kind {
	case Finish, End:
		if a.Kind == End {
			w.spend(Endings)
		}
		in.Kind, in.Token = machine.WorkEnded, n.work.token
		n.work = work{}
	case Resign:
		w.spend(Resignations)
		in.Kind = machine.Resign
	case HandOver:
		w.spend(Handovers)
		in.Kind, in.Holder = machine.Resign, w.nodes[a.Index].id
	case Stop:
		w.spend(Stops)
		in.Kind = machine.Stop
	case Fence:
		w.spend(Fencings)
		in.Kind, in.Token = machine.Fenced, w.store.token+1
	}
	w.step(n, in, 0)
}
