package oteltrace_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/internal/workbench"
	"github.com/recount-io/recount/elector/oteltrace"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errLost = errors.New("connection reset")

// bench is a bubble with a clock, a store, and the SDK's exporters in memory.
type bench struct {
	*testing.T
	*workbench.Bench
	options oteltrace.Options
	spans   *tracetest.InMemoryExporter
	metrics *sdkmetric.ManualReader
	tracer  *oteltrace.Tracer
}

func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
		b.options.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans))
		b.options.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.metrics))
		tracer, err := oteltrace.New(b.options)
		if err != nil {
			t.Fatal(err)
		}
		b.tracer, b.Bench = tracer, workbench.New(t, tracer)
		defer b.Free()
		test(b)
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	})
}

// run runs e in the background. stop ends it.
func (b *bench) run(e *elector.Elector) (stop func()) {
	end := b.Start(e)
	return func() {
		if err := end(); err != nil {
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
		b.Errorf("at %v: %s%q is %v, want %v", b.Clock.Now(), name, attributes, got, value)
	}
}
