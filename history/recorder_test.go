package history_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// Events that arrive out of order are put in the order of their times; those
// of one time keep the order of recording; numbers run from 1.
func TestRecorderOrders(t *testing.T) {
	now := 5 * time.Second
	r := history.NewRecorder(func() time.Duration { return now })
	r.Record(history.Event{At: 7 * time.Second, Kind: history.Note, Text: "d", Seq: 99})
	if e := r.Stamp(history.Event{Kind: history.Note, Text: "b", At: 1}); e.At != now {
		t.Errorf("stamped with %v", e.At)
	}
	r.Record(history.Event{At: now, Kind: history.Note, Text: "c"})
	r.Record(history.Event{At: 1, Kind: history.Note, Text: "a"})
	if r.Now() != now {
		t.Errorf("now is %v", r.Now())
	}

	h := r.History(history.Header{Scenario: "s"})
	var order string
	for i, e := range h.Events {
		order += e.Text
		if e.Seq != int64(i)+1 {
			t.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
	if order != "abcd" {
		t.Errorf("order %s", order)
	}
	if h.Header.Version != history.Version || h.Header.Scenario != "s" {
		t.Errorf("header %+v", h.Header)
	}
	if _, err := history.Load(bytes.NewReader(write(t, h))); err != nil {
		t.Errorf("what was recorded does not load: %v", err)
	}
}

// Events of one time keep the order of recording however many there are.
func TestRecorderOrderIsStable(t *testing.T) {
	r := history.NewRecorder(func() time.Duration { return 0 })
	for i := range 1000 {
		r.Record(history.Event{At: time.Duration(i % 3), Op: int64(i)})
	}
	events := r.History(history.Header{}).Events
	for i := 1; i < len(events); i++ {
		if events[i].At == events[i-1].At && events[i].Op < events[i-1].Op {
			t.Fatalf("event %d was recorded before event %d", events[i].Seq, events[i-1].Seq)
		}
	}
}

// A history is what was recorded so far: later events, and changes to it, do
// not meet.
func TestRecorderHistoryIsACopy(t *testing.T) {
	r := history.NewRecorder(func() time.Duration { return 0 })
	r.Record(history.Event{At: 2, Text: "late"})
	before := r.History(history.Header{})
	before.Events[0].Text = "changed"
	r.Record(history.Event{At: 1, Text: "early"})
	after := r.History(history.Header{})
	if len(before.Events) != 1 || len(after.Events) != 2 || after.Events[1].Text != "late" || after.Events[0].Text != "early" {
		t.Errorf("before %+v, after %+v", before.Events, after.Events)
	}
}

// Observers see every event recorded after they came, stamped or not.
func TestRecorderObserve(t *testing.T) {
	r := history.NewRecorder(func() time.Duration { return 3 })
	var first, second []string
	r.Record(history.Event{Text: "0"})
	r.Observe(func(e history.Event) { first = append(first, fmt.Sprint(e.Text, e.At.Nanoseconds())) })
	r.Record(history.Event{Text: "a", At: 1})
	r.Observe(func(e history.Event) { second = append(second, e.Text) })
	r.Stamp(history.Event{Text: "b"})
	if !slices.Equal(first, []string{"a1", "b3"}) || !slices.Equal(second, []string{"b"}) {
		t.Errorf("seen %v and %v", first, second)
	}
}

// Any number of goroutines record, number operations, observe and read at
// once: nothing is lost, no number is given twice, stamps are in order.
func TestRecorderConcurrent(t *testing.T) {
	const writers, each = 8, 200
	var clock, seen atomic.Int64
	r := history.NewRecorder(func() time.Duration { return time.Duration(clock.Add(1)) })
	r.Observe(func(history.Event) { seen.Add(1) })
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				e := history.Event{Node: fmt.Sprint("n", w), Op: r.NextOp(), Value: fmt.Sprint(i)}
				if i%2 == 0 {
					r.Stamp(e)
				} else {
					e.At = r.Now()
					r.Record(e)
				}
			}
		})
	}
	all.Go(func() {
		for range 20 {
			r.Observe(func(history.Event) {})
			r.History(history.Header{})
		}
	})
	all.Wait()

	h := r.History(history.Header{})
	if len(h.Events) != writers*each || seen.Load() != writers*each {
		t.Fatalf("%d events recorded, %d observed, want %d", len(h.Events), seen.Load(), writers*each)
	}
	ops := map[int64]bool{}
	last := map[string]int{}
	for i, e := range h.Events {
		if e.Op < 1 || ops[e.Op] {
			t.Errorf("operation number %d twice or not positive", e.Op)
		}
		ops[e.Op] = true
		if i > 0 && e.At < h.Events[i-1].At {
			t.Errorf("time runs backwards at %d", e.Seq)
		}
		var n int
		if _, err := fmt.Sscan(e.Value, &n); err != nil || n < last[e.Node] {
			t.Errorf("%s's event %s after its event %d", e.Node, e.Value, last[e.Node])
		}
		last[e.Node] = n
	}
}
