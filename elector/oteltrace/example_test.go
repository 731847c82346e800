package oteltrace_test

import (
	"context"
	"fmt"
	"log/slog"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/oteltrace"
)

// One tracer for all elections of the process. A program gives it the exporter
// of its choice in place of the one in memory.
func Example() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tracer, err := oteltrace.New(oteltrace.Options{TracerProvider: provider})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracer.Close() }() // the program ends

	cfg := elector.Config{Election: "billing", Once: true, Logger: slog.New(slog.DiscardHandler)}
	cfg.OnStarted = func(context.Context, *elector.Term) {} // the work
	e, err := instrument.New(memstore.New(memstore.Options{}), cfg, tracer)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name)
	}
	// Unordered output:
	// elector.acquire
	// elector.term
	// elector.release
}
