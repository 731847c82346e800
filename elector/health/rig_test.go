package health_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
)

// Nothing is left behind, with real clocks neither.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

// clock is that of a bubble. It can be suspended, and its timers can get stuck,
// which stops the elector's goroutine.
type clock struct {
	start     time.Time
	suspended atomic.Int64
	stuck     atomic.Bool
	free      chan struct{}
}

func (c *clock) Now() time.Duration { return time.Since(c.start) + time.Duration(c.suspended.Load()) }

func (c *clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	if c.stuck.Load() {
		<-c.free
	}
	return time.AfterFunc(d, f)
}

// store is a memstore that can hang, without regard to contexts, or fail.
type store struct {
	*memstore.Store
	hangs atomic.Bool
	free  chan struct{}
	late  atomic.Int64 // how long an answer about who leads is on its way
	fail  atomic.Pointer[error]
}

func (s *store) trouble() error {
	if s.hangs.Load() {
		<-s.free
	}
	if err := s.fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *store) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if err := s.trouble(); err != nil {
		return elector.Grant{}, err
	}
	return s.Store.Acquire(ctx, a)
}

func (s *store) Renew(ctx context.Context, l elector.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

func (s *store) Release(ctx context.Context, l elector.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

func (s *store) Leader(ctx context.Context, election string) (elector.Leader, error) {
	l, err := s.Store.Leader(ctx, election)
	time.Sleep(time.Duration(s.late.Load()))
	return l, err
}

// bench is a bubble with a clock, a store and a monitor.
type bench struct {
	*testing.T
	clock   *clock
	store   *store
	monitor *health.Monitor
}

func inBubble(t *testing.T, o health.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		c := &clock{start: time.Now(), free: free}
		m, err := health.New(o)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{T: t, clock: c, monitor: m}
		b.store = &store{Store: memstore.New(memstore.Options{Now: c.Now}), free: free}
		defer close(free)
		test(b)
	})
}

func (b *bench) elector(election, id string, change ...func(*elector.Config)) *elector.Elector {
	b.Helper()
	cfg := elector.Config{Election: election, ID: id, Clock: b.clock, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	e, err := instrument.New(b.store, cfg, b.monitor)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// run runs e in the background. stop ends it and returns Run's error.
func (b *bench) run(e *elector.Elector) (stop func() error) {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-ended
	}
}

// is demands the status of the only election.
func (b *bench) is(want health.Status) health.Election {
	b.Helper()
	r := b.monitor.Report()
	if len(r.Elections) != 1 || r.Status != want || r.Elections[0].Status != want {
		b.Fatalf("at %v: %+v, want one election that is %s", b.clock.Now(), r, want)
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
