package prommetrics_test

import (
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/internal/workbench"
	"github.com/recount-io/recount/elector/prommetrics"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a bubble with a clock, a store, a collector and a registry that
// checks what it is given.
type bench struct {
	*testing.T
	*workbench.Bench
	collector *prommetrics.Collector
	registry  *prometheus.Registry
}

func inBubble(t *testing.T, o prommetrics.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := prommetrics.New(o)
		b := &bench{t, workbench.New(t, c), c, prometheus.NewPedanticRegistry()}
		b.registry.MustRegister(c)
		defer b.Free()
		test(b)
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
		b.Errorf("at %v: %s%q is %v, want %v", b.Clock.Now(), name, labels, got, value)
	}
}
