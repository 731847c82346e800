package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

const shortTTL = 100 * time.Millisecond

// operation is one of n1, from and to these milliseconds.
func operation(n int64, call history.Call, kind history.Kind, from, to int64) []history.Event {
	e := history.Event{Kind: history.Invoke, Node: "n1", Call: call, Op: n, TTL: shortTTL, At: time.Duration(from) * ms}
	if call == history.Release {
		e.TTL = 0
	}
	end := e
	end.Kind, end.At = kind, time.Duration(to)*ms
	return []history.Event{e, end}
}

// by makes the operation that of another node, and named gives it a nonce.
func by(node string, events []history.Event) []history.Event {
	for i := range events {
		events[i].Node, events[i].Op = node, events[i].Op+10
	}
	return events
}

func named(nonce string, events []history.Event) []history.Event {
	for i := range events {
		events[i].Nonce = nonce
	}
	return events
}

// blind makes the operation a renewal that does not ask whose lease it prolongs.
func blind(events []history.Event) []history.Event {
	events[0].Text = "the lease of any holder"
	return events
}

// found makes the operation an observation that found the lease to be that of the node.
func found(node string, events []history.Event) []history.Event {
	events[1].Holder = node
	return events
}

// endlessGrant is a grant of a lease that does not end by itself.
func endlessGrant() []history.Event {
	events := operation(1, history.Acquire, history.Ok, 0, 10)
	events[0].TTL, events[1].TTL = wire.Endless, wire.Endless
	return events
}

// inferred are operations, and the beliefs that follow from them.
type inferred struct {
	name   string
	events [][]history.Event
	want   string
}

func (x inferred) test(t *testing.T) {
	b := wire.NewBeliefs()
	var lines []string
	for _, events := range x.events {
		for _, e := range events {
			out, follows := b.See(e)
			if !follows {
				continue
			}
			line := fmt.Sprintf("%s %v", out.Kind, out.At)
			if out.Node != "n1" {
				line = out.Node + " " + line
			}
			if out.Until != nil {
				line += fmt.Sprintf(" until %v", *out.Until)
			}
			if out.Why != "" {
				line += " " + string(out.Why)
			}
			if lines = append(lines, line); out.Evidence != history.FromWire {
				t.Errorf("%s: %+v", x.name, out)
			}
		}
	}
	if got := strings.Join(lines, "; "); got != x.want {
		t.Errorf("%s: %s, want %s", x.name, got, x.want)
	}
}

// A program is taken to believe from the grant's reply until its lease may be
// over, longer by renewals, and no longer than until it gives up or is refused.
func TestBeliefsAreInferred(t *testing.T) {
	exit := []history.Event{{Kind: history.Exit, Node: "n1", At: 60 * ms}}
	grant := operation(1, history.Acquire, history.Ok, 0, 10)
	late := operation(2, history.Acquire, history.Ok, 50, 70)
	shut := operation(2, history.Renew, history.Fail, 50, 55)
	shut[1].Error = "the store answered with an error"
	perhaps := operation(2, history.Release, history.Info, 50, 55)
	perhaps[0].Text = "one of several"
	endless := endlessGrant()
	for _, x := range []inferred{
		{"granted", [][]history.Event{grant}, "elected 10ms until 100ms"},
		{"granted for ever", [][]history.Event{endless}, "elected 10ms"},
		{"refused", [][]history.Event{operation(1, history.Acquire, history.Fail, 0, 10)}, ""},
		{"renewed", [][]history.Event{grant, operation(2, history.Renew, history.Ok, 50, 55)}, "elected 10ms until 100ms; extended 55ms until 150ms"},
		{"taken again", [][]history.Event{grant, operation(2, history.Acquire, history.Ok, 50, 55)}, "elected 10ms until 100ms; extended 55ms until 150ms"},
		{"renewal lost", [][]history.Event{grant, operation(2, history.Renew, history.Info, 50, 55)}, "elected 10ms until 100ms"},
		{"renewal refused", [][]history.Event{grant, operation(2, history.Renew, history.Fail, 50, 55)}, "elected 10ms until 100ms; deposed 55ms superseded"},
		{"renewal failed for another reason", [][]history.Event{grant, shut}, "elected 10ms until 100ms"},
		{"gives up", [][]history.Event{grant, operation(2, history.Release, history.Info, 50, 55)}, "elected 10ms until 100ms; deposed 50ms resigned"},
		{"may have given up", [][]history.Event{grant, perhaps}, "elected 10ms until 100ms; deposed 50ms resigned"},
		{"may have given up, and had not", [][]history.Event{grant, perhaps, operation(3, history.Renew, history.Ok, 60, 65)},
			"elected 10ms until 100ms; deposed 50ms resigned; elected 65ms until 160ms"},
		{"may have given up, and takes it again", [][]history.Event{grant, perhaps, operation(3, history.Acquire, history.Ok, 60, 65)},
			"elected 10ms until 100ms; deposed 50ms resigned; elected 65ms until 160ms"},
		{"may have given up, and had", [][]history.Event{grant, perhaps, operation(3, history.Renew, history.Fail, 60, 65), operation(4, history.Renew, history.Ok, 70, 75)},
			"elected 10ms until 100ms; deposed 50ms resigned"},
		{"renews what it does not hold", [][]history.Event{operation(1, history.Renew, history.Ok, 0, 10)}, ""},
		{"ends before the reply", [][]history.Event{late[:1], exit, late[1:]}, ""},
	} {
		x.test(t)
	}
}

