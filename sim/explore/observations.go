package explore

import (
	"math/bits"
	"slices"
)

// Observation is something that a search comes by, or a set of such things.
type Observation uint32

// The observations.
const (
	SawElected    Observation = 1 << iota // a belief began
	SawRenewed                            // it was prolonged
	SawExpired                            // it ended by itself
	SawSuperseded                         // it ended because a renewal was refused
	SawResigned                           // it was ended by order, or by its work
	SawDraining                           // a leader waited for its work to end
	SawCapped                             // and no longer
	SawReleased                           // a lease was given back
	SawOrphan                             // an attempt was granted that was over
	SawTooLate                            // a grant came too late
	SawTokenSeen                          // a grant named a token that was seen before
	SawTooMany                            // a request had to wait for an older one
	SawStopped                            // a machine was done
	SawTakenOver                          // a leader was lost, and another one elected
	SawRegained                           // and then the first one again: a whole failover, there and back
	SawHandedOver                         // a named successor was granted the lease that was kept for it
	SawRefused                            // an attempt was refused by a majority of the stores
	SawGivenBack                          // what single stores granted was given back
	SawMended                             // a store came to hold a lease again
	SawPassed                             // a term began with a lease that was passed on
	SawPassedBack                         // a lease was passed on to somebody who could not use it, and given back
	SawWithdrawn                          // a bid was taken back to which the lease was passed on
	SawWithheld                           // nobody was granted the lease though its key was not there
	observations  = iota
)

var observationNames = [observations]string{
	"elected", "renewed", "expired", "superseded", "resigned", "draining", "drain capped", "released", "orphan grant", "late grant",
	"token seen before", "too many requests", "stopped", "failover", "failover and back", "handed over", "refused", "given back", "mended",
	"passed on", "passed on and given back", "withdrawn too late", "withheld",
}

// AllObservations is the set of all.
func AllObservations() Observation { return 1<<observations - 1 }

// Names lists the observations of a set.
func (s Observation) Names() []string {
	var list []string
	for ; s != 0; s &= s - 1 {
		list = append(list, observationNames[bits.TrailingZeros32(uint32(s))])
	}
	return list
}

// phase is how far a failover has come on the way to a state: the stage, and the
// place of the candidate that led first. It is no part of the state: two ways to
// one state may be in different phases, of which the first one counts.
type phase uint8

const (
	calmPhase  phase = iota << 4
	ledPhase         // one leads, or has resigned
	lostPhase        // its term was lost
	takenPhase       // another one was elected since
)

func (p phase) stage() phase { return p &^ 15 }

func (p phase) first() int { return int(p & 15) }

// among is the phase with its candidate named by where it stands in an order.
func (p phase) among(order []int) phase {
	return p.stage() | phase(max(slices.Index(order, p.first()), 0))
}

// elected is the phase after the candidate at a place was elected, and what is seen
// by that.
func (p phase) elected(i int) (after phase, saw Observation) {
	switch {
	case p.stage() == takenPhase && p.first() == i:
		saw = SawRegained
	case p.stage() == takenPhase:
		return p, 0
	case p.stage() == lostPhase && p.first() != i:
		return takenPhase | phase(p.first()), SawTakenOver
	}
	return ledPhase | phase(i), saw
}

// lost is the phase after the candidate at a place has lost its term.
func (p phase) lost(i int) phase {
	if p.stage() == ledPhase && p.first() == i {
		return lostPhase | phase(i)
	}
	return p
}
