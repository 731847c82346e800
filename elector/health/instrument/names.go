package instrument

import (
	"errors"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// States are all states of an elector.
func States() []elector.State {
	return []elector.State{event.StateFollower, event.StateCandidate, event.StateLeader, event.StateDraining, event.StateStopped}
}

// Reasons are all reasons for which a term ends.
func Reasons() []elector.Reason {
	return []elector.Reason{event.ReasonExpired, event.ReasonSuperseded, event.ReasonResigned, event.ReasonStopped, event.ReasonError}
}

// Lost reports whether a term that ended for this reason ended against its
// holder's will.
func Lost(r elector.Reason) bool { return r != event.ReasonResigned && r != event.ReasonStopped }

// troubles name what event.Trouble tells apart.
var troubles = []struct {
	kind string
	err  error
}{
	{"timeout", event.ErrTimeout},
	{"too_many", event.ErrTooMany},
	{"token_seen", event.ErrTokenSeen},
	{"too_late", event.ErrTooLate},
	{"stray", event.ErrStray},
	{"drain_capped", event.ErrDrainCapped},
	{"callback_hangs", event.ErrCallbackHangs},
	{"crowded", event.ErrCrowded},
	{"same_id", event.ErrSameID},
	{"withheld", elector.ErrWithheld},
	{"no_hints", event.ErrNoHints},
	{"panic", event.ErrPanic},
}

const otherTrouble = "request"

// Trouble is the kind of the error of an event.Trouble: one of Troubles,
// whatever the text. Everything that has no name of its own is "request": a
// request that the store, or the way to it, has failed.
func Trouble(err error) string {
	for _, t := range troubles {
		if errors.Is(err, t.err) {
			return t.kind
		}
	}
	return otherTrouble
}

// Troubles are all kinds of trouble.
func Troubles() []string {
	list := []string{otherTrouble}
	for _, t := range troubles {
		list = append(list, t.kind)
	}
	return list
}
