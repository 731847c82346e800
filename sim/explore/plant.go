package explore

import (
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// plant is a bug of a test: around the machine, whose settings it alters, or what goes
// in or comes out, around the store, or in the scripts. It must keep no state, and no
// name: two states of the world that are alike would not be. The zero plant is no bug.
type plant struct {
	name, what string // for the reader of the tests

	// Around the store.
	sure        bool // who renews is the only one that believes
	trusts      bool // a lease is passed on though the store may have forgotten what happened last
	fromArrival bool // a lease that is passed on lasts from the bid's arrival on
	toReleaser  bool // a lease is passed on to the candidate that gives it back

	// Around the machine.
	config func(*machine.Config)
	before func(*situation)
	after  func(*situation, *machine.Output)

	// In the scripts: where the text has old, it has new instead.
	old, new string
}

// bends reports whether the bug is around the machine's steps.
func (p *plant) bends() bool { return p.before != nil || p.after != nil }

func (p *plant) step(s *situation) machine.Output {
	if p.before != nil {
		p.before(s)
	}
	out := s.machine.Step(s.now, s.in)
	if p.after != nil {
		p.after(s, &out)
	}
	return out
}

// situation is one step of a machine: what a plant gets to see and may alter.
type situation struct {
	machine *machine.Machine
	set     *Settings
	now     time.Duration // on the machine's clock
	in      machine.Input
	call    machine.Call // that in answers
}

// usable is how long after it was sent a granted request may be believed in.
func (s *situation) usable() time.Duration {
	cfg := s.set.config("")
	return cfg.Usable()
}
