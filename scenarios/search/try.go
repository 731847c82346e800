package search

import (
	"fmt"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/space"
)

// Try runs a case in a bubble of its own, in this process, and adds to its findings
// what its history shows. A bubble that comes to no end is a finding; what is left of
// it stays in the process.
func Try(t *testing.T, c Case) (o space.Outcome) {
	t.Helper()
	if stuck := inBubble(t, c.Number(), func(t *testing.T) { o = c.Run(t.Context()) }); stuck != nil && len(o.Findings) == 0 {
		o.Findings = append(o.Findings, space.Finding{Obligation: rests, Details: fmt.Sprint(stuck)})
	}
	if o.History != nil {
		o.Findings = append(c.Judge(checker.Check(o.History, checker.Options{})), o.Findings...)
	}
	return o
}
