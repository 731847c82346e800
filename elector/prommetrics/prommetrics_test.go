package prommetrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/prommetrics"
	"github.com/recount-io/recount/elector/store"
)

// A term from before its beginning to its resignation, and the next one of
// another process.
func TestTerm(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		e := b.Elector("billing", "a")
		for _, name := range []string{"is_leader", "token", "leader_token", "acquisitions_total", "losses_total", "renewals_total", "leader_changes_total", "store_silences_total", "store_last_answer_timestamp_seconds", "belief_remaining_seconds"} {
			b.want(0, name)
		}
		b.want(0, "terms_total", "reason", "expired")
		b.want(0, "troubles_total", "kind", "timeout")
		b.want(0, "store_requests_total", "operation", "renew", "outcome", "not_held")
		b.want(1, "state", "state", "stopped")

		stop := b.run(e)
		time.Sleep(13 * time.Second)
		b.want(1, "is_leader")
		b.want(1, "state", "state", "leader")
		b.want(0, "state", "state", "follower")
		b.want(1, "token")
		b.want(1, "acquisitions_total")
		b.want(1, "leader_changes_total")
		b.want(2, "renewals_total")
		b.want(2, "store_requests_total", "operation", "renew", "outcome", "done")
		b.want(1, "store_requests_total", "operation", "acquire", "outcome", "done")
		if n := b.value("renewal_lateness_seconds"); n != 2 {
			t.Errorf("lateness was observed %v times", n)
		}
		if n := b.value("store_request_duration_seconds", "operation", "renew"); n != 2 {
			t.Errorf("durations were observed %v times", n)
		}
		if left := b.value("belief_remaining_seconds"); left < 11.8 || left > 12.1 { // renewed at 10 s
			t.Errorf("%v s of the term are left", left)
		}
		answered := b.value("store_last_answer_timestamp_seconds") - float64(b.Clock.Start.Unix())
		if answered < 9.9 || answered > 10.2 {
			t.Errorf("the store answered at %v s", answered)
		}
		stop()
		b.want(0, "is_leader")
		b.want(0, "belief_remaining_seconds")
		b.want(1, "token")
		b.want(1, "terms_total", "reason", "stopped")
		b.want(0, "losses_total")
		b.want(1, "store_requests_total", "operation", "release", "outcome", "done")

		foreign, err := b.Store.Store.Acquire(b.Context(), store.Attempt{Election: "billing", ID: "z", Nonce: "z", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		stop = b.run(e)
		time.Sleep(time.Second)
		b.want(float64(foreign.Token), "leader_token")
		b.want(2, "leader_changes_total")
		b.want(0, "is_leader")
		b.want(1, "store_requests_total", "operation", "acquire", "outcome", "held")
		stop()
	})
}

// A store that hangs: the term runs down and ends at the deadline, the loss
// is counted with its reason, and after a lease the store is unreachable.
func TestStoreHangs(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		b.Store.Hangs.Store(true)
		time.Sleep(13 * time.Second)
		b.want(1, "is_leader")
		if left := b.value("belief_remaining_seconds"); left < .8 || left > .9 {
			t.Errorf("%v s of the term are left, want 0.85", left)
		}
		time.Sleep(2 * time.Second)
		b.want(0, "is_leader")
		b.want(1, "losses_total")
		b.want(1, "terms_total", "reason", "expired")
		b.want(0, "store_unreachable")
		time.Sleep(5 * time.Second)
		b.want(1, "store_unreachable")
		b.want(1, "store_silences_total")
		if b.value("troubles_total", "kind", "timeout") < 3 {
			t.Error("no time-outs")
		}
		stop()
	})
}

// A renewal that is sent late and answered slowly is seen in the histograms.
func TestLatenessAndLatency(t *testing.T) {
	inBubble(t, prommetrics.Options{Buckets: []float64{1, 3, 5}}, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(4900 * time.Millisecond)
		b.Store.Takes.Store(int64(2 * time.Second))
		b.Clock.Suspended.Add(int64(4 * time.Second))
		time.Sleep(4 * time.Second)
		for _, f := range b.gather() {
			for _, m := range f.GetMetric() {
				h := m.GetHistogram()
				late := f.GetName() == "recount_elector_renewal_lateness_seconds"
				slow := f.GetName() == "recount_elector_store_request_duration_seconds" && has(m, []string{"operation", "renew"})
				if (late || slow) && (h.GetSampleCount() != 1 || h.GetBucket()[0].GetCumulativeCount() != 0 || h.GetBucket()[2].GetCumulativeCount() != 1) {
					t.Errorf("%s: %v", f.GetName(), h)
				}
			}
		}
		b.want(1, "renewals_total")
		stop()
	})
}

