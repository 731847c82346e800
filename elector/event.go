package elector

import (
	"context"
	"errors"
	"log/slog"
	"time"

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

// EventKind says what an Event is.
type EventKind string

// The kinds of events.
const (
	EventState       EventKind = "state"       // State changed; Err if by a fatal error
	EventElected     EventKind = "elected"     // a term begins: Token, Until
	EventExtended    EventKind = "extended"    // it lasts longer: Token, Until, Late
	EventDeposed     EventKind = "deposed"     // it ended: Token, Until, Reason, perhaps Err
	EventLeader      EventKind = "leader"      // somebody leads who did not before: Leader
	EventTrouble     EventKind = "trouble"     // a request failed, or its answer cannot be used: Err
	EventUnreachable EventKind = "unreachable" // no request has succeeded for longer than a lease; Err if the store answers, and refuses them
	EventReachable   EventKind = "reachable"   // one has succeeded again
)

// Event is one transition of an elector.
type Event struct {
	Kind     EventKind
	At       time.Duration // on the elector's Clock
	Election string
	ID       string
	State    State // after the transition
	Token    uint64
	Until    time.Duration // deadline of the belief, on the elector's Clock
	Late     time.Duration // how long after its time the renewal was sent
	Reason   Reason
	Leader   Leader
	Err      error

	_ struct{}
}

// Errors of EventTrouble that the elector finds itself.
var (
	ErrTimeout       = machine.ErrTimeout       // no answer in time; the outcome is unknown
	ErrTooMany       = machine.ErrTooMany       // too many requests hang in the store; nothing is sent until one returns
	ErrTokenSeen     = machine.ErrTokenSeen     // the store granted an old token: it has lost its count. The lease was given back
	ErrTooLate       = machine.ErrTooLate       // a grant came too late to be of use. The lease was given back
	ErrStray         = machine.ErrStray         // an attempt long given up was granted. The lease was given back
	ErrDrainCapped   = machine.ErrDrainCapped   // the work did not end within Config.DrainTimeout. The lease was given back
	ErrCallbackHangs = machine.ErrCallbackHangs // work, or OnStopped, has not returned a lease after its term's end. The candidate does not compete until it does
	ErrCrowded       = errors.New("elector: too many elections for the connections of one store, so renewals are given up and repeated")
	ErrSameID        = errors.New("elector: another live candidate is configured with the same ID. It is told apart by the random part, but you may have meant to run one replica only, or to name them differently")
	ErrWithheld      = errors.New("elector: the store grants nobody the lease")
	ErrNoHints       = errors.New("elector: the store's announcements have stopped coming; listening anew")
	ErrPanic         = errors.New("elector: the store panicked")
)

func stateOf(r machine.Role) State {
	switch r {
	case machine.Follower:
		return StateFollower
	case machine.Candidate:
		return StateCandidate
	case machine.Leader:
		return StateLeader
	case machine.Draining:
		return StateDraining
	default:
		return StateStopped
	}
}

// event translates a transition; false if it is none that users are told of.
func (e *Elector) event(t machine.Transition) (Event, bool) {
	ev := Event{
		At: t.At, Election: e.cfg.Election, ID: e.id, State: stateOf(t.Role),
		Token: t.Token, Until: t.Until, Late: t.Late, Err: t.Err,
	}
	switch t.Kind {
	case machine.RoleChanged:
		ev.Kind = EventState
	case machine.Elected:
		ev.Kind = EventElected
	case machine.Extended:
		ev.Kind = EventExtended
	case machine.Deposed:
		ev.Kind = EventDeposed
		ev.Reason = Reason(t.Why.String())
	case machine.LeaderSeen:
		ev.Kind = EventLeader
		ev.Leader = Leader{ID: t.Holder, Token: t.Token, Remaining: t.Remaining}
	case machine.Trouble:
		ev.Kind = EventTrouble
	case machine.Unreachable:
		ev.Kind = EventUnreachable
	case machine.Reachable:
		ev.Kind = EventReachable
	default:
		return Event{}, false
	}
	return ev, true
}

// Texts of the log for what may go wrong again and again.
const (
	troubleText = "a request to the store failed"
	fatalText   = "stopped competing: no repetition will change the store's answer"
	lateText    = "a renewal was sent late: this process or machine is overloaded, or was paused"
)

// log writes the event to the log: a warning that is repeated with how often it has been
// due since the last line, or at debug if times is 0.
func (e *Elector) log(ev Event, times int) {
	level, text := slog.LevelDebug, ""
	var attrs []slog.Attr
	switch ev.Kind {
	case EventState:
		text = "state changed"
		if ev.Err != nil {
			level, text = slog.LevelError, fatalText
		}
		attrs = append(attrs, slog.String("state", string(ev.State)))
	case EventElected:
		level, text = slog.LevelInfo, "elected"
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.Duration("for", ev.Until-ev.At))
	case EventExtended:
		text = "lease renewed"
		if e.overdue(ev) {
			level, text = slog.LevelWarn, lateText
		}
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.Duration("for", ev.Until-ev.At), slog.Duration("late", ev.Late))
	case EventDeposed:
		level, text = slog.LevelWarn, "deposed"
		if ev.Reason == ReasonResigned || ev.Reason == ReasonStopped {
			level = slog.LevelInfo
		}
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.String("reason", string(ev.Reason)))
	case EventLeader:
		level, text = slog.LevelInfo, "leader seen"
		attrs = append(attrs, slog.String("leader", ev.Leader.ID), slog.Uint64("token", ev.Leader.Token))
	case EventTrouble:
		level, text = slog.LevelWarn, troubleText
	case EventUnreachable:
		level, text = slog.LevelError, "the store has not answered for longer than a lease"
		if ev.Err != nil {
			text = "the store answers, and has refused every request for longer than a lease"
		}
	case EventReachable:
		level, text = slog.LevelInfo, "the store answers again"
	}
	if ev.Err != nil {
		attrs = append(attrs, slog.Any("error", ev.Err))
	}
	switch {
	case times == 0:
		level = slog.LevelDebug
	case times > 1:
		attrs = append(attrs, slog.Int("times", times))
	}
	e.write(level, text, attrs...)
}

// overdue says whether a renewal was sent so late that it is worth a warning.
func (e *Elector) overdue(ev Event) bool { return ev.Late > e.cfg.RequestTimeout }

// write writes to the log. A logger that panics has lost what it was told; there is
// nobody else to tell.
func (e *Elector) write(level slog.Level, text string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	if level == slog.LevelDebug {
		e.muted.Store(!e.cfg.Logger.Enabled(context.Background(), level))
	}
	attrs = append([]slog.Attr{slog.String("election", e.cfg.Election), slog.String("id", e.id)}, attrs...)
	e.cfg.Logger.LogAttrs(context.Background(), level, text, attrs...)
}
