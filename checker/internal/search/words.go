package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/history"
)

// describeInput writes a step for people.
func describeInput(in *leaseInput) string {
	switch {
	case in.end != nil:
		return "end"
	case in.fault != nil:
		return "a fault of the store"
	}
	o := in.op
	text := fmt.Sprintf("%s by %s", o.Call, finding.Who(o.Node, o.Token))
	switch {
	case len(in.sent) > 1:
		return fmt.Sprintf("%d operations sent, outcome unknown", len(in.sent))
	case in.sent != nil:
		return text + " sent, outcome unknown"
	case in.took:
		if o.Completed == 0 || o.Kind != history.Ok {
			text += " (its caller never knew)"
		}
		text += " -> ok"
		if token := max(in.token, o.Token); token > 0 {
			text += fmt.Sprintf(", token %d", token)
		}
		return fmt.Sprintf("%s, at %s to %s", text, finding.Moment(in.from), finding.Moment(in.to))
	default:
		return fmt.Sprintf("%s -> %s, at %s to %s", text, o.Answer(), finding.Moment(in.from), finding.Moment(in.to))
	}
}

func describeStates(states []leaseState) string {
	var texts []string
	for _, s := range states {
		if !s.live {
			texts = append(texts, fmt.Sprintf("free, tokens above %d", s.last))
			continue
		}
		texts = append(texts, fmt.Sprintf("%s, written %s to %s for %s", finding.Who(s.holder, s.token), finding.Moment(s.a), finding.Moment(s.b), finding.Span(s.ttl)))
	}
	slices.Sort(texts)
	return strings.Join(texts, " or ")
}
