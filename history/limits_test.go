package history_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/history"
)

// Whatever is recorded can be read again: times that no history can hold are cut to
// the nearest that is, and a belief that ends too late to be held lasts until further
// notice. What a history can hold stays as it is; a belief may end before its event.
func TestClip(t *testing.T) {
	any := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, int64(history.MaxTime), int64(history.MaxDuration), math.MaxInt64}))
	within := rapid.Int64Range(0, int64(history.MaxDuration))
	rapid.Check(t, func(t *rapid.T) {
		draw := any
		if rapid.Bool().Draw(t, "within") {
			draw = within
		}
		d := func(name string) time.Duration { return time.Duration(draw.Draw(t, name)) }
		e := history.Event{
			At: d("at"), Kind: history.Extended, TTL: d("ttl"), Until: history.At(d("until")), Since: history.At(d("since")), Shorten: d("shorten"),
		}
		r := history.NewRecorder(func() time.Duration { return d("now") })
		r.Record(e)
		r.Stamp(e)
		var file bytes.Buffer
		h := r.History(history.Header{})
		if err := h.Write(&file); err != nil {
			t.Fatal(err)
		}
		if _, err := history.Load(&file); err != nil {
			t.Fatalf("recorded, it cannot be read: %v", err)
		}
		got := h.Events[0]
		if h.Events[0].At > h.Events[1].At {
			t.Fatalf("out of order: %+v", h.Events)
		}
		if *e.Until > history.MaxTime && got.Until != nil || *e.Until <= history.MaxTime && got.Until == nil {
			t.Fatalf("a belief until %v is recorded as one until %v", *e.Until, got.Until)
		}
	})
	e := history.Event{At: 7, TTL: 3, Until: history.At(5), Since: history.At(6), Shorten: -2}
	same := e
	if same.Clip(); same.At != e.At || same.TTL != e.TTL || same.Until != e.Until || same.Since != e.Since || same.Shorten != e.Shorten {
		t.Errorf("%+v became %+v", e, same)
	}
}
