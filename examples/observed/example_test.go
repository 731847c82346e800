// Package observed_test shows an elector with health checks, metrics and traces,
// each of which is a module of its own.
package observed_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/oteltrace"
	"github.com/recount-io/recount/elector/prommetrics"
)

// Health checks, metrics and traces for two elections in one process.
func Example() {
	monitor, err := health.New(health.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	collector := prommetrics.New(prommetrics.Options{})
	registry := prometheus.NewRegistry() // prometheus.DefaultRegisterer in production
	registry.MustRegister(collector)
	tracer, err := oteltrace.New(oteltrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tracer.Close() }() // the program ends

	store := memstore.New(memstore.Options{})
	for _, election := range []string{"billing", "reports"} {
		cfg := elector.Config{Election: election, Logger: slog.New(slog.DiscardHandler)}
		e, err := instrument.New(store, cfg, monitor, collector, tracer) // in place of elector.New(store, cfg)
		if err != nil {
			fmt.Println(err)
			return
		}
		term, err := e.Campaign(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(election, "is led here:", monitor.IsLeader(election))
		_ = term.Resign(context.Background()) // the lease would end by itself
	}
	// Output:
	// billing is led here: true
	// reports is led here: true
}
