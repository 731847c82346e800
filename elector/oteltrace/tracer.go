package oteltrace

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// scope names the instrumentation to OpenTelemetry.
const scope = "github.com/recount-io/recount/elector/oteltrace"

// Options are where spans and metrics go to.
type Options struct {
	TracerProvider trace.TracerProvider // otel.GetTracerProvider() by default
	MeterProvider  metric.MeterProvider // otel.GetMeterProvider() by default

	_ struct{}
}

// Tracer traces any number of electors. It is safe for concurrent use.
type Tracer struct {
	tracer       trace.Tracer
	meters       *meters
	registration metric.Registration

	mu       sync.Mutex
	subjects []*subject
}

var _ instrument.Instrument = (*Tracer)(nil)

// New returns a Tracer that watches nothing yet: give it to instrument.New along
// with each elector's store and settings. Its error is one of the meter
// provider. Call Close when it is not needed any more.
func New(o Options) (*Tracer, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	meter := o.MeterProvider.Meter(scope)
	m, err := newMeters(meter)
	if err != nil {
		return nil, err
	}
	t := &Tracer{tracer: o.TracerProvider.Tracer(scope), meters: m}
	t.registration, err = meter.RegisterCallback(t.observe, m.observables()...)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Close ends the observation of gauges. Spans and counters of electors that
// still run go on.
func (t *Tracer) Close() error { return t.registration.Unregister() }

// Instrument implements instrument.Instrument.
func (t *Tracer) Instrument(store elector.Store, cfg elector.Config) (elector.Store, elector.Config, func(*elector.Elector)) {
	s := newSubject(cfg, t.tracer, t.meters)
	return instrument.Store(store, s.begin), instrument.OnEvent(cfg, s.event), func(e *elector.Elector) {
		s.elector = e
		t.mu.Lock()
		defer t.mu.Unlock()
		t.subjects = append(t.subjects, s)
	}
}

// Remove forgets the elector: its gauges end. It is for elections that a
// process joins and leaves.
func (t *Tracer) Remove(e *elector.Elector) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subjects = slices.DeleteFunc(t.subjects, func(s *subject) bool { return s.elector == e })
}

// Store returns a store that does what inner does, with a span and a duration
// for each request. It is for stores that are used without an elector of one's
// own, by elector.Observe for instance: a Tracer traces the stores of its
// electors itself. It has exactly those of store.CandidateLister, store.TermLister and
// store.Preflighter that inner has. Its error is one of the meter provider.
func Store(inner elector.Store, o Options) (elector.Store, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	m, err := newMeters(o.MeterProvider.Meter(scope))
	if err != nil {
		return nil, err
	}
	r := requests{o.TracerProvider.Tracer(scope), m}
	return instrument.Store(inner, func(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
		return r.begin(ctx, c)
	}), nil
}
