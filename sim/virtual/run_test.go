package virtual

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
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

// A second fault on PresentLeader hits the leader that a fault hits already; one on
// Leader waits for another leader.
func TestSecondFaultOnTheLeader(t *testing.T) {
	for _, second := range []faults.Target{faults.PresentLeader, faults.Leader} {
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
		if same != (second == faults.PresentLeader) || late == same {
			t.Errorf("the second fault is for %v: %v", second, hit)
		}
	}
}

// A run ends with its note, before any candidate is stopped, also where it is
// stopped early.
func TestRunEndsWithItsNote(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, ctx := range map[string]context.Context{"to its end": t.Context(), "stopped": stopped} {
		h, err := (&World{}).Run(ctx, quick(3), "")
		if err != nil && ctx == t.Context() {
			t.Fatal(err)
		}
		i := slices.IndexFunc(h.Events, func(e history.Event) bool {
			return e.Kind == history.Note && e.Text == history.EndOfRunNote && e.Node == ""
		})
		exits := 0
		for at, e := range h.Events {
			if e.Why == history.EndOfRun {
				exits++
				if at < i {
					t.Errorf("%s: %s was stopped before the run had ended", name, e.Node)
				}
			}
		}
		if i < 0 || exits != 3 {
			t.Errorf("%s: the note is event %d, and %d candidates were stopped", name, i, exits)
		}
	}
}

// The production elector's deadlines are a lease after the request that brought them,
// less the drift and the millisecond that is documented: to the nanosecond, on one
// store and on a majority of several.
func TestDeadlinesAreExact(t *testing.T) {
	for _, of := range []sim.Topology{sim.OneServer, sim.Quorum} {
		plan := quick(3)
		plan.Topology, plan.Network, plan.Quiet = of, sim.DefaultNetwork(), 10*plan.Timings.Lease
		h, err := (&World{}).Run(t.Context(), plan, "")
		if err != nil {
			t.Fatal(err)
		}
		usable := plan.Timings.Lease - time.Duration(plan.Drift*float64(plan.Timings.Lease)) - time.Millisecond
		began, beliefs := map[string]time.Duration{}, 0
		for _, e := range h.Events {
			switch {
			case e.Kind == history.Invoke && (e.Call == history.Acquire || e.Call == history.Renew):
				began[e.Node] = e.At
			case e.Until != nil:
				if beliefs++; *e.Until != began[e.Node]+usable {
					t.Errorf("on %q: a belief of %s ends %v after the last moment of its request", of, e.Node, *e.Until-began[e.Node]-usable)
				}
			}
		}
		if beliefs < 10 {
			t.Errorf("on %q: %d beliefs", of, beliefs)
		}
	}
}

