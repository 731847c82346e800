// Package prommetrics tells Prometheus about electors: who leads, for how long
// the term lasts yet, why terms ended, and how the store answers.
//
// # What is guaranteed
//
// Collect answers from memory: it asks neither the store nor the elector's
// goroutine, and waits for nothing that can hang. recount_elector_is_leader is
// Elector.IsLeader at the moment of the scrape, by the clock. Counters exist with
// 0 from the moment in which an elector is made, so that increase() sees the
// first event.
//
// # What is not guaranteed
//
// A scrape is old when it is read: the sum of is_leader over all processes may
// be 2 for one scrape although nobody led together, because they are scraped at
// different times. Alert on it with a "for" of more than one scrape interval.
// Counters of events stand still while OnEvent or OnLeader hangs, and
// recount_elector_callback_running_seconds says so. Gauges, and the counters of
// the store's requests, do not depend on that.
//
// # Labels
//
// Each series of an elector has the label election, and with Options.IDLabel
// also id, the configured part of the candidate's ID: the whole one is different
// after each restart, and every restart would leave series behind. Several
// electors with the same labels are added up. Histograms have neither: how fast
// a store answers and how late a process wakes up is not a matter of the
// election, and a thousand elections would be a thousand histograms.
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
