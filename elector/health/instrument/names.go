package instrument

import (
	"errors"

	"github.com/recount-io/recount/elector"
)

// States are all states of an elector.
func States() []elector.State {
	return []elector.State{elector.StateFollower, elector.StateCandidate, elector.StateLeader, elector.StateDraining, elector.StateStopped}
}

// Reasons are all reasons for which a term ends.
func Reasons() []elector.Reason {
	return []elector.Reason{elector.ReasonExpired, elector.ReasonSuperseded, elector.ReasonResigned, elector.ReasonStopped, elector.ReasonError}
}

// Lost says whether a term that ended for this reason ended against its
// holder's will.
func Lost(r elector.Reason) bool { return r != elector.ReasonResigned && r != elector.ReasonStopped }

// troubles name what elector.EventTrouble tells apart.
var troubles = []struct {
	kind string
	err  error
}{
	{"timeout", elector.ErrTimeout},
	{"too_many", elector.ErrTooMany},
	{"token_seen", elector.ErrTokenSeen},
	{"too_late", elector.ErrTooLate},
	{"stray", elector.ErrStray},
	{"drain_capped", elector.ErrDrainCapped},
	{"callback_hangs", elector.ErrCallbackHangs},
	{"crowded", elector.ErrCrowded},
	{"same_id", elector.ErrSameID},
	{"withheld", elector.ErrWithheld},
	{"no_hints", elector.ErrNoHints},
	{"panic", elector.ErrPanic},
}

const otherTrouble = "request"

// Trouble is the kind of the error of an elector.EventTrouble: one of Troubles,
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