// Who holds the lease on after its process ended, or was granted it without a reply, leads
// as soon as it is seen to hold it: by a renewal that asks for that, or after a look.
func TestBeliefsAreFoundAgain(t *testing.T) {
	exit := []history.Event{{Kind: history.Exit, Node: "n1", At: 60 * ms}}
	grant, endless := operation(1, history.Acquire, history.Ok, 0, 10), endlessGrant()
	perhaps := operation(1, history.Acquire, history.Info, 0, 10)
	late := found("n1", operation(4, history.Observe, history.Ok, 40, 57))
	gone := operation(2, history.Release, history.Info, 50, 55)
	gone[0].Text = "one of several"
	renewal := func() []history.Event { return operation(3, history.Renew, history.Ok, 80, 85) }
	look := func() []history.Event { return operation(2, history.Observe, history.Ok, 70, 75) }
	for _, x := range []inferred{
		{"goes on after its end", [][]history.Event{grant, exit, renewal()}, "elected 10ms until 100ms; elected 85ms until 180ms"},
		{"goes on after its end, without a look", [][]history.Event{grant, exit, blind(renewal())}, "elected 10ms until 100ms"},
		{"goes on after its end, by another one's lease", [][]history.Event{grant, exit, found("n2", look()), blind(renewal())}, "elected 10ms until 100ms"},
		{"goes on after its end, and looked before it", [][]history.Event{grant, found("n1", operation(2, history.Observe, history.Ok, 40, 45)), exit, blind(renewal())}, "elected 10ms until 100ms"},
		{"goes on after its end and a look", [][]history.Event{grant, exit, found("n1", look()), blind(renewal())}, "elected 10ms until 100ms; elected 85ms until 180ms"},
		{"goes on too late", [][]history.Event{grant, exit, operation(3, history.Renew, history.Ok, 111, 115)}, "elected 10ms until 100ms"},
		{"goes on after another one was granted it", [][]history.Event{endless, exit, by("n2", operation(1, history.Acquire, history.Ok, 70, 72)), renewal()}, "elected 10ms; n2 elected 72ms until 170ms"},
		{"granted without a reply", [][]history.Event{perhaps, renewal()}, "elected 85ms until 180ms"},
		{"perhaps granted", [][]history.Event{perhaps, blind(renewal())}, ""},
		{"granted without a reply, and seen", [][]history.Event{perhaps, found("n1", look()), blind(renewal())}, "elected 85ms until 180ms"},
		{"looked before it may have given up", [][]history.Event{grant, late[:1], gone, late[1:], blind(renewal())}, "elected 10ms until 100ms; deposed 50ms resigned"},
		{"not granted", [][]history.Event{perhaps, operation(2, history.Renew, history.Fail, 70, 75), renewal()}, ""},
		{"granted to another one", [][]history.Event{perhaps, by("n2", operation(1, history.Acquire, history.Ok, 20, 22)), renewal()}, "n2 elected 22ms until 120ms"},
	} {
		x.test(t)
	}
}

