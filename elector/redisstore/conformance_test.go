package redisstore

import (
	"testing"
	"time"

	"github.com/recount-io/recount/elector/storetest"
)

// The store keeps the contract of every store, with and without an audit.
func TestConformance(t *testing.T) {
	for _, o := range []Options{{}, {Audit: true, SeedTokens: true}} {
		eachServer(t, func(t *testing.T, r *server) {
			for _, c := range storetest.Cases() {
				t.Run(c.Name, func(t *testing.T) {
					r.do(t, "FLUSHALL")
					c.Run(t, r.open(t, o), func(d time.Duration) { r.advance(t, d) })
				})
			}
		})
	}
}

// advance lets the server's time pass: a real one is asked for what does not
// come, and answers when the time is over by its own clock.
func (r *server) advance(t *testing.T, d time.Duration) {
	t.Helper()
	if r.mini != nil {
		r.mini.FastForward(d)
		return
	}
	r.do(t, "BLPOP", "what does not come", d.Seconds())
}
