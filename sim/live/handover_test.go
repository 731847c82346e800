package live

import (
	"errors"
	"strings"
	"testing"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// A leader is asked to hand its lease over. The fault has an effect only if the candidate
// says that somebody else leads.
func TestCommandGetsHandOver(t *testing.T) {
	for answer, want := range map[string]string{
		`"event":"transfer"`:                               "n1 handed its lease over to another candidate",
		`"event":"transfer","holder":"n2"`:                 "n1 handed its lease over to n2",
		`"event":"transfer","error":"nobody else is here"`: "n1 did not hand its lease over: nobody else is here",
	} {
		obeys := strings.Replace(leads(t), "exec cat", `while read -r line; do echo "$line" | sed 's/"command":"transfer"/`+answer+`/'; done`, 1)
		s, err := Open(t.Context(), Options{Redis: "embedded", Command: []string{"sh", "-c", obeys}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Run(t.Context(), plan(2, faults.Step{Fault: faults.Transfer{}, Target: faults.Leader}), t.TempDir())
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, e := range h.Events {
			if e.Fault != "transfer" || e.Phase != history.Off {
				continue
			}
			seen = true
			if refused := strings.Contains(answer, "error"); *e.Effective == refused || e.Evidence != want {
				t.Errorf("it answers %s: effective %v: %s\nwant %s", answer, *e.Effective, e.Evidence, want)
			}
		}
		if !seen {
			t.Errorf("it answers %s: there was no transfer", answer)
		}
	}
}
