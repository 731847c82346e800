package redisstore

import (
	"testing"
	"time"

	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/internal/topology"
)

// The store keeps the contract of every store, with and without an audit, and with
// keys that stay or expire.
func TestConformance(t *testing.T) {
	for _, o := range []Options{{}, {Audit: true, Unprotected: true}, {Audit: true, Expire: time.Hour}} {
		eachServer(t, func(t *testing.T, r *server) {
			for _, c := range storetest.Cases() {
				t.Run(c.Name, func(t *testing.T) {
					r.do(t, "FLUSHALL")
					s := r.open(t, o)
					t.Cleanup(func() { tellAudit(t, r, s) })
					c.Run(t, s, func(d time.Duration) { r.advance(t, d) })
				})
			}
		})
	}
}

// tellAudit shows what the server executed when, if the case failed: a lease
// that ended because this machine was too slow looks like one that a store
// lost.
func tellAudit(t *testing.T, r *server, s *Store) {
	t.Helper()
	if !t.Failed() || !s.audit {
		return
	}
	entries, err := s.DrainAudit(r.ctx, "storetest")
	t.Logf("the server's audit (%v):", err)
	for _, e := range entries {
		t.Logf("%s %s %s token %d applied %v", e.Time.Format("05.000000"), e.Call, e.Nonce, e.Token, e.Applied)
	}
}

// advance lets the server's time pass without waiting for it: on a slow
// machine a real wait lasts longer than it should, and leases end in it.
func (r *server) advance(t *testing.T, d time.Duration) {
	t.Helper()
	r.do(t, "EVAL", topology.Shorten, 0, max(d.Milliseconds(), 1))
}
