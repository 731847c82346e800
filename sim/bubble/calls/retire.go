package calls

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
)

// retires draws, from a generator of its own, operators who retire what they take for
// unused: soon after its leader has left, or at any time.
func (c *Case) retires(r *rand.Rand) {
	if r.IntN(6) > 0 || c.Elections > few {
		return
	}
	for _, of := range slices.Clone(c.Acts) {
		leaves := of.Kind == Kill || of.Kind == Stop || of.Kind == Resign || of.Kind == Job || of.Kind == Delete
		if !leaves || r.IntN(2) == 0 {
			continue
		}
		a := Act{
			At: of.end() + time.Duration(r.Int64N(int64(2*c.Lease))), Kind: Retire, Process: of.Process, Election: of.Election,
		}
		switch of.Kind {
		case Job:
			a.Choice = 1 + of.Choice
		case Delete: // its holder does not know yet
			a.At = of.At + time.Duration(r.Int64N(int64(c.Lease/3)))
		}
		c.Acts = append(c.Acts, a)
	}
}

// retire retires an election. That is refused as long as somebody may believe in a lease
// of it, whatever has become of that.
func (r *run) retire(ctx context.Context, a Act, p *process) bool {
	l := p.current()
	if l == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	l.gate.Wait()
	err := l.store.Retire(ctx, r.named(a))
	var held *elector.HeldError
	switch {
	case errors.As(err, &held):
		r.bite("retire:refused")
	case err == nil:
		r.bite("retire:done")
		r.unbelieved(p, a)
	}
	return err == nil
}

// unbelieved expects that nobody is in a term of what was retired just now, unless the
// server may have forgotten that term, or was wrong about its time.
func (r *run) unbelieved(p *process, a Act) {
	if r.endsLeases() || r.Has(Forget, Wipe, Evict, Vanish, Rewind, Overwrite, Expire, Restart, Failback, StepClock) {
		return
	}
	for _, other := range r.processes {
		if c := other.candidate(a.Election); a.Choice == 0 && c != nil && other.world() == p.world() && c.leads() && r.recorder.Now()-c.began() > r.RoundTrip {
			c.find(retired, "term %d goes on, and the election was retired", c.current().Token())
		}
	}
	if a.Choice == 0 {
		return
	}
	for _, j := range r.jobLocks.taken(p.named(r.named(a))) {
		if !j.life.gone() && j.term.Check(0) == nil && r.recorder.Now()-j.since > r.RoundTrip {
			r.Find(retired, "%s holds %s with token %d, and it was retired", j.life.process.name, r.named(a), j.term.Token())
		}
	}
}
