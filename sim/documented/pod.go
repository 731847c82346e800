package documented

import (
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Pod is the first elector of the pod document: SET NX EX to acquire, SET XX EX
// to renew, which does not ask whose lease it is, and nothing to release. The
// leader alone appends to a log file, as Host.Work does.
//
// Left open, and chosen: the lease is 5 s and each round is a second later, a
// fifth of the lease. Whether it leads is a variable of its own, and not what
// GET answers. It is named after its pod, and so is the next process of the
// same pod. What fails, or answers that there is no key, ends its leading. The
// client has no time-out of its own, as that of C has none by default.
func Pod(h sim.Host) error {
	e := newPod(h)
	for !h.Stopping() {
		if e.leads.up {
			e.keep(e.do("SET", e.key, e.name, "XX", e.ttl.option, e.ttl.value))
		} else {
			e.compete()
		}
		h.Sleep(e.lease / 5)
	}
	e.leads.lower(history.Stopped)
	return nil
}
