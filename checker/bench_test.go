package checker

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/recount-io/recount/checker/internal/index"
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

// churn is a history of n terms that all end with their first write, which the
// resource refuses.
func churn(n int) *history.History {
	s := newStory()
	s.fault("partition", 0, ms, nil, "n2").healed(2 * ms)
	for i := range n {
		node, at, t := s.header.Nodes[i%3], time.Duration(i+1)*10*ms, uint64(i+1)
		s.acquire(node, fmt.Sprint(i), at, at+ms, t).elected(node, at+ms, t, at+1900*ms)
		s.write(node, at+2*ms, at+3*ms, history.Fail, t, fmt.Sprint(i), t+1)
		s.deposed(node, at+3*ms, t, history.Resigned).release(node, at+3*ms, at+4*ms, history.Ok, t)
	}
	return s.note(time.Duration(n+200) * 10 * ms).build()
}

// Four times as many terms may not take much more than four times as long: an
// elector that goes round in circles makes tens of thousands of them.
func BenchmarkCheckChurn5k(b *testing.B)  { benchmarkChurn(b, 5000) }
func BenchmarkCheckChurn20k(b *testing.B) { benchmarkChurn(b, 20_000) }

func benchmarkChurn(b *testing.B, n int) {
	h := churn(n)
	for b.Loop() {
		if r := Check(h, Options{}); r.Lease.Intervals.Verdict != Pass || len(r.Failovers) != 0 {
			b.Fatalf("%+v, %d failovers", r.Lease, len(r.Failovers))
		}
	}
}

// A million operations of a correct store through the three checkers of the
// lease. history-MB is what the events themselves take, check-MB-alive what the check
// has made of them at its end.
func BenchmarkCheck1M(b *testing.B) {
	h := long(1_000_000, func(*simulation) {})
	before := heapKB()
	for b.Loop() {
		r := index.Build(h)
		f := &facts{Index: r}
		f.judgeLease(time.Minute)
		c := f.judges
		if c.Intervals.Verdict != Pass || c.StoreOrder.Verdict != Pass || c.Porcupine.Verdict != Pass {
			b.Fatalf("%+v", c)
		}
		b.StopTimer()
		b.ReportMetric((heapKB()-before)/(1<<10), "check-MB-alive")
		runtime.KeepAlive(r)
		runtime.KeepAlive(h)
		b.StartTimer()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(before/(1<<10), "history-MB")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-sys")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

// wrong adds an answer to the end of a history that tells the token of its first lease.
func wrong(h *history.History) *history.History {
	last := h.Events[len(h.Events)-1]
	for i, e := range []history.Event{
		{Kind: history.Invoke, Call: history.Observe, Node: "n1"}, {Kind: history.Ok, Token: 1, Holder: "n1"},
	} {
		e.At, e.Op, e.Seq = last.At+ms, 1_000_000, last.Seq+int64(i)+1
		h.Events = append(h.Events, e)
	}
	return h
}

// A history that is wrong at its far end costs the exact pass as well.
func BenchmarkCheck100kWrong(b *testing.B) {
	h := wrong(long(100_000, func(*simulation) {}))
	for b.Loop() {
		if r := Check(h, Options{}); of(r, LeaseLinearizable).Verdict != Fail {
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

// heapKB is what lives on the heap.
func heapKB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 10)
}
