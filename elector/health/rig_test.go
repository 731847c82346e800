package health_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/internal/workbench"
)

// Nothing is left behind, with real clocks neither.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

// bench is a bubble with a clock, a store and a monitor.
type bench struct {
	*testing.T
	*workbench.Bench
	monitor *health.Monitor
}

func inBubble(t *testing.T, o health.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, err := health.New(o)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t, workbench.New(t, m), m}
		defer b.Free()
		test(b)
	})
}

// run runs e in the background, and returns when it waits for something.
func (b *bench) run(e *elector.Elector) (stop func() error) {
	stop = b.Start(e)
	synctest.Wait()
	return stop
}

// is demands the status of the only election.
func (b *bench) is(want health.Status) health.Election {
	b.Helper()
	r := b.monitor.Report()
	if len(r.Elections) != 1 || r.Status != want || r.Elections[0].Status != want {
		b.Fatalf("at %v: %+v, want one election that is %s", b.Clock.Now(), r, want)
	}
	return r.Elections[0]
}

// get asks a handler.
func get(t *testing.T, h http.Handler, target string) (int, health.Report) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	var r health.Report
	if w.Header().Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			t.Fatalf("%s answers %s: %v", target, w.Body, err)
		}
	}
	return w.Code, r
}
