package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

// A program is taken to believe from the grant's reply until its lease may be
// over, longer by renewals, and no longer than until it gives up or is refused.
func TestBeliefsAreInferred(t *testing.T) {
	const ttl = 100 * time.Millisecond
	op := func(n int64, call history.Call, kind history.Kind, from, to int64) []history.Event {
		e := history.Event{Kind: history.Invoke, Node: "n1", Call: call, Op: n, TTL: ttl, At: time.Duration(from) * ms}
		if call == history.Release {
			e.TTL = 0
		}
		end := e
		end.Kind, end.At = kind, time.Duration(to)*ms
		return []history.Event{e, end}
	}
	exit := []history.Event{{Kind: history.Exit, Node: "n1", At: 60 * ms}}
	grant := op(1, history.Acquire, history.Ok, 0, 10)
	late := op(2, history.Acquire, history.Ok, 50, 70)
	shut := op(2, history.Renew, history.Fail, 50, 55)
	shut[1].Error = "the store answered with an error"
	perhaps := op(2, history.Release, history.Info, 50, 55)
	perhaps[0].Text = "one of several"
	endless := op(1, history.Acquire, history.Ok, 0, 10)
	endless[0].TTL, endless[1].TTL = wire.Endless, wire.Endless
	for _, test := range []struct {
		name   string
		events [][]history.Event
		want   string
	}{
		{"granted", [][]history.Event{grant}, "elected 10ms until 100ms"},
		{"granted for ever", [][]history.Event{endless}, "elected 10ms"},
		{"refused", [][]history.Event{op(1, history.Acquire, history.Fail, 0, 10)}, ""},
		{"renewed", [][]history.Event{grant, op(2, history.Renew, history.Ok, 50, 55)}, "elected 10ms until 100ms; extended 55ms until 150ms"},
		{"taken again", [][]history.Event{grant, op(2, history.Acquire, history.Ok, 50, 55)}, "elected 10ms until 100ms; extended 55ms until 150ms"},
		{"renewal lost", [][]history.Event{grant, op(2, history.Renew, history.Info, 50, 55)}, "elected 10ms until 100ms"},
		{"renewal refused", [][]history.Event{grant, op(2, history.Renew, history.Fail, 50, 55)}, "elected 10ms until 100ms; deposed 55ms superseded"},
		{"renewal failed for another reason", [][]history.Event{grant, shut}, "elected 10ms until 100ms"},
		{"gives up", [][]history.Event{grant, op(2, history.Release, history.Info, 50, 55)}, "elected 10ms until 100ms; deposed 50ms resigned"},
		{"may have given up", [][]history.Event{grant, perhaps}, "elected 10ms until 100ms"},
		{"renews what it does not hold", [][]history.Event{op(1, history.Renew, history.Ok, 0, 10)}, ""},
		{"ends before the reply", [][]history.Event{late[:1], exit, late[1:]}, ""},
	} {
		b := wire.NewBeliefs()
		var lines []string
		for _, events := range test.events {
			for _, e := range events {
				if out, follows := b.See(e); follows {
					line := fmt.Sprintf("%s %v", out.Kind, out.At)
					if out.Until != nil {
						line += fmt.Sprintf(" until %v", *out.Until)
					}
					if out.Why != "" {
						line += " " + string(out.Why)
					}
					if lines = append(lines, line); out.Evidence != history.FromWire || out.Node != "n1" {
						t.Errorf("%s: %+v", test.name, out)
					}
				}
			}
		}
		if got := strings.Join(lines, "; "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