// Only a renewal that asks nothing is marked as one of any holder's lease.
func TestBlindRenewalsAreMarked(t *testing.T) {
	for line, want := range map[string]string{"PEXPIRE lock 2000": "the lease of any holder", "SET lock a XX PX 2000": "", "EVAL script 1 lock a 2000": ""} {
		p := newTape(wire.Options{Key: "lock"})
		args := strings.Fields(line)
		if args[0] == "EVAL" {
			args[1] = renewOwn
		}
		p.conn("n1").Send(args)
		if e := p.events[0]; e.Kind != history.Invoke || e.Call != history.Renew || e.Text != want {
			t.Errorf("%s: %+v", line, e)
		}
	}
}

// A grant of another lease than the one that a program had begins a new term.
func TestLapsedTermsEnd(t *testing.T) {
	grant := operation(1, history.Acquire, history.Ok, 0, 10)
	endless := endlessGrant()
	for _, x := range []inferred{
		{"lapsed, and granted anew", [][]history.Event{grant, operation(2, history.Acquire, history.Ok, 111, 120)}, "elected 10ms until 100ms; elected 120ms until 211ms"},
		{"lapsed, and granted anew after a renewal", [][]history.Event{grant, operation(2, history.Renew, history.Ok, 50, 60), operation(3, history.Acquire, history.Ok, 155, 157)},
			"elected 10ms until 100ms; extended 60ms until 150ms; extended 157ms until 255ms"},
		{"may have lapsed in the store", [][]history.Event{grant, operation(2, history.Acquire, history.Ok, 105, 112)}, "elected 10ms until 100ms; extended 112ms until 205ms"},
		{"renewed late", [][]history.Event{grant, operation(2, history.Renew, history.Ok, 90, 120)}, "elected 10ms until 100ms; extended 120ms until 190ms"},
		{"granted anew under another nonce", [][]history.Event{named("a", operation(1, history.Acquire, history.Ok, 0, 10)), named("b", operation(2, history.Acquire, history.Ok, 50, 55))},
			"elected 10ms until 100ms; elected 55ms until 150ms"},
		{"renewal lost, and granted again", [][]history.Event{grant, operation(2, history.Renew, history.Info, 50, 55), operation(3, history.Acquire, history.Ok, 130, 135)},
			"elected 10ms until 100ms; extended 135ms until 230ms"},
		{"renewal lost, and granted again after another one", [][]history.Event{
			grant, operation(2, history.Renew, history.Info, 50, 55), by("n2", operation(1, history.Acquire, history.Ok, 120, 122)), by("n2", operation(2, history.Release, history.Ok, 125, 126)),
			operation(3, history.Acquire, history.Ok, 130, 135),
		}, "elected 10ms until 100ms; n2 elected 122ms until 220ms; n2 deposed 125ms resigned; elected 135ms until 230ms"},
		{"granted for ever, and again after another one", [][]history.Event{endless, by("n2", operation(1, history.Acquire, history.Ok, 20, 22)), operation(3, history.Acquire, history.Ok, 30, 35)},
			"elected 10ms; n2 elected 22ms until 120ms; elected 35ms until 130ms"},
		{"refused although it held it", [][]history.Event{named("a", operation(1, history.Acquire, history.Ok, 0, 10)), named("a", operation(2, history.Acquire, history.Fail, 50, 55))},
			"elected 10ms until 100ms; deposed 55ms superseded"},
		{"another attempt refused", [][]history.Event{named("a", operation(1, history.Acquire, history.Ok, 0, 10)), named("b", operation(2, history.Acquire, history.Fail, 50, 55))}, "elected 10ms until 100ms"},
	} {
		x.test(t)
	}
}
