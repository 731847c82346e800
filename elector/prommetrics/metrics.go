package prommetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// metrics are all series of a Collector.
type metrics struct {
	isLeader, state, token, leaderToken, remaining, unreachable, lastAnswer *prometheus.GaugeVec
	callback, overdue                                                       *prometheus.GaugeVec

	acquisitions, losses, terms, renewals, changes, silences, troubles, requests *prometheus.CounterVec

	requestTime, callbackTime *prometheus.HistogramVec
	lateness                  prometheus.Histogram
}

const prefix = "recount_elector_"

func newMetrics(names []string, buckets []float64) *metrics {
	with := func(more ...string) []string { return append(append([]string{}, names...), more...) }
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, with(more...))
	}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, with(more...))
	}
	return &metrics{
		isLeader:    gauge("is_leader", "1 while this candidate leads, by the clock, and 0 else."),
		state:       gauge("state", "1 for the state that the elector is in, 0 for the others.", "state"),
		token:       gauge("token", "Fencing token of this candidate's latest term, 0 before the first."),
		leaderToken: gauge("leader_token", "Largest fencing token of the election that this candidate has heard of."),
		remaining:   gauge("belief_remaining_seconds", "Time until this candidate's term ends unless it is renewed, 0 if it does not lead."),
		unreachable: gauge("store_unreachable", "1 if no request to the store has succeeded for a lease or longer."),
		lastAnswer:  gauge("store_last_answer_timestamp_seconds", "When the store last answered anything, 0 if never."),
		callback:    gauge("callback_running_seconds", "How long the call of OnEvent or OnLeader that is under way has taken, 0 if there is none."),
		overdue:     gauge("work_overdue_seconds", "For how long OnStarted has not returned although its context is done, 0 if it has."),

		acquisitions: counter("acquisitions_total", "Terms that this candidate was elected to."),
		losses:       counter("losses_total", "Terms that ended against this candidate's will: expired, superseded, or by an error."),
		terms:        counter("terms_total", "Terms that ended, by reason.", "reason"),
		renewals:     counter("renewals_total", "Renewals that made a term last longer."),
		changes:      counter("leader_changes_total", "How often a leader was seen that did not lead before, this candidate included."),
		silences:     counter("store_silences_total", "How often no request to the store has succeeded for a lease."),
		troubles:     counter("troubles_total", "Requests that failed, answers that could not be used, and other troubles, by kind.", "kind"),
		requests:     counter("store_requests_total", "Requests to the store that ended, by operation and outcome.", "operation", "outcome"),

		requestTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "store_request_duration_seconds", Help: "How long the store's answers took.", Buckets: buckets,
		}, []string{"operation"}),
		callbackTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "callback_duration_seconds", Help: "How long calls of OnEvent and OnLeader took.", Buckets: buckets,
		}, []string{"callback"}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "renewal_lateness_seconds", Help: "How long after their time the renewals that succeeded were sent.", Buckets: buckets,
		}),
	}
}

func (m *metrics) gauges() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{m.isLeader, m.state, m.token, m.leaderToken, m.remaining, m.unreachable, m.lastAnswer, m.callback, m.overdue}
}

func (m *metrics) counters() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.acquisitions, m.losses, m.terms, m.renewals, m.changes, m.silences, m.troubles, m.requests}
}

func (m *metrics) all() []prometheus.Collector {
	list := []prometheus.Collector{m.requestTime, m.callbackTime, m.lateness}
	for _, v := range m.gauges() {
		list = append(list, v)
	}
	for _, v := range m.counters() {
		list = append(list, v)
	}
	return list
}

// forget ends the series with these labels.
func (m *metrics) forget(values []string) {
	partial := prometheus.Labels{"election": values[0]}
	if len(values) > 1 {
		partial["id"] = values[1]
	}
	for _, v := range m.gauges() {
		v.DeletePartialMatch(partial)
	}
	for _, v := range m.counters() {
		v.DeletePartialMatch(partial)
	}
}

// group makes the series with these labels. All are made at once, and begin
// with 0: a counter that appears with 1 has never increased for Prometheus.
func (m *metrics) group(values []string) *group {
	g := &group{
		isLeader: m.isLeader.WithLabelValues(values...), token: m.token.WithLabelValues(values...),
		leaderToken: m.leaderToken.WithLabelValues(values...), remaining: m.remaining.WithLabelValues(values...),
		unreachable: m.unreachable.WithLabelValues(values...), lastAnswer: m.lastAnswer.WithLabelValues(values...),
		callback: m.callback.WithLabelValues(values...), overdue: m.overdue.WithLabelValues(values...),
		acquisitions: m.acquisitions.WithLabelValues(values...), losses: m.losses.WithLabelValues(values...),
		renewals: m.renewals.WithLabelValues(values...), changes: m.changes.WithLabelValues(values...),
		silences: m.silences.WithLabelValues(values...),
		states:   make(map[elector.State]prometheus.Gauge), terms: make(map[elector.Reason]prometheus.Counter),
		troubles: make(map[string]prometheus.Counter), requests: make(map[request]prometheus.Counter),
		lateness: m.lateness, requestTime: make(map[instrument.Operation]prometheus.Observer),
	}
	with := func(more ...string) []string { return append(append([]string{}, values...), more...) }
	for _, s := range instrument.States() {
		g.states[s] = m.state.WithLabelValues(with(string(s))...)
	}
	for _, r := range instrument.Reasons() {
		g.terms[r] = m.terms.WithLabelValues(with(string(r))...)
	}
	for _, k := range instrument.Troubles() {
		g.troubles[k] = m.troubles.WithLabelValues(with(k)...)
	}
	for _, o := range instrument.Operations() {
		g.requestTime[o] = m.requestTime.WithLabelValues(string(o))
		for _, out := range instrument.Outcomes() {
			if possible(o, out) {
				g.requests[request{o, out}] = m.requests.WithLabelValues(with(string(o), string(out))...)
			}
		}
	}
	return g
}

// possible reports whether an operation can come to that outcome.
func possible(of instrument.Operation, o instrument.Outcome) bool {
	switch o {
	case instrument.Held:
		return of == instrument.Acquire
	case instrument.NotHeld:
		return of == instrument.Renew || of == instrument.Release
	default:
		return true
	}
}
