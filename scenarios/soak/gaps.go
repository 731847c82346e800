package soak

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// gapsOf is how long nobody led each time that one leader followed another, or the
// same, and no fault had been on for so long; and how many terms began, and how many
// of them were handed over from another node.
func gapsOf(h *history.History, after time.Duration) (gaps []time.Duration, terms, handed int) {
	var faulty []span
	var over time.Duration // when the last belief ended
	var last string        // whose it was
	deadline := time.Duration(0)
	on := map[string]time.Duration{}
	leads := false
	for _, e := range h.Events {
		if e.Kind == history.Fault && e.Phase == history.On {
			on[e.ID] = e.At
		} else if e.Kind == history.Fault {
			faulty = append(faulty, span{on[e.ID], e.At + after})
		}
	}
	slices.SortFunc(faulty, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, e := range h.Events {
		switch e.Kind {
		case history.Elected:
			from := over
			if leads {
				from = deadline // it ended by itself, unseen
			}
			if last != "" && e.At > from && !slices.ContainsFunc(faulty, func(s span) bool { return s.meets(from, e.At) }) {
				gaps = append(gaps, e.At-from)
			}
			if !e.Restated {
				terms++
				if last != "" && last != e.Node {
					handed++
				}
			}
			leads, last, deadline = true, e.Node, *e.Until
		case history.Extended:
			if e.Node == last {
				deadline = *e.Until
			}
		case history.Deposed, history.Exit:
			if leads && e.Node == last {
				leads, over = false, min(e.At, deadline)
			}
		}
	}
	return gaps, terms, handed
}
