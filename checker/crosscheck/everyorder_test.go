package crosscheck

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/internal/everyorder"
	ordered "github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
)

// Whatever operation one asks about, the method that settles disagreements
// convicts no answers that have an order, and finds none for those that have not.
func TestEveryOrder(t *testing.T) {
	n := uint64(1000)
	if race.Enabled || testing.Short() {
		n /= 10
	}
	var right, wrong, caught int
	for seed := range n {
		d := draw(seed)
		if d.size == large || d.size == medium && seed%8 != 0 {
			continue
		}
		h, _ := d.generate()
		h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Audit })
		h = numbered(h)
		narrow, wide := ask(h, reading{}, budget), ask(h, reading{wide: true}, budget)
		x := ordered.Build(h)
		convicted := false
		for i := range h.Events {
			if h.Events[i].Kind != history.Invoke {
				continue
			}
			f := everyorder.Try(x, []int64{h.Events[i].Seq})
			convicted = convicted || f.Verdict == checker.Fail
			if f.Verdict == checker.Fail && narrow == possible {
				t.Fatalf("%v: convicted by %v, and there is an order: %s", d, f.Evidence, f.Reason)
			}
			if f.Verdict == checker.Pass && wide == impossible && len(x.Elections) == 1 {
				t.Fatalf("%v: there is no order, and it finds one around %d", d, h.Events[i].Seq)
			}
		}
		switch {
		case narrow == possible:
			right++
		case wide == impossible:
			wrong++
			if convicted {
				caught++
			}
		}
	}
	t.Logf("%d have an order; of %d that have none it convicts %d", right, wrong, caught)
	if right < int(n)/3 || wrong < int(n)/30 || 100*caught < 99*wrong {
		t.Errorf("%d have an order; of %d that have none it convicts only %d", right, wrong, caught)
	}
}

// A wrong answer in a long run is convicted by a few operations.
func TestEveryOrderIsBrief(t *testing.T) {
	var convicted, short int
	for seed := uint64(1); convicted < 10; seed++ {
		d := draw(seed)
		d.size, d.ops, d.elections, d.planted, d.mistake, d.disturbed, d.beliefs = large, 400, 1, true, none, "", false
		d.tokens, d.nonces, d.record = true, true, false
		h, made := d.generate()
		if made == 0 {
			continue
		}
		r := checker.Check(h, checker.Options{PorcupineCap: searchCap})
		if r.Lease.Porcupine.Verdict != checker.Fail {
			continue
		}
		convicted++
		if f := everyorder.Try(ordered.Build(h), r.Lease.Porcupine.Evidence); f.Verdict == checker.Fail && len(f.Evidence) <= 4 {
			short++
		} else {
			t.Logf("%v: %v, %d operations: %s", d, f.Verdict, len(f.Evidence), f.Reason)
		}
	}
	if short < 9 {
		t.Errorf("%d of %d wrong answers are convicted by four operations or fewer", short, convicted)
	}
}
