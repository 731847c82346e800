package oteltrace_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/oteltrace"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errLost = errors.New("connection reset")

// clock is that of a bubble. It can be suspended.
type clock struct {
	start     time.Time
	suspended atomic.Int64
}

func (c *clock) Now() time.Duration { return time.Since(c.start) + time.Duration(c.suspended.Load()) }

func (c *clock) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// store is a memstore that can fail, or hang until the test ends.
type store struct {
	*memstore.Store
	fails, hangs atomic.Bool
	free         chan struct{}
}

func (s *store) trouble() error {
	switch {
	case s.hangs.Load():
		<-s.free
		return errLost
	case s.fails.Load():
		return errLost
	default:
		return nil
	}
}

func (s *store) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if err := s.trouble(); err != nil {
		return elector.Grant{}, err
	}
	return s.Store.Acquire(ctx, a)
}

func (s *store) Renew(ctx context.Context, l elector.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

func (s *store) Release(ctx context.Context, l elector.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

// bench is a bubble with a clock, a store, and the SDK's exporters in memory.
type bench struct {
	*testing.T
	clock   *clock
	store   *store
	options oteltrace.Options
	spans   *tracetest.InMemoryExporter
	metrics *sdkmetric.ManualReader
	tracer  *oteltrace.Tracer
}

func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &clock{start: time.Now()}
		b := &bench{T: t, clock: c, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
		b.store = &store{Store: memstore.New(memstore.Options{Now: c.Now}), free: make(chan struct{})}
		b.options.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans))
		b.options.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.metrics))
		tracer, err := oteltrace.New(b.options)
		if err != nil {
			t.Fatal(err)
		}
		b.tracer = tracer
		defer close(b.store.free)
		test(b)
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (b *bench) elector(election, id string, change ...func(*elector.Config)) *elector.Elector {
	b.Helper()
	cfg := elector.Config{Election: election, ID: id, Clock: b.clock, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	e, err := instrument.New(b.store, cfg, b.tracer)
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

// named are the spans of that name that have ended.
func (b *bench) named(name string) tracetest.SpanStubs {
	var found tracetest.SpanStubs
	for _, s := range b.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// attr is the attribute as text, empty if there is none.
func attr(list []attribute.KeyValue, key string) string {
	for _, a := range list {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func events(s tracetest.SpanStub) string {
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// value is that of the series with these attributes (key, value, ...), or -1. Of
// a histogram it is how much was recorded.
func (b *bench) value(name string, attributes ...string) float64 {
	b.Helper()
	var all metricdata.ResourceMetrics
	if err := b.metrics.Collect(b.Context(), &all); err != nil {
		b.Fatal(err)
	}
	found := -1.0
	note := func(set attribute.Set, v float64) {
		for i := 0; i < len(attributes); i += 2 {
			if got, ok := set.Value(attribute.Key(attributes[i])); !ok || got.String() != attributes[i+1] {
				return
			}
		}
		found = max(found, 0) + v
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "recount.elector."+name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					note(p.Attributes, float64(p.Count))
				}
			default:
				b.Fatalf("%s is a %T", name, d)
			}
		}
	}
	return found
}

// want demands a value of the election billing.
func (b *bench) want(value float64, name string, attributes ...string) {
	b.Helper()
	if got := b.value(name, append([]string{"recount.election", "billing"}, attributes...)...); got != value {
		b.Errorf("at %v: %s%q is %v, want %v", b.clock.Now(), name, attributes, got, value)
	}
}
