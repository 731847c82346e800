package explore

import (
	"slices"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// actions appends all that may happen next.
func (w *majority) actions(list []Action) []Action {
	if !w.overdue() {
		list = append(list, Action{Kind: Tick})
	}
	for i := range w.members {
		n := &w.members[i]
		if !n.up {
			list = append(list, Action{Kind: Begin, Node: uint8(i)})
			continue
		}
		list = w.memberActions(list, uint8(i))
		for k := range n.parcels {
			list = w.parcelActions(list, uint8(i), uint8(k))
		}
	}
	for g := range w.ghosts {
		list = append(list, Action{Kind: Appear, Index: uint8(g)})
	}
	for s := range w.stores {
		if w.left[Restarts] > 0 && w.stores[s].token > 0 {
			list = append(list, Action{Kind: Restart, Index: uint8(s)})
		}
	}
	return list
}

// overdue reports whether something must happen before time goes on.
func (w *majority) overdue() bool {
	for i := range w.members {
		n := &w.members[i]
		if !n.up {
			continue
		}
		if n.m.Wake() <= w.now {
			return true
		}
		for k := range n.errands {
			if w.tired(&n.errands[k]) {
				return true
			}
		}
		for k := range n.parcels {
			if w.awaited(&n.parcels[k]) {
				return true
			}
		}
	}
	return false
}

// tired reports whether a call has had its time.
func (w *majority) tired(e *errand) bool { return w.now-e.began >= ticks(w.set.Timeout) }

// awaited reports whether, before time goes on, a message must arrive or its machine
// must learn that it has not.
func (w *majority) awaited(p *parcel) bool {
	return int(p.age) >= w.set.Delay || !p.silent && ticks(int(p.age)) >= patience
}

func (w *majority) memberActions(list []Action, i uint8) []Action {
	n := &w.members[i]
	add := func(kind Kind) { list = append(list, Action{Kind: kind, Node: i}) }
	if n.m.Wake() <= w.now {
		add(Wake)
	}
	for k := range n.errands {
		if w.tired(&n.errands[k]) {
			list = append(list, Action{GiveUp, i, uint8(k)})
		}
	}
	switch {
	case n.busy:
	case n.token == 0 && !n.has(quorum.BeginAcquire):
		add(Try)
	case n.token != 0 && !n.has(quorum.BeginRenew) && !n.has(quorum.BeginRelease):
		add(Prolong)
	}
	switch {
	case n.token == 0 || n.has(quorum.BeginRelease):
	case !w.believes(n), w.left[Resignations] > 0:
		add(Resign)
	}
	if w.left[Crashes] > 0 {
		add(Crash)
		for k := range n.parcels {
			if w.left[Ghosts] > 0 && n.parcels[k].stage == going {
				list = append(list, Action{CrashHaunt, i, uint8(k)})
			}
		}
	}
	return list
}

// has reports whether such a call is under way.
func (n *member) has(kind quorum.InputKind) bool {
	for k := range n.errands {
		if n.errands[k].kind == kind {
			return true
		}
	}
	return false
}

func (w *majority) parcelActions(list []Action, i, k uint8) []Action {
	p := &w.members[i].parcels[k]
	add := func(kind Kind) { list = append(list, Action{kind, i, k}) }
	switch {
	case p.stage == coming:
		add(Answered)
	case w.set.Delay == 0: // there and back at once
		add(Answered)
		if w.left[Losses] > 0 {
			add(Mute)
		}
	default:
		add(Arrive)
	}
	if p.stage == going && w.left[Repeats] > 0 {
		add(Repeat)
	}
	if !p.silent && ticks(int(p.age)) >= patience {
		add(Silence)
	}
	if w.left[Losses] > 0 {
		add(Lose)
	}
	return list
}

// apply lets one action happen.
func (w *majority) apply(a Action) {
	w.reset()
	if !w.folded {
		w.trail = append(w.trail, a)
	}
	n := &w.members[a.Node]
	switch a.Kind {
	case Tick:
		w.tick()
	case Wake:
		w.step(n, quorum.Input{Kind: quorum.Wake})
	case Begin:
		*n = member{id: n.id, m: w.newMachine(), up: true}
	case Appear:
		g := w.ghosts[a.Index]
		w.ghosts = slices.Delete(w.ghosts, int(a.Index), int(a.Index)+1)
		w.execute(&g)
	case Restart:
		w.spend(Restarts)
		w.restart(&w.stores[a.Index])
	case Crash, CrashHaunt:
		if a.Kind == CrashHaunt {
			w.haunt(n.parcels[a.Index])
		}
		w.crash(n)
	case Try:
		w.try(n)
	case Prolong:
		w.begin(n, quorum.BeginRenew)
	case Resign:
		if w.believes(n) {
			w.spend(Resignations)
			w.observations |= SawResigned
		}
		w.giveBack(n)
	case GiveUp:
		w.step(n, quorum.Input{Kind: quorum.GiveUp, Call: n.errands[a.Index].number})
	default:
		w.applyParcel(n, a)
	}
	w.check()
	w.tidyParcels()
}

func (w *majority) tick() {
	w.now += machine.Tick
	for i := range w.members {
		n := &w.members[i]
		n.busy = false
		for k := range n.parcels {
			p := &n.parcels[k]
			p.age += min(1, 254-p.age)
		}
		if n.up && n.token != 0 && n.until == w.now {
			w.observations |= SawExpired
			w.lost(i)
			if !w.set.Late {
				w.giveBack(n)
			}
		}
	}
}

func (w *majority) crash(n *member) {
	w.spend(Crashes)
	if w.believes(n) {
		w.lost(w.place(n))
	}
	*n = member{id: n.id, m: n.m}
}

func (w *majority) haunt(p parcel) {
	w.spend(Ghosts)
	w.ghosts = append(w.ghosts, p)
}

func (w *majority) applyParcel(n *member, a Action) {
	p := &n.parcels[a.Index]
	switch a.Kind {
	case Repeat:
		w.spend(Repeats)
		w.ghosts = append(w.ghosts, *p)
		w.execute(p)
	case Arrive:
		w.execute(p)
	case Silence:
		p.silent = true
		w.step(n, quorum.Input{Kind: quorum.Silence, Request: p.number, Err: errLost})
	default:
		if p.stage == going && a.Kind != Lose {
			w.execute(p)
		}
		w.deliver(n, int(a.Index), a.Kind != Answered)
	}
}

// deliver ends a request for its machine.
func (w *majority) deliver(n *member, index int, lost bool) {
	p := n.parcels[index]
	n.parcels = slices.Delete(n.parcels, index, index+1)
	in := quorum.Input{Kind: quorum.Answer, Request: p.number, Verdict: p.verdict}
	switch {
	case lost:
		w.spend(Losses)
		in.Verdict, in.Err = quorum.Silent, errLost
	case p.denied:
		in.Denial = &quorum.Denial{Token: p.token, Withheld: p.token == 0}
	case p.verdict == quorum.Yes && p.ask <= quorum.AskMend:
		in.Token = p.token
		if p.ask == quorum.AskMend {
			w.observations |= SawMended
		}
	}
	w.step(n, in)
}
