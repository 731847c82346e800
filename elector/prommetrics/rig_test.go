package prommetrics_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/prommetrics"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is that of a bubble. It can be suspended.
type clock struct {
	start     time.Time
	suspended atomic.Int64
}

func (c *clock) Now() time.Duration { return time.Since(c.start) + time.Duration(c.suspended.Load()) }

func (c *clock) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// store is a memstore that takes its time, or hangs until the test ends.
type store struct {
	*memstore.Store
	takes atomic.Int64
	hangs atomic.Bool
	free  chan struct{}
}

func (s *store) wait() error {
	if s.hangs.Load() {
		<-s.free
		return context.DeadlineExceeded
	}
	time.Sleep(time.Duration(s.takes.Load()))
	return nil
}

func (s *store) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if err := s.wait(); err != nil {
		return elector.Grant{}, err
	}
	return s.Store.Acquire(ctx, a)
}

func (s *store) Renew(ctx context.Context, l elector.Lease) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

func (s *store) Release(ctx context.Context, l elector.Lease) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

// bench is a bubble with a clock, a store, a collector and a registry that
// checks what it is given.
type bench struct {
	*testing.T
	clock     *clock
	store     *store
	collector *prommetrics.Collector
	registry  *prometheus.Registry
}

func inBubble(t *testing.T, o prommetrics.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &clock{start: time.Now()}
		b := &bench{T: t, clock: c, collector: prommetrics.New(o), registry: prometheus.NewPedanticRegistry()}
		b.store = &store{Store: memstore.New(memstore.Options{Now: c.Now}), free: make(chan struct{})}
		b.registry.MustRegister(b.collector)
		defer close(b.store.free)
		test(b)
	})
}

func (b *bench) elector(election, id string, change ...func(*elector.Config)) *elector.Elector {
	b.Helper()
	cfg := elector.Config{Election: election, ID: id, Clock: b.clock, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	e, err := instrument.New(b.store, cfg, b.collector)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// run runs e in the background. stop ends it.
func (b *bench) run(e *elector.Elector) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func (b *bench) gather() []*dto.MetricFamily {
	b.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	return families
}

// value is that of the series with all these labels (name, value, ...), or -1
// if there is none. Of a histogram it is how much was observed.
func (b *bench) value(name string, labels ...string) float64 {
	b.Helper()
	found := -1.0
	for _, f := range b.gather() {
		if f.GetName() != "recount_elector_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			if !has(m, labels) {
				continue
			}
			if found != -1 {
				b.Fatalf("%s%q is more than one series", name, labels)
			}
			switch {
			case m.GetGauge() != nil:
				found = m.GetGauge().GetValue()
			case m.GetCounter() != nil:
				found = m.GetCounter().GetValue()
			default:
				found = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// want demands a value of the election billing.
func (b *bench) want(value float64, name string, labels ...string) {
	b.Helper()
	if got := b.value(name, append([]string{"election", "billing"}, labels...)...); got != value {
		b.Errorf("at %v: %s%q is %v, want %v", b.clock.Now(), name, labels, got, value)
	}
}
