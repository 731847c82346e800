package oteltrace

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// The keys of attributes. Metrics have the election, and never the candidate:
// its ID is another one after each restart, and the resource says which process
// it is.
const (
	keyElection    = attribute.Key("recount.election")
	keyCandidate   = attribute.Key("recount.candidate")
	keyToken       = attribute.Key("recount.token")
	keyReason      = attribute.Key("recount.reason")
	keyState       = attribute.Key("recount.state")
	keyTrouble     = attribute.Key("recount.trouble")
	keyOperation   = attribute.Key("recount.operation")
	keyOutcome     = attribute.Key("recount.outcome")
	keyRequest     = attribute.Key("recount.request")
	keyLeader      = attribute.Key("recount.leader")
	keyLeaderToken = attribute.Key("recount.leader.token")
	keyLate        = attribute.Key("recount.late_seconds")
)

// meters are the metrics' instruments.
type meters struct {
	acquisitions, losses, terms, renewals, changes, silences, troubles metric.Int64Counter

	lateness, requestTime metric.Float64Histogram

	isLeader, state, token, unreachable metric.Int64ObservableGauge
	remaining                           metric.Float64ObservableGauge
}

func newMeters(m metric.Meter) (*meters, error) {
	var problems []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter("recount.elector."+name, metric.WithUnit(unit), metric.WithDescription(description))
		problems = append(problems, err)
		return c
	}
	seconds := func(name, description string) metric.Float64Histogram {
		h, err := m.Float64Histogram("recount.elector."+name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
		problems = append(problems, err)
		return h
	}
	gauge := func(name, description string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge("recount.elector."+name, metric.WithUnit("1"), metric.WithDescription(description))
		problems = append(problems, err)
		return g
	}
	all := &meters{
		acquisitions: counter("acquisitions", "{term}", "Terms that this candidate was elected to"),
		losses:       counter("losses", "{term}", "Terms that ended against this candidate's will"),
		terms:        counter("terms", "{term}", "Terms that ended, by reason"),
		renewals:     counter("renewals", "{renewal}", "Renewals that made a term last longer"),
		changes:      counter("leader.changes", "{change}", "How often a leader was seen that did not lead before"),
		silences:     counter("store.silences", "{silence}", "How often the store has not answered for a lease"),
		troubles:     counter("troubles", "{trouble}", "Requests that failed, and other troubles, by kind"),
		lateness:     seconds("renewal.lateness", "How long after their time the renewals that succeeded were sent"),
		requestTime:  seconds("store.request.duration", "How long requests to the store took, by operation and outcome"),
		isLeader:     gauge("is_leader", "1 while this candidate leads, by the clock, and 0 else"),
		state:        gauge("state", "1 for the state that the elector is in, 0 for the others"),
		token:        gauge("token", "Fencing token of this candidate's latest term"),
		unreachable:  gauge("store.unreachable", "1 if no request to the store has succeeded for a lease or longer"),
	}
	remaining, err := m.Float64ObservableGauge("recount.elector.belief.remaining", metric.WithUnit("s"), metric.WithDescription("Time until this candidate's term ends unless it is renewed"))
	all.remaining = remaining
	return all, errors.Join(append(problems, err)...)
}

func (m *meters) observables() []metric.Observable {
	return []metric.Observable{m.isLeader, m.state, m.token, m.unreachable, m.remaining}
}

// reading is what the gauges say of one election: numbers of electors are added
// up, of everything else the largest counts.
type reading struct {
	leaders, unreachable, token int64
	remaining                   time.Duration
	states                      map[elector.State]int64
}

// observe is called when metrics are collected. It answers from memory.
func (t *Tracer) observe(_ context.Context, o metric.Observer) error {
	for election, r := range t.read() {
		of := metric.WithAttributes(keyElection.String(election))
		o.ObserveInt64(t.meters.isLeader, r.leaders, of)
		o.ObserveInt64(t.meters.token, r.token, of)
		o.ObserveInt64(t.meters.unreachable, r.unreachable, of)
		o.ObserveFloat64(t.meters.remaining, r.remaining.Seconds(), of)
		for _, s := range instrument.States() {
			o.ObserveInt64(t.meters.state, r.states[s], of, metric.WithAttributes(keyState.String(string(s))))
		}
	}
	return nil
}

func (t *Tracer) read() map[string]*reading {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]*reading)
	for _, s := range t.subjects {
		r := all[s.election]
		if r == nil {
			r = &reading{states: make(map[elector.State]int64)}
			all[s.election] = r
		}
		s.read(r)
	}
	return all
}

// read adds what the elector is at this moment.
func (s *subject) read(r *reading) {
	leads, now := s.elector.IsLeader(), s.clock.Now()
	r.states[s.elector.State()]++
	token, until := s.latest.Last()
	r.token = max(r.token, int64(token))
	if leads {
		r.leaders++
		r.remaining = max(r.remaining, until-now)
	}
	if s.pulse.Unreachable(now) {
		r.unreachable = 1
	}
}
