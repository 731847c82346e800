// Package event is what an elector tells of itself: its states, why its terms end, and
// each transition, as Config.OnEvent gets it. It is for metrics, traces and tools; who only
// elects needs Config.OnStarted, and perhaps the reasons of Config.OnStopped.
package event

import (
	"errors"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// State is what an elector is at a time.
type State string

// The states. An elector that does not run is stopped.
const (
	StateFollower  State = "follower"  // waits for the lease to end
	StateCandidate State = "candidate" // has asked for the lease; the outcome is open
	StateLeader    State = "leader"    // leads
	StateDraining  State = "draining"  // gives up: renews until its work has ended
	StateStopped   State = "stopped"
)

// Reason says why a term ended.
type Reason string

// The reasons.
const (
	ReasonExpired    Reason = "expired"    // the deadline passed without a renewal
	ReasonSuperseded Reason = "superseded" // the store said that the lease is not held any more
	ReasonResigned   Reason = "resigned"   // by Resign, or because the work ended
	ReasonStopped    Reason = "stopped"    // the elector was stopped
	ReasonError      Reason = "error"      // by a fatal error
)

// Kind says what an Event is.
type Kind string

// The kinds of events.
const (
	StateChanged Kind = "state"       // State changed; Err if by a fatal error
	Elected      Kind = "elected"     // a term begins: Token, Until
	Extended     Kind = "extended"    // it lasts longer: Token, Until, Late
	Deposed      Kind = "deposed"     // it ended: Token, Until, Reason, perhaps Err
	LeaderSeen   Kind = "leader"      // somebody leads who did not before: Leader
	Trouble      Kind = "trouble"     // a request failed, or its answer cannot be used: Err
	Unreachable  Kind = "unreachable" // no request has succeeded for longer than a lease; Err if the store answers, and refuses them
	Reachable    Kind = "reachable"   // one has succeeded again
)

// Event is one transition of an elector.
type Event struct {
	Kind     Kind
	At       time.Duration // on the elector's Clock
	Election string
	ID       string
	State    State // after the transition
	Token    uint64
	Until    time.Duration // deadline of the term, on the elector's Clock
	Late     time.Duration // how long after its time the renewal was sent
	Reason   Reason
	Leader   store.Leader
	Err      error

	_ struct{}
}

// Errors of Trouble that the elector finds itself. store.ErrWithheld is another one.
var (
	ErrTimeout       = machine.ErrTimeout       // no answer in time; the outcome is unknown
	ErrTooMany       = machine.ErrTooMany       // too many requests hang in the store; nothing is sent until one returns
	ErrTokenSeen     = machine.ErrTokenSeen     // the store granted an old token: it has lost its count. The lease was given back
	ErrTooLate       = machine.ErrTooLate       // a grant came too late to be of use. The lease was given back
	ErrStray         = machine.ErrStray         // an attempt long given up was granted. The lease was given back
	ErrDrainCapped   = machine.ErrDrainCapped   // the work did not end within Config.DrainTimeout. The lease was given back
	ErrCallbackHangs = machine.ErrCallbackHangs // work, or OnStopped, has not returned a lease after its term's end. The candidate does not compete until it does
	ErrCrowded       = errors.New("elector: too many elections for the connections of one store, so renewals are given up and repeated")
	ErrSameID        = errors.New("elector: another live candidate is configured with the same ID. It is told apart by the random part, but you may have meant to run one replica only, or to name them differently (Config.ID)")
	ErrNoHints       = errors.New("elector: the store's announcements have stopped coming; listening anew")
	ErrPanic         = errors.New("elector: the store panicked")
)
