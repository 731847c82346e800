package calibration

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

const millisecond = time.Millisecond

// story is a failover: n1 crashes, n3 is refused, n2 is granted and writes.
func story() (*history.History, *checker.Result) {
	h := &history.History{Header: history.Header{Seed: 7, Lease: time.Second, Renew: 300 * millisecond}}
	add := func(at time.Duration, e history.Event) {
		e.At, e.Seq = at*millisecond, int64(len(h.Events)+1)
		h.Events = append(h.Events, e)
	}
	call := func(at, end time.Duration, op int64, node string, call history.Call, kind history.Kind, token uint64) {
		add(at, history.Event{Kind: history.Invoke, Node: node, Op: op, Call: call})
		add(end, history.Event{Kind: kind, Node: node, Op: op, Call: call, Token: token})
	}
	add(0, history.Event{Kind: history.Start, Node: "n1"})
	call(12, 15, 1, "n1", history.Acquire, history.Ok, 1)
	call(314, 315, 2, "n1", history.Renew, history.Ok, 1)
	add(400, history.Event{Kind: history.Fault, Fault: "crash", Phase: history.On, ID: "f1", Targets: []string{"n1"}})
	call(400, 400, 8, "n1", history.Write, history.Ok, 1)
	call(401, 401, 9, "n1", history.Write, history.Ok, 1)
	add(402, history.Event{Kind: history.Exit, Node: "n1", Why: history.Killed})
	call(500, 501, 3, "n3", history.Observe, history.Ok, 1)
	call(1300, 1301, 4, "n3", history.Acquire, history.Fail, 1)
	call(1320, 1322, 5, "n2", history.Acquire, history.Ok, 2)
	add(1322, history.Event{Kind: history.Elected, Node: "n2", Token: 2})
	add(1323, history.Event{Kind: history.Audit, Call: history.Acquire, Token: 2})
	call(1324, 1325, 6, "n2", history.Write, history.Ok, 2)
	call(1334, 1335, 7, "n2", history.Write, history.Ok, 2)
	failover := checker.Failover{
		Cause: "crash", From: "n1", To: "n2", At: 400 * millisecond, Total: 925 * millisecond, Excess: 11 * millisecond, Evidence: []int64{6, 17, 21},
	}
	return h, &checker.Result{
		Verdict: checker.Fail, Failovers: []checker.Failover{failover},
		Asked: []checker.Finding{{Promise: checker.FencedWrites, Verdict: checker.Fail}, {Promise: checker.Stable}},
	}
}

// A failover's order holds what the candidates and the fault did, by their
// parts in it, from its cause to the new leader's first write.
func TestOrderOfAFailover(t *testing.T) {
	h, r := story()
	run := Observe(h, r)
	want := []string{
		"begin: crash", "old crash on", "old write ok", "old exit killed", "other acquire refused",
		"new acquire ok", "new elected", "new write ok", "end",
	}
	if len(run.Failovers) != 1 || !slices.Equal(run.Failovers[0].Steps, want) {
		t.Errorf("%v\nwant %q", run.Failovers, want)
	}
	if run.Seed != 7 || !slices.Equal(run.Broken, []checker.Promise{checker.FencedWrites}) || len(run.Undecided) != 1 {
		t.Errorf("%+v", run)
	}
}

// The requests tell how long the road is, and how late the timers are.
func TestRoad(t *testing.T) {
	road := Observe(story()).Road
	for _, test := range []struct {
		what      string
		got, want []time.Duration
	}{
		{"acquisitions", road.Acquisitions, []time.Duration{3 * millisecond, 2 * millisecond}},
		{"renewals", road.Renewals, []time.Duration{millisecond}},
		{"lateness", road.Lateness, []time.Duration{2 * millisecond}},
		{"starts", road.Starts, []time.Duration{12 * millisecond}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
}

// A failover during which the machine stalled is left out: it tells of the
// machine.
func TestStalledFailoversAreLeftOut(t *testing.T) {
	h, r := story()
	h.Events = append(h.Events,
		history.Event{At: 1310 * millisecond, Kind: history.Fault, Fault: history.StallFault, ID: "stall1", Phase: history.On},
		history.Event{At: 1315 * millisecond, Kind: history.Fault, Fault: history.StallFault, ID: "stall1", Phase: history.Off})
	if run := Observe(h, r); len(run.Failovers) != 0 || run.LeftOut != 1 {
		t.Errorf("%d failovers, %d left out", len(run.Failovers), run.LeftOut)
	}
	h.Events[len(h.Events)-2].At, h.Events[len(h.Events)-1].At = 1500*millisecond, 1600*millisecond
	if run := Observe(h, r); len(run.Failovers) != 1 || run.LeftOut != 0 {
		t.Errorf("the machine stalled after it: %d failovers, %d left out", len(run.Failovers), run.LeftOut)
	}
}

// Nobody leads between the end of the last belief and the next one; beliefs that
// overlap or lie in one another leave no gap, and elections are apart.
func TestLeaderlessSpans(t *testing.T) {
	term := func(election string, from, to time.Duration) checker.Term {
		return checker.Term{Election: election, From: from * millisecond, To: to * millisecond}
	}
	got := leaderless([]checker.Term{
		term("a", 0, 100), term("a", 130, 400), term("a", 150, 200), term("a", 390, 500), term("a", 500, 600), term("a", 700, 800),
		term("b", 900, 1000), term("b", 1001, 1100),
	})
	want := spans{{100 * millisecond, 130 * millisecond}, {600 * millisecond, 700 * millisecond}, {1000 * millisecond, 1001 * millisecond}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	h, r := story()
	r.Terms = []checker.Term{term("", 0, 1300), term("", 1320, 2000)}
	if run := Observe(h, r); !slices.Equal(run.Leaderless, []time.Duration{20 * millisecond}) {
		t.Errorf("%v without a leader", run.Leaderless)
	}
	h.Events = append(h.Events,
		history.Event{At: 1310 * millisecond, Kind: history.Fault, Fault: history.StallFault, ID: "stall1", Phase: history.On},
		history.Event{At: 1315 * millisecond, Kind: history.Fault, Fault: history.StallFault, ID: "stall1", Phase: history.Off})
	if run := Observe(h, r); len(run.Leaderless) != 0 {
		t.Errorf("a span in which the machine stalled is counted: %v", run.Leaderless)
	}
}
