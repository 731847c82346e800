package virtual

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// first is when the first event of a kind, and call if that is not empty, of a node
// happened; negative if it did not.
func (r rig) first(node string, kind history.Kind, call history.Call) time.Duration {
	for _, e := range r.events {
		if e.Node == node && e.Kind == kind && (call == "" || e.Call == call) {
			return e.At
		}
	}
	return -1
}

// last is the last such event.
func (r rig) last(node string, kind history.Kind, call history.Call) time.Duration {
	at := time.Duration(-1)
	for _, e := range r.events {
		if e.Node == node && e.Kind == kind && (call == "" || e.Call == call) {
			at = e.At
		}
	}
	return at
}

// often is a plan of one candidate that writes every 100 ms.
func often() sim.Plan {
	plan := quick(1)
	plan.Writes = 100 * ms
	return plan
}

func working(w Work) Subject { return Subject{Variant: Variant{Work: w}} }

// tokens are those that a node's writes name, each once.
func (r rig) tokens(node string) []uint64 { return r.named(node, history.Invoke, history.Write) }

// elected are the tokens of the node's terms.
func (r rig) elected(node string) []uint64 { return r.named(node, history.Elected, "") }

func (r rig) named(node string, kind history.Kind, call history.Call) (all []uint64) {
	for _, e := range r.events {
		if e.Node == node && e.Call == call && e.Kind == kind && !slices.Contains(all, e.Token) {
			all = append(all, e.Token)
		}
	}
	return all
}

// The term of a leader that is asked to stop lasts for as long as its work takes to
// end, and its lease is given back after that.
func TestWorkThatTakesItsTime(t *testing.T) {
	for _, lasts := range []float64{0, 0.5, 1.5} {
		r := launch(t, often(), working(Work{Drain: lasts}))
		r.to(time.Second)
		r.nodes[0].process.stop()
		r.to(8 * time.Second)
		want := time.Second + time.Duration(lasts*float64(3*time.Second))
		deposed, released, wrote := r.first("n1", history.Deposed, ""), r.first("n1", history.Invoke, history.Release), r.last("n1", history.Invoke, history.Write)
		if deposed < want || deposed > want+110*ms || released < deposed {
			t.Errorf("a work that takes %v leases to end: the term ended at %v, and the release was sent at %v; want at %v", lasts, deposed, released, want)
		}
		if wrote > deposed || wrote < want-110*ms {
			t.Errorf("a work that takes %v leases to end wrote last at %v; want until %v", lasts, wrote, want)
		}
		if exit := r.first("n1", history.Exit, ""); exit < deposed {
			t.Errorf("the process ended at %v, before its work", exit)
		}
	}
}

// Work that looks at its term ends with it, however long it would take; work that
// does not goes on.
func TestWorkWithoutTerm(t *testing.T) {
	for blind, want := range map[bool]time.Duration{false: 0, true: 1500 * ms} {
		r := launch(t, often(), working(Work{Drain: 0.5, Blind: blind}))
		r.to(time.Second)
		r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
		r.to(12 * time.Second)
		over := r.first("n1", history.Deposed, "")
		if over < 0 {
			t.Fatal("the term never ended")
		}
		if wrote := r.last("n1", history.Invoke, history.Write); wrote > over+want || wrote < over+want-210*ms {
			t.Errorf("blind %t: the last write was sent %v after the term's end, want %v", blind, wrote-over, want)
		}
	}
}

// A work that rests writes nothing, and begins when it rests no more.
func TestWorkRests(t *testing.T) {
	r := launch(t, often(), working(Work{Rests: func(since, lease time.Duration) bool { return since < lease }}))
	r.to(6 * time.Second)
	begun := r.first("n1", history.Elected, "") + 3*time.Second
	if wrote := r.first("n1", history.Invoke, history.Write); wrote < begun || wrote > begun+110*ms {
		t.Errorf("the first write was sent at %v, want at %v", wrote, begun)
	}
}

// A write names the token that the work makes of its term's and of the one before.
func TestWorkNamesAnotherToken(t *testing.T) {
	plan := often()
	r := launch(t, plan, working(Work{Token: func(told, last uint64) uint64 {
		if last == 0 {
			return told + 1
		}
		return told + 2
	}}))
	r.to(time.Second)
	r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
	r.to(6 * time.Second)
	r.must("", r.Mend(t.Context(), "n1"))
	r.to(12 * time.Second)
	if got, terms := r.tokens("n1"), r.elected("n1"); len(terms) != 2 || !slices.Equal(got, []uint64{terms[0] + 1, terms[1] + 2}) {
		t.Errorf("the writes name the tokens %v, the terms have %v", got, terms)
	}
}

// An eager work writes before its next term.
func TestEagerWork(t *testing.T) {
	r := launch(t, often(), working(Work{Eager: true}))
	r.to(time.Second)
	r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
	r.to(6 * time.Second)
	over := r.first("n1", history.Deposed, "")
	if wrote := r.last("n1", history.Invoke, history.Write); wrote <= over+time.Second {
		t.Errorf("the last write was sent at %v, and the term ended at %v: it asks for the lease after that", wrote, over)
	}
}

// The resource of a run is the subject's, and everybody is told what it decides.
func TestAnotherFence(t *testing.T) {
	r := launch(t, often(), Subject{Variant: Variant{Fence: func() Fence { return stubborn{} }}})
	r.to(time.Second)
	if r.did("n1", history.Fail, history.Write) == 0 || r.did("n1", history.Ok, history.Write) > 0 {
		t.Errorf("%d writes were refused and %d taken, by a resource that takes none",
			r.did("n1", history.Fail, history.Write), r.did("n1", history.Ok, history.Write))
	}
	for _, e := range r.events {
		if e.Kind == history.Ok && e.Call == history.Read && e.Value != "nothing" {
			t.Errorf("a read tells %q", e.Value)
		}
	}
}

type stubborn struct{}

func (stubborn) Write(string, uint64, string) (bool, uint64) { return false, 1 << 40 }
func (stubborn) Read() (string, uint64)                      { return "nothing", 1 << 40 }

// The right resource refuses what is smaller than the largest token that it took,
// and a read tells the last write that it took.
func TestFencing(t *testing.T) {
	var f Fencing
	for _, w := range []struct {
		token   uint64
		taken   bool
		highest uint64
	}{{2, true, 2}, {2, true, 2}, {1, false, 2}, {0, true, 2}, {3, true, 3}, {2, false, 3}} {
		if taken, highest := f.Write("n1", w.token, "v"); taken != w.taken || highest != w.highest {
			t.Errorf("a write with token %d: %t, %d, want %t, %d", w.token, taken, highest, w.taken, w.highest)
		}
	}
	f.Write("n1", 4, "last")
	f.Write("n1", 3, "refused")
	if value, token := f.Read(); value != "last" || token != 4 {
		t.Errorf("a read tells %q with token %d", value, token)
	}
}
