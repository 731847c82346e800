package virtual

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// bareElector is a lock as one finds it everywhere: SET NX PX, and a token from
// a counter.
func bareElector(h sim.Host) error {
	set := h.Settings()
	timeout := set.Renew / 2
	ttl := milliseconds(set.Lease)
	for !h.Stopping() {
		begun := h.Now()
		if won, err := h.Do(timeout, "SET", h.LeaseKey(), set.Node, "NX", "PX", ttl); err != nil || won == nil {
			h.Sleep(set.Retry)
			continue
		}
		count, err := h.Do(timeout, "INCR", "count")
		token, ok := count.(int64)
		if err != nil || !ok {
			h.Sleep(set.Retry)
			continue
		}
		h.Elected(uint64(token), begun+set.Lease)
		stop := h.Work(uint64(token))
		why := bareLead(h, uint64(token), begun+set.Lease, timeout)
		h.Deposed(uint64(token), why)
		stop()
		if why == history.Stopped {
			_, _ = h.Do(timeout, "DEL", h.LeaseKey())
		}
	}
	return nil
}

// bareLead renews until that does not work.
func bareLead(h sim.Host, token uint64, until, timeout time.Duration) history.Why {
	set := h.Settings()
	for {
		h.Sleep(set.Renew)
		begun := h.Now()
		switch {
		case h.Stopping():
			return history.Stopped
		case begun >= until:
			return history.Expired
		}
		if one, err := h.Do(timeout, "PEXPIRE", h.LeaseKey(), milliseconds(set.Lease)); err == nil && one == int64(1) {
			until = begun + set.Lease
			h.Extended(token, until)
		}
	}
}
