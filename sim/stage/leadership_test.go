package stage

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/history"
)

// event is an event in short: "n1 elected 3", "n1 wrote", "n1 exit".
func event(text string) history.Event {
	node, rest, _ := strings.Cut(text, " ")
	e := history.Event{Node: node}
	var token uint64
	if kind, number, found := strings.Cut(rest, " "); found {
		if _, err := fmt.Sscan(number, &token); err != nil {
			panic(err)
		}
		rest = kind
	}
	e.Kind, e.Token = history.Kind(rest), token
	switch rest {
	case "wrote":
		e.Kind, e.Call = history.Ok, history.Write
	case "refused":
		e.Kind, e.Call = history.Fail, history.Write
	case "renewed":
		e.Kind, e.Call = history.Ok, history.Renew
	}
	return e
}

// Who leads after some events: one who was elected and wrote, and neither was
// deposed since nor ended, nor was followed by somebody with a larger token.
func TestLeadershipSees(t *testing.T) {
	for events, want := range map[string]string{
		"":                                                                            "",
		"n1 elected 3":                                                                "", // not yet at work
		"n1 elected 3, n1 refused":                                                    "",
		"n1 elected 3, n1 renewed":                                                    "",
		"n1 elected 3, n2 wrote":                                                      "",
		"n1 elected 3, n1 wrote":                                                      "n1",
		"n1 elected 3, n1 wrote, n1 wrote":                                            "n1",
		"n1 wrote, n1 elected 3":                                                      "",
		"n1 elected 3, n1 wrote, n1 exit":                                             "",
		"n1 elected 3, n1 wrote, n2 exit":                                             "n1",
		"n1 elected 3, n1 wrote, n1 start":                                            "n1",
		"n1 elected 3, n1 wrote, n1 extended":                                         "n1",
		"n1 elected 3, n1 wrote, n1 deposed 3":                                        "",
		"n1 elected 3, n1 wrote, n1 deposed 2":                                        "n1", // of an earlier term
		"n1 elected 3, n1 wrote, n2 deposed 3":                                        "n1",
		"n1 elected 3, n1 wrote, n2 elected 4":                                        "",
		"n1 elected 3, n1 wrote, n2 elected 4, n2 wrote":                              "n2",
		"n1 elected 3, n1 wrote, n2 elected 4, n1 wrote":                              "",
		"n1 elected 3, n1 wrote, n2 elected 4, n2 wrote, n1 deposed 3":                "n2", // late news of the former leader
		"n2 elected 4, n2 wrote, n1 elected 3, n1 wrote":                              "n2", // late news through another pipe
		"n1 elected 0, n1 wrote, n2 elected 0, n2 wrote":                              "n2", // electors without tokens
		"n1 elected 3, n1 wrote, n1 deposed 3, n1 wrote":                              "",
		"n1 elected 9, n1 wrote, n1 deposed 9, n2 elected 1, n2 wrote":                "n2", // the store lost count
		"n1 elected 3, n1 wrote, n1 deposed 3, n1 elected 4, n1 wrote, n1 deposed 3":  "n1",
		"n1 elected 3, n1 wrote, n1 exit, n1 start, n1 elected 5, n1 wrote, n2 exit":  "n1",
		"n1 elected 3, n1 wrote, n1 exit, n3 elected 4, n3 wrote, n1 start, n2 start": "n3",
	} {
		l := NewLeadership([]string{"n1", "n2", "n3"})
		for _, text := range strings.Split(events, ", ") {
			if text != "" {
				l.See(event(text))
			}
		}
		if view, _ := l.View(); view.Leader != want || strings.Join(view.Running, " ") != "n1 n2 n3" {
			t.Errorf("after %s: %+v, want the leader %q", events, view, want)
		}
	}
}

// A node whose process has ended by itself is not among those that run, until one begins
// again: nobody can pause or kill it.
func TestLeadershipGone(t *testing.T) {
	l := NewLeadership([]string{"n1", "n2", "n3"})
	for _, x := range []struct {
		why  history.Why
		want string
	}{{history.ByItself, "n1 n3"}, {history.Panicked, "n1 n3"}, {history.Killed, "n1 n2 n3"}} {
		l.See(history.Event{Kind: history.Exit, Node: "n2", Why: x.why})
		if v, _ := l.View(); strings.Join(v.Running, " ") != x.want {
			t.Errorf("after its end, %s: %v run, want %s", x.why, v.Running, x.want)
		}
		l.See(history.Event{Kind: history.Start, Node: "n2"})
		if v, _ := l.View(); strings.Join(v.Running, " ") != "n1 n2 n3" {
			t.Errorf("when it has begun again %v run", v.Running)
		}
	}
}

// A node that a fault has hit is not among those that run, and does not lead;
// it is again once every fault that hit it is off.
func TestLeadershipDisturbed(t *testing.T) {
	l := NewLeadership([]string{"n1", "n2", "n3"})
	l.See(event("n2 elected 3"))
	l.See(event("n2 wrote"))
	expect := func(running, leader string) {
		t.Helper()
		if v, _ := l.View(); strings.Join(v.Running, " ") != running || v.Leader != leader {
			t.Errorf("view %+v, want %q led by %q", v, running, leader)
		}
	}
	l.Disturb([]string{"n2", "n3"}, true)
	expect("n1", "")
	l.Disturb([]string{"n3"}, true) // a second fault
	l.Disturb([]string{"n2", "n3"}, false)
	expect("n1 n2", "n2")
	l.Disturb([]string{"n3"}, false)
	expect("n1 n2 n3", "n2")
}

// Those who wait for a leader get one at once if there is one, as soon as one
// is at work otherwise, and are sent away when their patience or context ends.
func TestLeadershipAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLeadership([]string{"n1"})
		begin := time.Now()
		if v, found := l.Await(t.Context(), 3*time.Second); found || v.Leader != "" || time.Since(begin) != 3*time.Second {
			t.Errorf("nobody leads: %+v, %v after %v", v, found, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if _, found := l.Await(ctx, time.Hour); found || time.Since(begin) != time.Second {
			t.Errorf("its context ended: %v after %v", found, time.Since(begin))
		}

		begin = time.Now()
		time.AfterFunc(time.Second, func() { l.See(event("n1 elected 1")) })
		time.AfterFunc(2*time.Second, func() { l.See(event("n1 wrote")) })
		if v, found := l.Await(t.Context(), time.Hour); !found || v.Leader != "n1" || time.Since(begin) != 2*time.Second {
			t.Errorf("n1 leads after 2s: %+v, %v after %v", v, found, time.Since(begin))
		}
		l.Disturb([]string{"n1"}, true)
		begin = time.Now()
		time.AfterFunc(time.Second, func() { l.Disturb([]string{"n1"}, false) })
		if _, found := l.Await(t.Context(), time.Hour); !found || time.Since(begin) != time.Second {
			t.Errorf("the leader is well again after 1s: %v after %v", found, time.Since(begin))
		}
		begin = time.Now()
		if _, found := l.Await(t.Context(), time.Hour); !found || time.Since(begin) != 0 {
			t.Errorf("a leader is there: %v after %v", found, time.Since(begin))
		}
	})
}
