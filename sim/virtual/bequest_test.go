package virtual

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// A leader that resigns hands over to another candidate, which leads next, some round
// trips later.
func TestHandOver(t *testing.T) {
	plan := quick(3)
	plan.HandsOver = true
	plan.Schedule = faults.Schedule{{At: 3 * time.Second, For: 2 * time.Second, Fault: faults.Resign{}, Target: faults.Leader}}
	did := &effects{}
	h, err := (&World{}).carryOut(t.Context(), plan, how{texts: true, effects: did}, new([]history.Event))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`announces "(?:released \d+ 1200|granted \d+ \d+ \d+ \S+) (n\d)/`).FindStringSubmatch(strings.Join(did.all, "\n"))
	if named == nil {
		t.Fatalf("no hand-over is announced:\n%s", strings.Join(did.all, "\n"))
	}
	var left time.Duration
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Deposed && left == 0:
			left = e.At
		case e.Kind == history.Elected && left > 0:
			if e.Node != named[1] || e.At-left > 100*ms {
				t.Errorf("%s leads %v later, handed over to %s", e.Node, e.At-left, named[1])
			}
			return
		}
	}
	t.Error("nobody leads after the first one")
}
