package live

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/stage"
)

// A stall of the machine is recorded as a fault that nobody injected, unless a
// fault of the schedule on the same target explains it.
func TestStallsAreRecorded(t *testing.T) {
	now := time.Duration(0)
	recorder := history.NewRecorder(func() time.Duration { return now })
	s := &stalls{least: 100 * time.Millisecond, recorder: recorder}
	now = 2 * time.Second
	s.add("n1", 300*time.Millisecond) // while it was suspended
	s.add("n2", 300*time.Millisecond)
	now = 9 * time.Second
	s.add("n1", time.Second)              // long after
	s.machine("n3", 200*time.Millisecond) // of everything: no fault on one of them explains it
	on := history.Event{Kind: history.Fault, ID: "f1", Fault: "pause", Phase: history.On, At: time.Second, Targets: []string{"n1"}}
	off := on
	off.Phase, off.At = history.Off, 1950*time.Millisecond
	cut, mend := on, off
	cut.ID, cut.Fault, cut.Targets, mend.ID, mend.At = "f2", "partition", []string{"n3"}, "f2", 10*time.Second
	s.record([]history.Event{on, off, cut, mend})

	var got []string
	for _, e := range recorder.History(history.Header{}).Events {
		got = append(got, string(e.Phase)+" "+e.Targets[0]+" "+e.At.String())
		if on := e.Phase == history.On; on != (e.Effect != nil) || on && *e.Effect != (history.Effect{Holds: true}) {
			t.Errorf("phase %s with the effect %+v", e.Phase, e.Effect)
		}
		if e.Fault != history.StallFault {
			t.Errorf("fault %q", e.Fault)
		}
	}
	want := []string{"on n2 1.7s", "off n2 2s", "on n1 8s", "on n3 8.8s", "off n1 9s", "off n3 9s"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// A process that gets no processor when its suspension ends is held up by the machine
// from there on, and so is one that the harness resumed late.
func TestStallsGoOnAfterAFault(t *testing.T) {
	const second = time.Second
	now := 2 * second
	recorder := history.NewRecorder(func() time.Duration { return now })
	s := &stalls{least: second / 8, recorder: recorder}
	s.add("n1", second+second/16) // it was resumed at 2 s, but for the time that anybody may take
	now = 5 * second
	s.add("n1", 2*second) // from 3 s, suspended until 4.5 s
	var injected []history.Event
	for i, w := range []window{{second, 2 * second}, {3 * second, 9 * second / 2}, {6 * second, 8 * second}} {
		on := history.Event{
			Kind: history.Fault, ID: "f" + strconv.Itoa(i+1), Fault: "pause", Phase: history.On, At: w.from,
			Targets: []string{"n1"}, Effect: &history.Effect{Holds: true},
		}
		off := on
		off.Phase, off.At, off.Effect = history.Off, w.to, nil
		injected = append(injected, on, off)
	}
	// A fault that waits for a write takes effect later than it is put on.
	late := history.Event{Kind: history.Fault, ID: "f4", Fault: "pause-before-write", Phase: history.On, At: 9 * second, Targets: []string{"n1"}, Effect: &history.Effect{Holds: true}}
	over := late
	over.Phase, over.At, over.Effect, over.Since = history.Off, 12*second, nil, history.At(11*second)
	injected = append(injected, late, over)
	// A pause, or a cut, that the harness saw late took effect at once, for all that is known.
	unseen := history.Event{Kind: history.Fault, ID: "f5", Fault: "pause", Phase: history.On, At: 13 * second, Targets: []string{"n1"}, Effect: &history.Effect{Cuts: true, Holds: true}}
	seen := unseen
	seen.Phase, seen.At, seen.Effect, seen.Since = history.Off, 15*second, nil, history.At(14*second)
	cut, healed := unseen, seen
	cut.ID, cut.Fault, cut.At, cut.Effect = "f6", "partition", 16*second, &history.Effect{Cuts: true}
	healed.ID, healed.Fault, healed.At, healed.Since = "f6", "partition", 18*second, history.At(17*second)
	injected = append(injected, unseen, seen, cut, healed)
	planned := map[string]time.Duration{"f1": second, "f2": 3 * second / 2, "f3": second, "f4": second, "f5": second, "f6": second}
	s.overruns(injected, func(id string) (time.Duration, bool) { length, ok := planned[id]; return length, ok })
	s.record(injected)

	var got []string
	for _, e := range recorder.History(history.Header{}).Events {
		got = append(got, string(e.Phase)+" "+e.At.String())
	}
	want := []string{"on 4.5s", "off 5s", "on 7s", "off 8s", "on 14s", "off 15s", "on 17s", "off 18s"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// Where the store is several servers, a fault on one of them explains that the
// store does not answer.
func TestFrozenServerIsNoStall(t *testing.T) {
	recorder := history.NewRecorder(func() time.Duration { return 2 * time.Second })
	s := &stalls{recorder: recorder}
	s.add(history.StoreTarget, time.Second)
	on := history.Event{Kind: history.Fault, ID: "f1", Fault: "store-pause", Phase: history.On, Targets: []string{"store-4"}}
	s.record([]history.Event{on})
	if n := len(recorder.History(history.Header{}).Events); n != 0 {
		t.Errorf("%d events were recorded, want none", n)
	}
}

// A store that answers late is noticed, one that answers in time is not. One that has
// not answered when the run ends is late.
func TestLateStoreIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		recorder := history.NewRecorder(func() time.Duration { return time.Since(begin) })
		s := &stalls{least: 100 * time.Millisecond, recorder: recorder}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		calls := 0
		s.watchStore(ctx, func(ctx context.Context) error {
			switch calls++; calls {
			case 3:
				stage.Sleep(ctx, 400*time.Millisecond)
			case 5:
				<-ctx.Done()
			}
			return nil
		})
		want := []stall{
			{target: history.StoreTarget, from: 300 * time.Millisecond, to: 700 * time.Millisecond},
			{target: history.StoreTarget, from: 900 * time.Millisecond, to: 2 * time.Second},
		}
		if !slices.Equal(s.all, want) {
			t.Errorf("stalls %v, want %v", s.all, want)
		}
	})
}
