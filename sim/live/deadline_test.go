package live

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim"
	ours "github.com/recount-io/recount/sim/candidate"
)

// deadlineSubjects are electors whose deadlines are exactly known.
var deadlineSubjects = map[string]ours.Subject{
	"recount":  ours.Recount,
	"redis":    ours.Blocking(keepsDeadline(func(h sim.Host) (sim.Store, error) { return h.Store(), nil })),
	"postgres": ours.Blocking(keepsDeadline(sim.Host.Postgres)),
	"memory":   ours.Blocking(keepsDeadline(func(sim.Host) (sim.Store, error) { return granting{}, nil })),
}

// keepsDeadline is an elector that believes for a lease, less the drift, from when it
// sends a request that is granted.
func keepsDeadline(open func(sim.Host) (sim.Store, error)) sim.Elector {
	return func(h sim.Host) error {
		st, err := open(h)
		if err != nil {
			return err
		}
		st = h.Recorded(st)
		set := h.Settings()
		usable := set.Lease - time.Duration(set.Drift*float64(set.Lease))
		lease := store.Lease{Election: set.Election, ID: set.Node, TTL: set.Lease}
		for n := uint64(1); !h.Stopping(); n++ {
			lease.Request = n
			sent := h.Now()
			if lease.Token == 0 {
				lease.Nonce = fmt.Sprintf("%s-%d", set.Node, n)
				grant, err := st.Acquire(store.Attempt{Election: lease.Election, ID: lease.ID, Nonce: lease.Nonce, Request: n, TTL: lease.TTL}, set.Lease)
				if lease.Token = grant.Token; err == nil {
					h.Elected(lease.Token, sent+usable)
					defer h.Work(lease.Token)()
				}
			} else if err := st.Renew(lease, set.Lease); err == nil {
				h.Extended(lease.Token, sent+usable)
			} else if errors.Is(err, store.ErrNotHeld) {
				h.Deposed(lease.Token, history.Superseded)
				lease.Token = 0
			}
			h.Sleep(set.Renew)
		}
		return nil
	}
}

// granting is a store that grants everything.
type granting struct{}

func (granting) Acquire(store.Attempt, time.Duration) (store.Grant, error) {
	return store.Grant{Token: 1}, nil
}
func (granting) Renew(store.Lease, time.Duration) error   { return nil }
func (granting) Release(store.Lease, time.Duration) error { return nil }

// No deadline is recorded later than the elector's own: not later than a lease after
// its request began, less drift and margin, by a single nanosecond. So it is whatever
// the store is made of.
func TestRecordedDeadlinesAreNotLate(t *testing.T) {
	for name, test := range map[string]struct {
		subject string
		of      sim.Topology
		margin  time.Duration
	}{
		"one Redis": {"recount", sim.OneServer, time.Millisecond}, "a majority": {"recount", sim.Quorum, time.Millisecond},
		"blocking": {"redis", sim.OneServer, 0}, "memory": {"memory", sim.OneServer, 0}, "PostgreSQL": {"postgres", sim.OneServer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.subject == "postgres" && !topology.HasPostgres() {
				t.Skip("no PostgreSQL is installed")
			}
			s, err := Open(t.Context(), Options{Redis: "embedded", Postgres: func(subject string) bool { return subject == "postgres" }})
			if err != nil {
				t.Fatal(err)
			}
			p := plan(2)
			p.Subject, p.Topology, p.Quiet = test.subject, test.of, 2*time.Second
			latest, beliefs := time.Duration(-1<<63), 0
			usable := p.Timings.Lease - p.Timings.Lease/100 - test.margin
			for range 20 { // runs of a busy machine show one belief each
				h, err := s.Run(t.Context(), p, "")
				if err != nil {
					t.Fatal(errors.Join(err, s.Close()))
				}
				for _, length := range lengths(h) {
					latest = max(latest, length-usable)
					beliefs++
				}
				if beliefs >= 5 {
					break
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if beliefs < 5 || latest > 0 || latest < -p.Timings.Lease/8 {
				t.Errorf("of %d beliefs the latest ends %v after its request's last moment", beliefs, latest)
			}
			t.Logf("%d beliefs, the latest ends %v before it had to", beliefs, -latest)
		})
	}
}

// lengths are how long each belief was to last from the request on that it is owed
// to.
func lengths(h *history.History) (all []time.Duration) {
	began := map[string]time.Duration{}
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Invoke && e.Call.OnLease() && e.Call != history.Observe:
			began[e.Node] = e.At
		case e.Until != nil:
			all = append(all, *e.Until-began[e.Node])
		}
	}
	return all
}
