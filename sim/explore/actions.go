package explore

import (
	"fmt"
	"slices"

	"github.com/recount-io/recount/internal/machine"
)

// Kind is a kind of action.
type Kind uint8

// The kinds of actions.
const (
	Tick       Kind = iota // time goes on; the clock of node Index-1 stands still
	Wake                   // a machine is woken
	Begin                  // a process starts
	Arrive                 // a request takes effect
	Answered               // an answer reaches its machine
	Lose                   // a request or its answer is lost
	Haunt                  // a request fails for its sender, but it goes on
	Appear                 // a request takes effect that nobody waits for
	Repeat                 // a request takes effect, and goes on
	Crash                  // a process ends
	CrashHaunt             // a process ends, and its requests go on
	Hear                   // a hint reaches its machine
	Miss                   // a hint is lost
	Finish                 // work ends that was asked to
	End                    // work ends by itself
	Resign
	HandOver // to node Index
	Stop
	Fence
	Refuse  // an answer says that no repetition will help
	Restart // the store loses its data, and notices
	Forget  // the store loses its data
	Save    // what the store has now is what it may go back to
	Rewind  // the store goes back, and notices
	Try     // a candidate asks for the lease
	Prolong // a leader renews; on a new connection if Index is 1
	Mute    // a request takes effect, and its answer is lost
	Silence // a request of a machine finds no answer in time
	GiveUp  // nobody waits for a call any more
	Echo    // a hint reaches its machine, and goes on
	Jump    // the store's clock is set: forth, or back if Index is 1
	Create  // an election is made known to the store
	Vanish  // a key of an election is lost
	kinds
)

var kindNames = [kinds]string{
	"tick", "wake", "begin", "arrive", "answered", "lose", "haunt", "appear", "repeat", "crash", "crash-haunt", "hear", "miss", "finish", "end",
	"resign", "hand-over", "stop", "fence", "refuse", "restart", "forget", "save", "rewind", "try", "prolong", "mute", "silence", "give-up", "echo", "jump",
	"create", "vanish",
}

func (k Kind) String() string { return kindNames[k] }

// MarshalText is the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("explore: no action is called %q", text)
	}
	*k = Kind(i)
	return nil
}

// calm reports whether an action is one of a world in which nothing goes wrong.
func (k Kind) calm() bool {
	switch k {
	case Tick, Wake, Arrive, Answered, Hear, Finish:
		return true
	}
	return false
}

// Action is one thing that happens: to a node, and which of several.
type Action struct {
	Kind  Kind  `json:"kind"`
	Node  uint8 `json:"node"`
	Index uint8 `json:"index"`
}

// actions appends all that may happen next.
func (w *world) actions(list []Action) []Action {
	list = w.ticks(list)
	for i := range w.nodes {
		if !w.nodes[i].up {
			list = append(list, Action{Kind: Begin, Node: uint8(i)})
			continue
		}
		list = w.messageActions(list, uint8(i))
		list = w.nodeActions(list, uint8(i))
	}
	for g := range w.ghosts {
		list = append(list, Action{Kind: Appear, Index: uint8(g)})
	}
	if w.left[Restarts] > 0 && w.store.token > 0 {
		list = append(list, Action{Kind: Restart})
	}
	switch {
	case w.left[Rewinds] == 0 || w.store.token == 0:
	case w.store.saved.kept:
		list = append(list, Action{Kind: Rewind})
	default:
		list = append(list, Action{Kind: Save})
	}
	if w.left[Jumps] > 0 && w.mayJump() {
		list = append(list, Action{Kind: Jump}, Action{Kind: Jump, Index: 1})
	}
	if w.left[Forgettings] > 0 && w.mayForget() {
		list = append(list, Action{Kind: Forget})
	}
	return list
}

// ticks: time may go on unless something is due.
func (w *world) ticks(list []Action) []Action {
	for i := range w.nodes {
		n := &w.nodes[i]
		if !n.up {
			continue
		}
		if !w.set.Late && w.due(n) || w.overdue(n) {
			return list
		}
	}
	list = append(list, Action{Kind: Tick})
	if w.set.Drift > 0 {
		for i := range w.nodes {
			if n := &w.nodes[i]; n.up && n.still == 0 {
				list = append(list, Action{Kind: Tick, Index: uint8(i + 1)})
			}
		}
	}
	return list
}

// overdue reports whether something of a node must happen before time goes on.
func (w *world) overdue(n *node) bool {
	if n.work.runs && n.work.ending && !n.work.capped && w.set.Work != Endless && int(n.work.age) >= w.set.Work {
		return true
	}
	if w.set.Delay == Endless {
		return false
	}
	for i := range n.messages {
		if m := &n.messages[i]; m.stage != lost && int(m.age) >= w.set.Delay {
			return true
		}
	}
	for i := range n.hints {
		if int(n.hints[i].age) >= w.set.Delay {
			return true
		}
	}
	return false
}

func (w *world) messageActions(list []Action, i uint8) []Action {
	n := &w.nodes[i]
	for k := range n.messages {
		m := &n.messages[k]
		add := func(kind Kind) { list = append(list, Action{kind, i, uint8(k)}) }
		switch m.stage {
		case going:
			add(Arrive)
			if w.left[Losses] > 0 && w.left[Ghosts] > 0 {
				add(Haunt)
			}
			if w.left[Repeats] > 0 {
				add(Repeat)
			}
		case coming:
			add(Answered)
			if w.left[Refusals] > 0 && m.call != machine.Release {
				add(Refuse)
			}
		}
		if w.left[Losses] > 0 {
			add(Lose)
		}
	}
	for k := range n.hints {
		list = append(list, Action{Hear, i, uint8(k)})
		if w.left[Losses] > 0 {
			list = append(list, Action{Miss, i, uint8(k)})
		}
		if w.left[Echoes] > 0 {
			list = append(list, Action{Echo, i, uint8(k)})
		}
	}
	return list
}

func (w *world) nodeActions(list []Action, i uint8) []Action {
	n := &w.nodes[i]
	add := func(kind Kind) { list = append(list, Action{Kind: kind, Node: i}) }
	if w.due(n) {
		add(Wake)
	}
	leads := n.m.Role() == machine.Leader
	switch {
	case n.work.runs && n.work.ending:
		add(Finish)
	case n.work.runs && leads && w.left[Endings] > 0:
		add(End)
	}
	if w.left[Crashes] > 0 {
		add(Crash)
		if w.left[Ghosts] > 0 && n.sends() {
			add(CrashHaunt)
		}
	}
	if w.left[Stops] > 0 && n.m.Role() != machine.Stopped {
		add(Stop)
	}
	if leads && w.left[Resignations] > 0 {
		add(Resign)
	}
	if leads && w.left[Fencings] > 0 {
		add(Fence)
	}
	if leads && w.left[Handovers] > 0 {
		for k := range w.nodes {
			if k != int(i) {
				list = append(list, Action{HandOver, i, uint8(k)})
			}
		}
	}
	return list
}

// sends reports whether a request is on its way to the store.
func (n *node) sends() bool {
	for i := range n.messages {
		if n.messages[i].stage == going {
			return true
		}
	}
	return false
}

// mayForget: a store that loses its data, and does not protect itself against it,
// breaks the promises by itself unless the last lease is over and everybody knows
// the last token.
func (w *world) mayForget() bool {
	if w.store.held(w.now) || w.store.token == 0 {
		return false
	}
	for i := range w.nodes {
		if n := &w.nodes[i]; !n.up || n.m.Floor() < w.store.token {
			return false
		}
	}
	return true
}
