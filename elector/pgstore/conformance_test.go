package pgstore

import (
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
)

// variant is a way to open a store on a database.
type variant struct {
	name string
	open func(t testing.TB, d *database) store.Store
}

// variants are both stores, the second one with either choice.
var variants = []variant{
	{"rows", func(t testing.TB, d *database) store.Store { return d.store(t, Options{}) }},
	{"sessions", func(t testing.TB, d *database) store.Store { return d.sessions(t, Options{}) }},
	{"dead sessions are over", func(t testing.TB, d *database) store.Store {
		return d.sessions(t, Options{TakeOverDeadSessions: true})
	}},
}

func eachVariant(t *testing.T, test func(t *testing.T, v variant)) {
	t.Helper()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { test(t, v) })
	}
}

// The stores keep the contract of every store.
func TestConformance(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		for _, c := range storetest.Cases() {
			t.Run(c.Name, func(t *testing.T) {
				d := open(t)
				c.Run(t, v.open(t, d), func(by time.Duration) { d.advance(t, by) })
			})
		}
	})
}

// advance lets the server's time pass without waiting for it: on a slow
// machine a real wait lasts longer than it should, and leases end in it. It
// does to rows what the passing of time does, and to sessions what the
// server's timer does then; TestServerEndsSilentSessions waits for that one.
func (d *database) advance(t testing.TB, by time.Duration) {
	t.Helper()
	d.do(t, "update recount_lease set until = until - $1::bigint * interval '1 microsecond', renewed = renewed - $1::bigint * interval '1 microsecond'", by.Microseconds())
	d.do(t, "update recount_lease_candidate set seen = seen - $1::bigint * interval '1 microsecond'", by.Microseconds())
	d.do(t, `select pg_terminate_backend(split_part(session, '-', 1)::int, 5000) from recount_lease
		where session is not null and until <= clock_timestamp()`)
}