// Two elections have series of their own, and two candidates of one are added
// up, unless the id tells them apart. What is removed is gone.
func TestSeveralElectors(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		electors := []*elector.Elector{b.Elector("billing", "a"), b.Elector("billing", "b"), b.Elector("reports", "a")}
		for _, e := range electors {
			defer b.run(e)()
		}
		time.Sleep(20 * time.Second) // a follower that heard of the grant asks after a lease
		b.want(1, "is_leader")
		b.want(1, "state", "state", "leader")
		b.want(1, "state", "state", "follower")
		b.want(1, "acquisitions_total")
		b.want(2, "leader_changes_total") // both see it
		if b.value("is_leader", "election", "reports") != 1 {
			t.Error("nobody leads reports")
		}
		b.collector.Remove(electors[2])
		if b.value("is_leader", "election", "reports") != -1 || b.value("terms_total", "election", "reports", "reason", "stopped") != -1 {
			t.Error("series of an elector that was removed")
		}
		b.collector.Remove(electors[0])
		b.want(1, "acquisitions_total")
	})
	inBubble(t, prommetrics.Options{IDLabel: true}, func(b *bench) {
		for _, id := range []string{"rack/1", "b"} {
			defer b.run(b.Elector("billing", id))()
		}
		time.Sleep(2 * time.Second)
		if sum := b.value("is_leader", "id", "rack/1") + b.value("is_leader", "id", "b"); sum != 1 {
			t.Errorf("%v lead", sum)
		}
	})
}

// A callback that hangs is measured, delays no scrape and changes nothing in
// what the gauges say.
func TestStuckCallback(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		free := make(chan struct{})
		stop := b.run(b.Elector("billing", "a", func(cfg *elector.Config) { cfg.OnEvent = func(elector.Event) { <-free } }))
		time.Sleep(13 * time.Second)
		b.want(1, "is_leader")
		b.want(1, "token")
		b.want(2, "store_requests_total", "operation", "renew", "outcome", "done")
		if left := b.value("belief_remaining_seconds"); left < 11.8 || left > 12.1 {
			t.Errorf("%v s of the term are left", left)
		}
		if hangs := b.value("callback_running_seconds"); hangs < 12.9 || hangs > 13 {
			t.Errorf("the callback hangs for %v s", hangs)
		}
		b.want(0, "acquisitions_total")
		close(free)
		time.Sleep(time.Second)
		b.want(1, "acquisitions_total")
		b.want(0, "callback_running_seconds")
		if n := b.value("callback_duration_seconds", "callback", "OnEvent"); n < 4 {
			t.Errorf("%v calls were measured", n)
		}
		stop()
	})
}

// Work that goes on after its term is seen growing older, until it ends.
func TestOverdueWork(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		free := make(chan struct{})
		stop := b.run(b.Elector("billing", "a", func(cfg *elector.Config) {
			cfg.OnLeader = func(elector.Leader) {}
			cfg.OnStarted = func(ctx context.Context, _ *elector.Term) { <-ctx.Done(); <-free }
		}))
		time.Sleep(time.Second)
		b.want(0, "work_overdue_seconds")
		b.Store.Delete("billing") // the next renewal, at 5 s, finds nothing
		time.Sleep(9 * time.Second)
		if overdue := b.value("work_overdue_seconds"); overdue < 4.9 || overdue > 5 {
			t.Errorf("the work is overdue for %v s", overdue)
		}
		b.want(1, "terms_total", "reason", "superseded")
		b.want(1, "losses_total")
		if n := b.value("callback_duration_seconds", "callback", "OnLeader"); n != 1 {
			t.Errorf("OnLeader was measured %v times", n)
		}
		close(free)
		synctest.Wait()
		b.want(0, "work_overdue_seconds")
		stop()
	})
}

