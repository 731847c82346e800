package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// Standing follows the attempts of each node that was refused last, and stands: it may
// be granted in the history that goes on, which has to restate it. The zero value
// knows none.
type Standing struct {
	last map[string]refusal // by node
}

// refusal is an attempt and its answer.
type refusal struct{ invoke, fail history.Event }

// See takes in the completion of an operation.
func (s *Standing) See(invoke, completion *history.Event) {
	switch {
	case invoke.Call != history.Acquire:
	case completion.Stands:
		if s.last == nil {
			s.last = map[string]refusal{}
		}
		s.last[invoke.Node] = refusal{*invoke, *completion}
	default:
		delete(s.last, invoke.Node)
	}
}

// Restate adds to what a history begins with the attempts that stand, of those that
// were refused after since, in the order of time. They say nothing of whose lease it
// was: that was another history's.
func (s *Standing) Restate(room []history.Event, since time.Duration) []history.Event {
	for _, node := range slices.Sorted(maps.Keys(s.last)) {
		r := s.last[node]
		if r.fail.At <= since {
			continue
		}
		r.fail.Holder, r.fail.Token, r.fail.Error = "", 0, "restated"
		r.invoke.Restated, r.fail.Restated = true, true
		room = append(room, r.invoke, r.fail)
	}
	slices.SortStableFunc(room, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return room
}
