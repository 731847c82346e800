package health_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
)

// One monitor for all elections of the process, behind four paths.
func Example() {
	monitor, err := health.New(health.Options{Data: map[string]string{"version": "1.4.2"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)}
	e, err := instrument.New(memstore.New(memstore.Options{}), cfg, monitor)
	if err != nil {
		fmt.Println(err)
		return
	}

	mux := http.NewServeMux()
	mux.Handle("/health", monitor.Handler())                // for people
	mux.Handle("/leader", monitor.LeaderHandler("billing")) // for load balancers
	mux.Handle("/healthz", monitor.LiveHandler())           // restart if it fails
	mux.Handle("/readyz", monitor.ReadyHandler())           // send no requests while it fails

	term, err := e.Campaign(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	show(mux, "/leader")
	_ = term.Resign(context.Background()) // the lease would end by itself
	show(mux, "/leader")
	show(mux, "/healthz")
	// Output:
	// /leader 200
	// /leader 503
	// /healthz 200
}

func show(h http.Handler, path string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	fmt.Println(path, w.Code)
}

// Live and Ready suit any library of probes: they are functions that return an
// error.
func ExampleMonitor_Ready() {
	monitor, err := health.New(health.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	checks := map[string]func() error{"live": monitor.Live, "ready": monitor.Ready}
	fmt.Println(checks["live"]())
	fmt.Println(checks["ready"]())
	// Output:
	// <nil>
	// health: no elector is watched: make it with instrument.New and this Monitor
}
