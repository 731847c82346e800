package prommetrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// Options are how a Collector presents what it knows. The zero value is fine.
type Options struct {
	// IDLabel adds the label id. A process that is one candidate needs none:
	// Prometheus labels what it scrapes with the instance.
	IDLabel bool

	// Buckets are the upper bounds, in seconds, of all histograms: how long
	// requests and callbacks took, how late renewals were sent. From half a
	// millisecond to 10 s by default.
	Buckets []float64

	_ struct{}
}

// Collector is a prometheus.Collector for any number of electors. It is safe
// for concurrent use.
type Collector struct {
	idLabel bool
	metrics *metrics

	mu     sync.Mutex
	groups map[labels]*group
}

var (
	_ prometheus.Collector  = (*Collector)(nil)
	_ instrument.Instrument = (*Collector)(nil)
)

// labels tell one group of electors from others.
type labels struct{ election, id string }

// New returns a Collector that watches nothing yet: register it, and give it to
// instrument.New along with each elector's store and settings.
func New(o Options) *Collector {
	if len(o.Buckets) == 0 {
		o.Buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	}
	names := []string{"election"}
	if o.IDLabel {
		names = append(names, "id")
	}
	return &Collector{idLabel: o.IDLabel, metrics: newMetrics(names, o.Buckets), groups: make(map[labels]*group)}
}

// Instrument implements instrument.Instrument.
func (c *Collector) Instrument(store elector.Store, cfg elector.Config) (elector.Store, elector.Config, func(*elector.Elector)) {
	s := newSubject(cfg, c.metrics)
	cfg = s.watchCallbacks(cfg)
	return instrument.Store(store, s.begin), instrument.OnEvent(cfg, s.event), func(e *elector.Elector) { c.attach(s, e) }
}

func (c *Collector) attach(s *subject, e *elector.Elector) {
	s.elector = e
	l := labels{election: s.election}
	if c.idLabel {
		l.id = e.ID()[:strings.LastIndex(e.ID(), "/")]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[l]
	if g == nil {
		g = c.metrics.group(c.values(l))
		c.groups[l] = g
	}
	g.subjects = append(g.subjects, s)
	s.group.Store(g)
}

func (c *Collector) values(l labels) []string {
	if c.idLabel {
		return []string{l.election, l.id}
	}
	return []string{l.election}
}

// Remove forgets the elector. When it is the last one with its labels, their
// series end. It is for elections that a process joins and leaves.
func (c *Collector) Remove(e *elector.Elector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, g := range c.groups {
		g.subjects = slices.DeleteFunc(g.subjects, func(s *subject) bool { return s.elector == e })
		if len(g.subjects) == 0 {
			delete(c.groups, l)
			c.metrics.forget(c.values(l))
		}
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range c.metrics.all() {
		v.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.refresh()
	// Without the lock: who reads the channel may be slow.
	for _, v := range c.metrics.all() {
		v.Collect(ch)
	}
}

// refresh computes the gauges.
func (c *Collector) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		g.refresh()
	}
}
