package checker

import (
	"fmt"

	"github.com/recount-io/recount/checker/internal/finding"
)

// noPanic decides whether no candidate's process panicked. One of several that
// does costs nobody the lead for long, so no other promise need notice.
//
// Complete only for processes whose world tells a panic from another end: the
// live world knows those of Go.
func noPanic(x *facts) Finding {
	if len(x.Nodes) == 0 {
		return finding.Nothing("no candidate ever did anything")
	}
	if len(x.Panics) > 0 {
		first := x.Panics[0]
		return finding.Failed(fmt.Sprintf("%s panicked at %s: %s", first.Node, finding.Moment(first.At), first.Text), first.Seq)
	}
	return finding.Passed(finding.Count(len(x.Nodes), "candidate") + ", and none panicked")
}
