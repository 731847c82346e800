package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// caseOf is a scenario with a subject as a case that breaks a promise.
func caseOf(t *testing.T, scenario, subject string, broke checker.Promise) Case {
	t.Helper()
	list, err := scenarios.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := list[0].Plan(scenarios.Settings{Subject: subject, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	c := FromPlan(plan)
	c.Failed.Promise = broke
	return c
}

// A scenario that breaks a promise is reduced to one step of its schedule, which
// lasts no longer than it did; the reduced case can be saved and read back, and
// still asks for what the scenario asked for.
func TestReduce(t *testing.T) {
	c := caseOf(t, "partition-leader", "believes-too-long", checker.AtMostOneLeader)
	reduced, ok := Reduce(t.Context(), c, time.Minute, planted())
	if !ok || len(reduced.Schedule) != 1 || reduced.Nodes != 2 || reduced.Failed.Promise != checker.AtMostOneLeader {
		t.Fatalf("%v: %v\nfrom %#v\nto   %#v", ok, reduced.Failed, c, reduced)
	}
	longest := time.Duration(0)
	for _, step := range c.Schedule {
		longest = max(longest, step.For)
	}
	if reduced.Schedule[0].For > longest {
		t.Errorf("the step lasts %v, and none lasted more than %v", reduced.Schedule[0].For, longest)
	}
	if reduced.Timings != c.Timings || !maps.Equal(reduced.Waived, c.Waived) || reduced.FailoverBound != c.FailoverBound || reduced.Steadfast != c.Steadfast {
		t.Errorf("it asks for something else\nfrom %#v\nto   %#v", c, reduced)
	}
	text, err := reduced.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := read.Try(t.Context(), &virtual.World{Subjects: planted()})
	if err != nil || !slices.ContainsFunc(r.Asked, func(f checker.Finding) bool {
		return f.Promise == checker.AtMostOneLeader && f.Verdict == checker.Fail && f.Reason == reduced.Failed.Reason
	}) {
		t.Errorf("the saved case does not repeat it: %v, %v", r.Asked, err)
	}
}

// weary leads until it was held up three times, and resigns then.
func weary(h sim.Host) error {
	lease := h.Settings().Lease
	st := h.Recorded(h.Store())
	for n := uint64(1); !h.Stopping(); n++ {
		sent := h.Now()
		grant, err := st.Acquire(store.Attempt{Election: h.Settings().Election, ID: h.Settings().Node, Nonce: fmt.Sprint(h.Settings().Node, n), Request: n, TTL: lease}, lease/4)
		if err != nil {
			h.Sleep(lease / 10)
			continue
		}
		held := store.Lease{Election: h.Settings().Election, ID: h.Settings().Node, Nonce: fmt.Sprint(h.Settings().Node, n), Token: grant.Token, TTL: lease}
		h.Elected(grant.Token, sent+lease*98/100)
		stop, last := h.Work(grant.Token), h.Now()
		for pauses := 0; pauses < 3 && !h.Stopping(); last = h.Now() {
			h.Sleep(lease / 20)
			if h.Now()-last > lease/5 {
				pauses++
			}
			n++
			held.Request, sent = n, h.Now()
			if st.Renew(held, lease/4) != nil {
				break
			}
			h.Extended(grant.Token, sent+lease*98/100)
		}
		h.Deposed(grant.Token, history.Resigned)
		stop()
		n++
		held.Request = n
		_ = st.Release(held, lease/4) // it ends by itself if that fails
		h.Sleep(lease / 2)
	}
	return nil
}

// No fault is made longer: of an elector that resigns at the third short pause
// all three stay, although one long pause would change the leader as well, for
// which nobody is to blame.
func TestReduceIsFair(t *testing.T) {
	subjects := map[string]virtual.Subject{"weary": {Blocking: weary}}
	c := caseOf(t, "pause-leader-short", "weary", checker.Stable)
	reduced, ok := Reduce(t.Context(), c, time.Minute, subjects)
	if !ok || len(reduced.Schedule) != 3 {
		t.Fatalf("%v, %v\nfrom %#v\nto   %#v", ok, reduced.Failed, c, reduced)
	}
	for i, step := range reduced.Schedule {
		if step.For != c.Schedule[i].For {
			t.Errorf("step %d lasts %v in place of %v", i+1, step.For, c.Schedule[i].For)
		}
	}
	if c, ok := Reduce(t.Context(), caseOf(t, "pause-leader-short", "recount", checker.Stable), time.Minute, nil); ok {
		t.Errorf("what is kept was reduced: %v", c.Failed)
	}
}
