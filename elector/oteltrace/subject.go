package oteltrace

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health/instrument"
)

// subject is one elector that is traced.
type subject struct {
	requests
	election string
	clock    elector.Clock
	late     time.Duration // a renewal that is later is noted in the span
	elector  *elector.Elector
	pulse    instrument.Pulse
	latest   *instrument.Belief

	span trace.Span // of the term; nil between two. Of the goroutine of events

	mu    sync.Mutex
	token uint64 // of the last span
	term  trace.SpanContext
}

func newSubject(cfg elector.Config, tracer trace.Tracer, m *meters) *subject {
	lease := cmp.Or(cfg.Lease, 15*time.Second)
	return &subject{
		requests: requests{tracer, m}, election: cfg.Election, clock: instrument.Clock(cfg), latest: instrument.NewBelief(cfg),
		// As in the elector's log: Config.RequestTimeout and its defaults.
		late: cmp.Or(cfg.RequestTimeout, cmp.Or(cfg.Renew, lease/3)/2),
	}
}

// begin observes one operation of the store.
func (s *subject) begin(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
	if c.Election != s.election {
		return s.requests.begin(ctx, c)
	}
	sent := s.clock.Now()
	s.pulse.Asked(c, sent)
	ctx, end := s.requests.begin(ctx, c, s.links(c.Token)...)
	return ctx, func(a instrument.Answer) {
		s.pulse.Answered(a.Outcome, s.clock.Now())
		s.latest.Answered(c, a, sent)
		end(a)
	}
}

// links leads from a request to the term that it is of.
func (s *subject) links(token uint64) []trace.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == 0 || token != s.token || !s.term.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: s.term}}
}

// event observes one event of the elector.
func (s *subject) event(ev elector.Event) {
	s.pulse.Event(ev)
	s.latest.Event(ev)
	s.count(ev)
	at := s.wall(ev.At)
	switch ev.Kind {
	case event.Elected:
		s.elected(ev, at)
	case event.Extended:
		if ev.Late > s.late {
			s.note("renewal sent late", at, keyLate.Float64(ev.Late.Seconds()))
		}
	case event.StateChanged:
		if ev.State == event.StateDraining {
			s.note("draining", at)
		}
	case event.Trouble:
		if s.span != nil {
			s.span.RecordError(ev.Err, trace.WithTimestamp(at), trace.WithAttributes(keyTrouble.String(instrument.Trouble(ev.Err))))
		}
	case event.Unreachable:
		s.note("store unreachable", at)
	case event.Reachable:
		s.note("store reachable", at)
	case event.Deposed:
		s.deposed(ev)
	}
}

// wall is the wall clock's time of an event. Events are told a moment after
// they happened, or much later if a callback takes its time.
func (s *subject) wall(at time.Duration) time.Time { return time.Now().Add(at - s.clock.Now()) }

func (s *subject) elected(ev elector.Event, at time.Time) {
	if s.span != nil { // its end was lost, because a callback hung for long
		s.span.SetStatus(codes.Error, "the end of this term was not told")
		s.span.End()
	}
	_, s.span = s.tracer.Start(context.Background(), "elector.term", trace.WithNewRoot(), trace.WithTimestamp(at),
		trace.WithAttributes(keyElection.String(ev.Election), keyCandidate.String(ev.ID), number(keyToken, ev.Token)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.term = ev.Token, s.span.SpanContext()
}

// deposed ends the span when the term ended: at the deadline, even if a
// suspended machine noticed only hours later.
func (s *subject) deposed(ev elector.Event) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(keyReason.String(string(ev.Reason)))
	if instrument.Lost(ev.Reason) {
		text := "the term was lost: " + string(ev.Reason)
		if ev.Err != nil {
			text += ": " + ev.Err.Error()
		}
		s.span.SetStatus(codes.Error, text)
	}
	s.span.End(trace.WithTimestamp(s.wall(min(ev.At, ev.Until))))
	s.span = nil
}

// note adds an event to the term's span, if there is one.
func (s *subject) note(name string, at time.Time, attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.AddEvent(name, trace.WithTimestamp(at), trace.WithAttributes(attributes...))
	}
}

// count adds the event to the metrics.
func (s *subject) count(ev elector.Event) {
	ctx, of := context.Background(), metric.WithAttributes(keyElection.String(s.election))
	switch ev.Kind {
	case event.Elected:
		s.meters.acquisitions.Add(ctx, 1, of)
	case event.Extended:
		s.meters.renewals.Add(ctx, 1, of)
		s.meters.lateness.Record(ctx, ev.Late.Seconds(), of)
	case event.Deposed:
		s.meters.terms.Add(ctx, 1, of, metric.WithAttributes(keyReason.String(string(ev.Reason))))
		if instrument.Lost(ev.Reason) {
			s.meters.losses.Add(ctx, 1, of)
		}
	case event.LeaderSeen:
		s.meters.changes.Add(ctx, 1, of)
	case event.Trouble:
		s.meters.troubles.Add(ctx, 1, of, metric.WithAttributes(keyTrouble.String(instrument.Trouble(ev.Err))))
	case event.Unreachable:
		s.meters.silences.Add(ctx, 1, of)
	}
}