// chained carries out the plan as a chain of histories, none of which may be cut
// before it has so many events.
func chained(t *testing.T, plan sim.Plan, least int) []*history.History {
	t.Helper()
	var links []*history.History
	err := (&World{}).Chain(t.Context(), plan, least, func(h *history.History) error {
		h.Events = slices.Clone(h.Events)
		links = append(links, h)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return links
}

// long is a plan with faults, and with calm in between.
func long(seed uint64) sim.Plan {
	plan := rough(seed)
	plan.Writes, plan.Observes, plan.ReturnBound = plan.Timings.Lease/20, plan.Timings.Lease, 2*plan.Timings.Lease
	for i := range plan.Schedule {
		plan.Schedule[i].At += time.Duration(i) * 10 * plan.Timings.Lease
	}
	plan.Quiet = 20 * plan.Timings.Lease
	return plan
}

// A chain has the events of the whole history, each once, and what it restates
// besides; each of its histories is numbered from 1, and its times run forward.
func TestChainIsTheWhole(t *testing.T) {
	plan := long(1)
	whole, err := (&World{}).Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	links := chained(t, plan, 64)
	if len(links) < 3 {
		t.Fatalf("%d histories", len(links))
	}
	var events []history.Event
	for i, h := range links {
		restated, last := 0, time.Duration(0)
		for j, e := range h.Events {
			if e.Seq != int64(j)+1 || e.At < last {
				t.Fatalf("history %d, event %d: number %d at %v after %v", i, j, e.Seq, e.At, last)
			}
			last = e.At
			if e.Restated {
				restated++
				continue
			}
			e.Seq = int64(len(events)) + 1
			events = append(events, e)
		}
		if (restated > 0) != (i > 0) {
			t.Errorf("history %d restates %d events", i, restated)
		}
	}
	if !reflect.DeepEqual(events, whole.Events) {
		t.Errorf("%d events in %d histories differ from %d", len(events), len(links), len(whole.Events))
	}
}

// A history of a chain ends where all is calm: no fault is on, nothing is under
// way, and one node leads.
func TestChainEndsWhereAllIsCalm(t *testing.T) {
	for seed := range uint64(10) {
		links := chained(t, long(seed), 64)
		for i, h := range links[:len(links)-1] {
			faults, pending, leading := 0, map[int64]bool{}, map[string]bool{}
			for _, e := range h.Events {
				switch e.Kind {
				case history.Fault:
					if e.Phase == history.On {
						faults++
					} else {
						faults--
					}
				case history.Invoke:
					pending[e.Op] = true
				case history.Ok, history.Fail, history.Info:
					delete(pending, e.Op)
				case history.Elected:
					leading[e.Node] = true
				case history.Deposed, history.Exit:
					delete(leading, e.Node)
				}
			}
			if faults != 0 || len(pending) != 0 || len(leading) != 1 {
				t.Errorf("seed %d, history %d: %d faults, %d operations under way, %d lead", seed, i, faults, len(pending), len(leading))
			}
		}
	}
}

// An event that carries an earlier time is put where it belongs: after those
// of its own time.
func TestRecordInserts(t *testing.T) {
	r := (&World{}).newRun(quick(1), Subject{}, how{})
	for at := range time.Duration(5) {
		r.now = at + 1
		r.add(history.Event{Kind: history.Note, Text: fmt.Sprint("at ", r.now)})
	}
	r.insert(history.Event{Kind: history.Note, Text: "late", At: 3})
	r.insert(history.Event{Kind: history.Note, Text: "first", At: 0})
	r.insert(history.Event{Kind: history.Note, Text: "last", At: 9})
	r.number()
	var got []string
	for i, e := range r.events {
		if e.Seq != int64(i)+1 {
			t.Errorf("event %d has the number %d", i, e.Seq)
		}
		got = append(got, e.Text)
	}
	if want := "[first at 1ns at 2ns at 3ns late at 4ns at 5ns last]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// A panic of an elector is the end of its process, and not of the run: the
// others, which may panic in their turn, go on.
func TestPanic(t *testing.T) {
	for name, panics := range map[string]Subject{
		"in blocking style": {Blocking: func(h sim.Host) error {
			h.Work(1)
			h.Sleep(time.Second)
			panic("not so")
		}},
		"step by step": {Decide: func(c machine.Config) Decider { return &hasty{*machine.New(c)} }},
	} {
		world := &World{Subjects: map[string]Subject{"recount": panics}}
		plan := rough(1)
		h, err := world.Run(t.Context(), plan, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ends := map[string]int{}
		for _, e := range h.Events {
			if e.Kind == history.Exit && e.Why == history.Panicked && e.Text == "not so" {
				ends[e.Node]++
			}
		}
		if len(ends) != plan.Nodes {
			t.Errorf("%s: panics: %v", name, ends)
		}
		last := h.Events[len(h.Events)-1]
		if last.Kind != history.Note || last.Text != history.EndOfRunNote {
			t.Errorf("%s: the last event is %+v", name, last)
		}
	}
}

// hasty is a machine that cannot bear to wait.
type hasty struct{ machine.Machine }

func (h *hasty) Step(now time.Duration, in machine.Input) machine.Output {
	if now > time.Second && in.Kind == machine.Wake {
		panic("not so")
	}
	return h.Machine.Step(now, in)
}
