package checker

import (
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// goodStory is a crash of the leader with everything recorded and everything
// right.
func goodStory() *story {
	s := newStory()
	s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1900*ms)
	s.refused("n2", "b", 10*ms, 12*ms, "n1", 1)
	s.write("n1", 20*ms, 21*ms, history.Ok, 1, "x", 0)
	s.renew("n1", 600*ms, 602*ms, history.Ok, 1).extended("n1", 602*ms, 1, 2500*ms)
	s.fault("crash", 1000*ms, 1001*ms, nil, "n1").exit("n1", 1001*ms)
	s.acquire("n2", "c", 2605*ms, 2607*ms, 2).elected("n2", 2607*ms, 2, 4500*ms)
	s.write("n2", 2610*ms, 2611*ms, history.Ok, 2, "y", 0)
	s.read("n3", 2620*ms, 2621*ms, "y", 2)
	s.healed(2700 * ms)
	for at := 3200 * ms; at < 20000*ms; at += 500 * ms {
		s.renew("n2", at, at+2*ms, history.Ok, 2).extended("n2", at+2*ms, 2, at+1900*ms)
	}
	s.observe("n3", 19000*ms, 19001*ms, "n2", 2)
	return s.note(20000 * ms)
}

func of(r *Result, p Promise) Finding {
	for _, f := range append(append([]Finding{}, r.Asked...), r.Measured...) {
		if f.Promise == p {
			return f
		}
	}
	return Finding{}
}

func expect(t *testing.T, r *Result, p Promise, want Verdict) Finding {
	t.Helper()
	f := of(r, p)
	if f.Verdict != want || f.Reason == "" {
		t.Errorf("%s is %v (%s), want %v", p, f.Verdict, f.Reason, want)
	}
	return f
}

// A run in which everything went well passes every promise, and its failover
// is measured part by part.
func TestGoodHistoryPasses(t *testing.T) {
	r := Check(goodStory().build(), Options{})
	for _, p := range Promises {
		expect(t, r, p, Pass)
	}
	if r.Verdict != Pass {
		t.Errorf("verdict %v", r.Verdict)
	}
	if len(r.Failovers) != 1 {
		t.Fatalf("failovers: %+v", r.Failovers)
	}
	f := r.Failovers[0]
	want := Failover{Cause: "crash", From: "n1", To: "n2", At: 1000 * ms, Wait: 1600 * ms, Detect: 5 * ms,
		Acquire: 2 * ms, Announce: 4 * ms, Total: 1611 * ms, Excess: 11 * ms, Evidence: f.Evidence}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("failover\n%+v, want\n%+v", f, want)
	}
	if r.Writes != (WriteCounts{Accepted: 2}) || len(r.Terms) != 2 || r.DualBelief != 0 {
		t.Errorf("%+v %+v %v", r.Writes, r.Terms, r.DualBelief)
	}
}

// The same history gives the same result, and checking does not change it.
func TestCheckIsPure(t *testing.T) {
	h := goodStory().build()
	again := goodStory().build()
	a, b := Check(h, Options{}), Check(h, Options{})
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(h, again) {
		t.Error("two checks of one history differ, or the history was changed")
	}
}

// A history with a header and no event is unknown everywhere.
func TestEmptyHistoryIsUnknown(t *testing.T) {
	r := Check(&history.History{}, Options{PorcupineCap: time.Second})
	for _, p := range Promises {
		expect(t, r, p, Unknown)
	}
	if r.Verdict != Unknown {
		t.Error(r.Verdict)
	}
}
