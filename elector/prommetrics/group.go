package prommetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// request tells the counters of requests apart.
type request struct {
	operation instrument.Operation
	outcome   instrument.Outcome
}

// group is the series of the electors with the same labels: of one, in most
// programs. All fields but subjects are immutable.
type group struct {
	subjects []*subject // guarded by the Collector's mutex

	isLeader, token, leaderToken, remaining, unreachable, lastAnswer, callback, overdue prometheus.Gauge

	states map[elector.State]prometheus.Gauge

	acquisitions, losses, renewals, changes, silences prometheus.Counter

	terms    map[elector.Reason]prometheus.Counter
	troubles map[string]prometheus.Counter
	requests map[request]prometheus.Counter

	requestTime map[instrument.Operation]prometheus.Observer
	lateness    prometheus.Observer
}

// refresh computes the gauges: numbers of electors are added up, of everything
// else the largest counts.
func (g *group) refresh() {
	var all reading
	counts := make(map[elector.State]int)
	for _, s := range g.subjects {
		r := s.read()
		counts[r.state]++
		all.leaders += r.leaders
		all.token = max(all.token, r.token)
		all.leaderToken = max(all.leaderToken, r.leaderToken)
		all.remaining = max(all.remaining, r.remaining)
		all.callback = max(all.callback, r.callback)
		all.overdue = max(all.overdue, r.overdue)
		all.unreachable = all.unreachable || r.unreachable
		if r.answer.After(all.answer) {
			all.answer = r.answer
		}
	}
	g.isLeader.Set(float64(all.leaders))
	g.token.Set(float64(all.token))
	g.leaderToken.Set(float64(all.leaderToken))
	g.remaining.Set(all.remaining.Seconds())
	g.callback.Set(all.callback.Seconds())
	g.overdue.Set(all.overdue.Seconds())
	g.unreachable.Set(number(all.unreachable))
	g.lastAnswer.Set(0)
	if !all.answer.IsZero() {
		g.lastAnswer.Set(float64(all.answer.UnixMilli()) / 1000)
	}
	for _, s := range instrument.States() {
		g.states[s].Set(float64(counts[s]))
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// reading is what the gauges say of one elector at a moment.
type reading struct {
	leaders            int
	state              elector.State
	token, leaderToken uint64
	remaining          time.Duration
	unreachable        bool
	answer             time.Time // zero: never
	callback, overdue  time.Duration
}