// Names, helps and types are as Prometheus wants them, and every metric is in
// the operators' table.
func TestConventions(t *testing.T) {
	inBubble(t, prommetrics.Options{IDLabel: true}, func(b *bench) {
		b.Elector("billing", "a")
		families := b.gather()
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%+v %v", problems, err)
		}
		if len(families) < 20 {
			t.Errorf("only %d metrics", len(families))
		}
		for _, f := range families {
			if !strings.HasPrefix(f.GetName(), "recount_elector_") {
				t.Errorf("%s", f.GetName())
			}
		}
	})
}

// BenchmarkCollect is a scrape of a thousand electors that lead.
func BenchmarkCollect(b *testing.B) {
	collector := prommetrics.New(prommetrics.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	store := memstore.New(memstore.Options{})
	for i := range 1000 {
		cfg := elector.Config{Election: fmt.Sprint("election-", i), ID: "a", Logger: slog.New(slog.DiscardHandler)}
		e, err := instrument.New(store, cfg, collector)
		if err != nil {
			b.Fatal(err)
		}
		term, err := e.Campaign(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = term.Resign(context.Background()) }() // the lease would end by itself
	}
	b.Run("collect", func(b *testing.B) {
		series := 0
		for b.Loop() {
			series = 0
			metrics := make(chan prometheus.Metric, 1000)
			go func() { collector.Collect(metrics); close(metrics) }()
			for range metrics {
				series++
			}
		}
		b.ReportMetric(float64(series), "series")
	})
	b.Run("gather", func(b *testing.B) {
		for b.Loop() {
			if _, err := registry.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Scrapes at the same time as electors come, run and go: nothing is counted for
// the wrong one, and the race detector has something to look at.
func TestScrapesDuringChanges(t *testing.T) {
	inBubble(t, prommetrics.Options{}, func(b *bench) {
		done := make(chan struct{})
		for i := range 8 {
			go func() {
				defer func() { done <- struct{}{} }()
				for range 5 {
					e := b.Elector(fmt.Sprint("election-", i), "a")
					stop := b.run(e)
					time.Sleep(time.Duration(7+i) * time.Second)
					stop()
					b.collector.Remove(e)
				}
			}()
		}
		for left := 8; left > 0; {
			select {
			case <-done:
				left--
			case <-time.After(time.Second):
				for _, f := range b.gather() {
					for _, m := range f.GetMetric() {
						if f.GetName() == "recount_elector_acquisitions_total" && m.GetCounter().GetValue() > 1 {
							t.Fatalf("a new elector begins with the count of the old one: %v", m)
						}
					}
				}
			}
		}
		for _, f := range b.gather() {
			if len(f.GetMetric()) > 0 && f.GetMetric()[0].GetHistogram() == nil {
				t.Errorf("%s is left behind", f.GetName())
			}
		}
	})
}

// Every name that elector.New takes can be shown: of what is drawn from bytes and characters
// that give some reader trouble, either New refuses it or a scrape succeeds.
func TestEveryNameCanBeShown(t *testing.T) {
	parts := []string{"a", "\x80", "\xc3", "\xff", "\xed\xa0\x80", "é", "e\u0301", "\ufffd", "\u202e", "\u200b", "日", "\"", "\\", "%", "/", ":", "'", "$", "\x00", "\n", "{", " "}
	r := rand.New(rand.NewPCG(26, 18))
	inBubble(t, prommetrics.Options{IDLabel: true}, func(b *bench) {
		taken := 0
		for range 2000 {
			var names [2]string
			for i := range names {
				for range 1 + r.IntN(3) {
					names[i] += parts[r.IntN(len(parts))]
				}
			}
			func() {
				defer func() {
					if v := recover(); v != nil {
						t.Errorf("%q: %v", names, v)
					}
				}()
				e, err := instrument.New(b.Store, elector.Config{Election: names[0], ID: names[1], Clock: b.Clock}, b.collector)
				if err != nil {
					return
				}
				taken++
				b.gather()
				b.collector.Remove(e)
			}()
		}
		if taken < 100 {
			t.Errorf("only %d names were taken", taken)
		}
	})
}
