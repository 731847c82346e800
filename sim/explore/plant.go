package explore

import (
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// Plant is a bug around the machine, which alters its settings, what goes in, or what
// comes out, or a bug in the scripts. It must keep no state, and no name: two states of the world that are
// alike would not be. The zero Plant is no bug.
type Plant struct {
	Name string
	What string

	// Around the store.
	Sure        bool // who renews is the only one that believes
	Trusts      bool // a lease is passed on though the store may have forgotten what happened last
	FromArrival bool // a lease that is passed on lasts from the bid's arrival on
	ToReleaser  bool // a lease is passed on to whoever gives it back

	// Around the machine.
	Config func(*machine.Config)
	Before func(*Situation)
	After  func(*Situation, *machine.Output)

	// In the scripts: where the text has Old, it has New instead.
	Old, New string

	// Around the machine of a majority of stores.
	Rules quorum.Rules
	Asked func(*quorum.Output)
}

// bends says whether the bug is around the machine's steps.
func (p *Plant) bends() bool { return p.Before != nil || p.After != nil }

func (p *Plant) step(s *Situation) machine.Output {
	if p.Before != nil {
		p.Before(s)
	}
	out := s.Machine.Step(s.Now, s.In)
	if p.After != nil {
		p.After(s, &out)
	}
	return out
}

// Situation is one step of a machine: what a Plant gets to see and may alter.
type Situation struct {
	Machine *machine.Machine
	Set     *Settings
	Now     time.Duration // that the machine is told
	In      machine.Input
	Call    machine.Call  // that In answers
	Sent    time.Duration // when the machine's bid was, before the step
}

// Usable is how long after it was sent a granted request may be believed in.
func (s *Situation) Usable() time.Duration {
	cfg := s.Set.config("")
	return cfg.Usable()
}
