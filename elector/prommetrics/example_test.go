package prommetrics_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/prommetrics"
)

// One collector for all elections of the process.
func Example() {
	collector := prommetrics.New(prommetrics.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	cfg := elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)}
	e, err := instrument.New(memstore.New(memstore.Options{}), cfg, collector)
	if err != nil {
		fmt.Println(err)
		return
	}
	term, err := e.Campaign(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = term.Resign(context.Background()) }() // the lease would end by itself

	answer, err := server.Client().Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "recount_elector_is_leader") {
			fmt.Print(line)
		}
	}
	server.Client().CloseIdleConnections()
	// Output: recount_elector_is_leader{election="billing"} 1
}
