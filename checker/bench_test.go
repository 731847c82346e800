package checker

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// long is a history of n operations of a correct store, with beliefs and
// writes added.
func long(n int, change func(*simulation)) *history.History {
	h := simulate(1, func(s *simulation) {
		s.ops, s.clients, s.infos, s.slow, s.ttl = n, 5, 0.02, 0.001, 2*time.Second
		change(s)
	})
	var events []history.Event
	op := int64(n)
	for _, e := range h.Events {
		events = append(events, e)
		switch {
		case e.Kind == history.Ok && e.Call == history.Acquire:
			events = append(events, history.Event{Kind: history.Elected, Node: e.Node, Token: e.Token, At: e.At, Until: history.At(e.At + 1900*ms)})
		case e.Kind == history.Ok && e.Call == history.Observe && e.Token != 0:
			op++
			w := history.Event{Kind: history.Invoke, Call: history.Write, Node: e.Holder, Token: e.Token, At: e.At, Op: op, Value: fmt.Sprint(op)}
			events = append(events, w)
			w.Kind = history.Ok
			events = append(events, w)
		}
	}
	for i := range events {
		events[i].Seq = int64(i) + 1
	}
	h.Events = events
	return h
}

func benchmarkCheck(b *testing.B, n int, change func(*simulation)) {
	h := long(n, change)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := Check(h, Options{})
		if r.Lease.Porcupine.Verdict != Pass || r.Lease.Intervals.Verdict != Pass {
			b.Fatalf("%+v", r.Lease)
		}
	}
	b.StopTimer()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-sys")
}

func BenchmarkCheck10k(b *testing.B)  { benchmarkCheck(b, 10_000, func(*simulation) {}) }
func BenchmarkCheck100k(b *testing.B) { benchmarkCheck(b, 100_000, func(*simulation) {}) }

// Without the store's own record every unknown outcome stays open.
func BenchmarkCheck10kNoAudit(b *testing.B) {
	benchmarkCheck(b, 10_000, func(s *simulation) { s.audit = false })
}

func BenchmarkCheck100kNoAudit(b *testing.B) {
	benchmarkCheck(b, 100_000, func(s *simulation) { s.audit = false })
}

// A history that is wrong at its far end costs the exact pass as well.
func BenchmarkCheck100kWrong(b *testing.B) {
	h := long(100_000, func(*simulation) {})
	last := h.Events[len(h.Events)-1]
	for i, e := range []history.Event{
		{Kind: history.Invoke, Call: history.Observe, Node: "n1"}, {Kind: history.Ok, Token: 1, Holder: "n1"},
	} {
		e.At, e.Op, e.Seq = last.At+ms, 1_000_000, last.Seq+int64(i)+1
		h.Events = append(h.Events, e)
	}
	for b.Loop() {
		if r := Check(h, Options{}); finding(r, LeaseLinearizable).Verdict != Fail {
			b.Fatalf("%+v", r.Lease)
		}
	}
}

func BenchmarkVisualize1k(b *testing.B) {
	h := long(1000, func(*simulation) {})
	for range b.N {
		if err := VisualizeLease(h, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
