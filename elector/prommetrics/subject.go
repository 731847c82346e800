package prommetrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health/instrument"
)

// subject is one elector that is watched.
type subject struct {
	election  string
	clock     elector.Clock
	onEvent   prometheus.Observer // durations
	onLeader  prometheus.Observer
	elector   *elector.Elector
	group     atomic.Pointer[group] // nil until the elector is attached
	pulse     instrument.Pulse
	latest    *instrument.Belief
	callbacks atomic.Int64 // since when one runs, on the clock, plus 1; 0: none does

	mu          sync.Mutex
	leaderToken uint64
	over        time.Duration // since when the work should have ended
	working     int           // calls of OnStarted whose context is done; more than one at no time
}

func newSubject(cfg elector.Config, m *metrics) *subject {
	return &subject{
		election: cfg.Election, clock: instrument.Clock(cfg), latest: instrument.NewBelief(cfg),
		onEvent:  m.callbackTime.WithLabelValues("OnEvent"),
		onLeader: m.callbackTime.WithLabelValues("OnLeader"),
	}
}

// watchCallbacks measures the callbacks of the settings. What is not set stays
// so: it means something to the elector.
func (s *subject) watchCallbacks(cfg elector.Config) elector.Config {
	if f := cfg.OnEvent; f != nil {
		cfg.OnEvent = func(ev elector.Event) {
			defer s.callback(s.onEvent)()
			f(ev)
		}
	}
	if f := cfg.OnLeader; f != nil {
		cfg.OnLeader = func(l elector.Leader) {
			defer s.callback(s.onLeader)()
			f(l)
		}
	}
	if f := cfg.OnStarted; f != nil {
		cfg.OnStarted = func(ctx context.Context, t *elector.Term) {
			defer s.work(ctx)()
			f(ctx, t)
		}
	}
	return cfg
}

// callback notes that a callback runs. The elector calls one at a time.
func (s *subject) callback(took prometheus.Observer) (returned func()) {
	began := s.clock.Now()
	s.callbacks.Store(int64(began) + 1)
	return func() {
		s.callbacks.Store(0)
		took.Observe((s.clock.Now() - began).Seconds())
	}
}

// work notes when the work of a term is told to end, and when it has.
func (s *subject) work(ctx context.Context) (ended func()) {
	var returned, counted bool
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if returned {
			return
		}
		counted = true
		s.working++
		s.over = s.clock.Now()
	})
	return func() {
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		returned = true
		if counted {
			s.working--
		}
	}
}

// begin observes one operation of the store.
func (s *subject) begin(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
	g := s.group.Load()
	if g == nil || c.Election != s.election {
		return ctx, func(instrument.Answer) {}
	}
	sent := s.clock.Now()
	s.pulse.Asked(c, sent)
	return ctx, func(a instrument.Answer) {
		now := s.clock.Now()
		s.pulse.Answered(a.Outcome, now)
		g.requests[request{c.Operation, a.Outcome}].Inc()
		if a.Outcome.Definite() {
			g.requestTime[c.Operation].Observe((now - sent).Seconds())
		}
		s.heard(a.Leader.Token)
		s.latest.Answered(c, a, sent)
	}
}

func (s *subject) heard(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaderToken = max(s.leaderToken, token)
}

// event observes one event of the elector.
func (s *subject) event(ev elector.Event) {
	g := s.group.Load()
	if g == nil {
		return
	}
	s.pulse.Event(ev)
	s.latest.Event(ev)
	switch ev.Kind {
	case event.Elected:
		g.acquisitions.Inc()
	case event.Extended:
		g.renewals.Inc()
		g.lateness.Observe(ev.Late.Seconds())
	case event.Deposed:
		if ended, ok := g.terms[ev.Reason]; ok {
			ended.Inc()
		}
		if instrument.Lost(ev.Reason) {
			g.losses.Inc()
		}
	case event.LeaderSeen:
		g.changes.Inc()
		s.heard(ev.Leader.Token)
	case event.Trouble:
		g.troubles[instrument.Trouble(ev.Err)].Inc()
	case event.Unreachable:
		g.silences.Inc()
	}
}

// read tells how the elector is at this moment.
func (s *subject) read() reading {
	r := reading{state: s.elector.State()}
	leads, now := s.elector.IsLeader(), s.clock.Now()
	token, until := s.latest.Last()
	if r.token = token; leads {
		r.leaders, r.remaining = 1, max(0, until-now)
	}
	r.unreachable = s.pulse.Unreachable(now)
	if last, ok := s.pulse.Last(); ok {
		r.answer = time.Now().Add(min(0, last-now))
	}
	if since := s.callbacks.Load(); since != 0 {
		r.callback = max(0, now-time.Duration(since-1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.leaderToken = s.leaderToken
	if s.working > 0 {
		r.overdue = max(0, now-s.over)
	}
	return r
}
