package oteltrace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/recount-io/recount/elector/health/instrument"
)

// requests traces what a store is asked.
type requests struct {
	tracer trace.Tracer
	meters *meters
}

func (r requests) begin(ctx context.Context, c instrument.Call, links ...trace.Link) (context.Context, func(instrument.Answer)) {
	began := time.Now()
	ctx, span := r.tracer.Start(ctx, "elector."+string(c.Operation),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(links...), trace.WithAttributes(asked(c)...))
	return ctx, func(a instrument.Answer) {
		span.SetAttributes(answered(a)...)
		if failed(c, a) {
			span.RecordError(a.Err)
			span.SetStatus(codes.Error, a.Err.Error())
		}
		span.End()
		// With the span's context, so that a slow request can be found by its
		// exemplar.
		r.meters.requestTime.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(
			keyElection.String(c.Election), keyOperation.String(string(c.Operation)), keyOutcome.String(string(a.Outcome))))
	}
}

// failed reports whether something is wrong. That the lease is somebody else's is
// what most answers say, and a release that comes too late has lost nothing.
func failed(c instrument.Call, a instrument.Answer) bool {
	switch a.Outcome {
	case instrument.Fatal, instrument.Unknown:
		return true
	case instrument.NotHeld:
		return c.Operation == instrument.Renew
	default:
		return false
	}
}

func asked(c instrument.Call) []attribute.KeyValue {
	list := []attribute.KeyValue{keyElection.String(c.Election), keyOperation.String(string(c.Operation))}
	if c.ID != "" {
		list = append(list, keyCandidate.String(c.ID), number(keyRequest, c.Request))
	}
	if c.Token != 0 {
		list = append(list, number(keyToken, c.Token))
	}
	return list
}

func answered(a instrument.Answer) []attribute.KeyValue {
	list := []attribute.KeyValue{keyOutcome.String(string(a.Outcome))}
	if a.Leader.ID != "" {
		list = append(list, keyLeader.String(a.Leader.ID), number(keyLeaderToken, a.Leader.Token))
	}
	return list
}

// number is an attribute. OpenTelemetry's integers have a sign, and no token
// comes near it: stores count to 2^53.
func number(key attribute.Key, n uint64) attribute.KeyValue { return key.Int64(int64(n)) }
