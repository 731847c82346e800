package electortest_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/electortest"
)

// service is what is tested: it must work as long as it leads, and no longer.
type service struct{ working atomic.Bool }

// lead is the service's own leader logic, its OnStarted.
func (s *service) lead(ctx context.Context, _ *elector.Term) {
	s.working.Store(true)
	defer s.working.Store(false)
	<-ctx.Done()
	time.Sleep(linger)
}

// linger is a bug of the service, which TestBugIsFound asks for: it goes on for so long.
var linger, _ = time.ParseDuration(os.Getenv("ELECTORTEST_LINGER"))

// expect waits until the service has done all that it can do at this moment.
func (s *service) expect(t testing.TB, working bool) {
	t.Helper()
	synctest.Wait()
	if got := s.working.Load(); got != working {
		t.Errorf("the service works: %v, want %v", got, working)
	}
}

// The service works while it leads, stops when the lease is lost, and works again.
func TestServiceWorksOnlyWhileItLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := electortest.NewStore(), &service{}
		c := electortest.Lead(t, store, elector.Config{Election: "billing", OnStarted: s.lead})
		s.expect(t, true)

		store.Fail(nil) // until the lease has been lost
		<-c.Term().Context().Done()
		s.expect(t, false)

		store.Recover()
		c.Term()
		s.expect(t, true)
	})
}
