package virtual

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// rough is a plan with a fault of every kind, some at the same time.
func rough(seed uint64) sim.Plan {
	plan := quick(3)
	plan.Seed, plan.Network, plan.Observes = seed, sim.DefaultNetwork(), time.Second
	targets := []faults.Target{faults.Leader, faults.Follower, faults.Minority, faults.Node("n2"), faults.All}
	for i, f := range faults.Catalogue() {
		target := targets[i%len(targets)]
		if f.Effect().Store {
			target = faults.Store
		}
		plan.Schedule = append(plan.Schedule, faults.Step{
			At: time.Duration(i) * 2500 * ms, For: time.Duration(1+i%4) * time.Second, Fault: f, Target: target,
		})
	}
	return plan
}

// text is a history as it is written to a file.
func text(t *testing.T, h *history.History) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The same seed gives the same bytes, for electors in blocking style as well,
// and whether or not somebody wants to know of the faults' moments.
func TestSameSeedSameBytes(t *testing.T) {
	seen := map[string]bool{}
	for _, subject := range []string{"recount", "bare"} {
		for seed := range uint64(10) {
			plan := rough(seed)
			plan.Subject = subject
			var first []byte
			for again := range 3 {
				world := &World{Subjects: map[string]Subject{"bare": {Blocking: bareElector}}}
				moments := 0
				if again == 2 {
					world.Moments = func(Moment) { moments++ }
				}
				h, err := world.Run(t.Context(), plan, "")
				if err != nil {
					t.Fatal(err)
				}
				wellFormed(t, h.Events)
				got := text(t, h)
				if first == nil {
					first = got
				}
				if !bytes.Equal(got, first) || again == 2 && moments == 0 {
					t.Errorf("%s, seed %d, time %d: another history, %d moments", subject, seed, again, moments)
				}
			}
			seen[string(first)] = true
		}
	}
	if len(seen) != 20 {
		t.Errorf("20 seeds gave %d histories", len(seen))
	}
}

// A second fault that is meant for whoever leads hits the leader that one hits
// already; one that is meant for the leader waits for another.
func TestSecondFaultOnTheLeader(t *testing.T) {
	for _, second := range []faults.Target{faults.WhoeverLeads, faults.Leader} {
		plan := quick(3)
		plan.Schedule = faults.Schedule{
			{At: time.Second, For: 2 * time.Second, Fault: faults.Latency{Base: ms}, Target: faults.Leader},
			{At: 1500 * ms, For: time.Second, Fault: faults.Resign{}, Target: second},
		}
		h, err := (&World{}).Run(t.Context(), plan, "")
		if err != nil {
			t.Fatal(err)
		}
		hit := map[string][]string{}
		for _, e := range h.Events {
			if e.Kind == history.Fault && e.Phase == history.On {
				hit[e.Fault] = append(hit[e.Fault], fmt.Sprint(e.Targets, " ", e.At > 3*time.Second))
			}
		}
		same, late := hit["latency"][0] == hit["resign"][0], hit["resign"][0][len("[n1] "):] == "true"
		if same != (second == faults.WhoeverLeads) || late == same {
			t.Errorf("the second fault is for %v: %v", second, hit)
		}
	}
}

// A history that is handed over in pieces is the whole one.
func TestStreamIsTheWhole(t *testing.T) {
	plan := rough(1)
	plan.Writes, plan.Observes = 5*ms, 20*ms // several pieces
	world := &World{}
	whole, err := world.Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	var events []history.Event
	pieces := 0
	err = world.Stream(t.Context(), plan, func(piece []history.Event) {
		pieces++
		events = append(events, piece...)
	})
	if err != nil || pieces < 5 {
		t.Fatalf("%d pieces, %v", pieces, err)
	}
	if !reflect.DeepEqual(events, whole.Events) {
		t.Errorf("%d events in %d pieces differ from %d", len(events), pieces, len(whole.Events))
	}
}

// An event that carries an earlier time is put where it belongs: after those
// of its own time.
func TestRecordInserts(t *testing.T) {
	r := (&World{}).newRun(quick(1), Subject{})
	for at := range time.Duration(5) {
		r.now = at
		r.add(history.Event{Kind: history.Note, Text: fmt.Sprint("at ", at)})
	}
	r.insert(history.Event{Kind: history.Note, Text: "late", At: 2})
	r.insert(history.Event{Kind: history.Note, Text: "first", At: -1})
	r.insert(history.Event{Kind: history.Note, Text: "last", At: 9})
	r.number()
	var got []string
	for i, e := range r.events {
		if e.Seq != int64(i)+1 {
			t.Errorf("event %d has the number %d", i, e.Seq)
		}
		got = append(got, e.Text)
	}
	if want := "[first at 0s at 1ns at 2ns late at 3ns at 4ns last]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// While a fault is on, nothing is handed over: its end may belong before it.
func TestNothingIsHandedOverUnderAFault(t *testing.T) {
	r := (&World{}).newRun(quick(1), Subject{})
	passed := 0
	r.pass = func(events []history.Event) { passed += len(events) }
	r.busy = 1
	for range 3 * passAt {
		r.add(history.Event{Kind: history.Note})
	}
	if passed != 0 {
		t.Errorf("%d events were handed over", passed)
	}
	r.busy = 0
	r.add(history.Event{Kind: history.Note})
	if passed != 3*passAt || len(r.events) != 1 {
		t.Errorf("%d events were handed over, %d are left", passed, len(r.events))
	}
}

// A panic of an elector ends the run, and leaves nothing of it behind.
func TestPanicEndsTheRun(t *testing.T) {
	panics := func(h sim.Host) error {
		h.Work(1)
		h.Sleep(time.Second)
		panic("not so")
	}
	defer func() {
		if v := recover(); v != "not so" {
			t.Errorf("recovered %v", v)
		}
	}()
	world := &World{Subjects: map[string]Subject{"recount": {Blocking: panics}}}
	_, err := world.Run(t.Context(), rough(1), "")
	t.Errorf("it went on: %v", err)
}
