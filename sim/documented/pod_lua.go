package documented

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// PodLua is the last elector of the pod document: it acquires as the first one
// does, and renews by a script that does so only for the owner, when 80 % of
// the lease are over. It does not exit when it has lost the lease, and resumes
// when it is elected again. Nothing releases the lease.
//
// Left open, and chosen: the script's text, from its words ("SET EX with Lua
// transaction"); and what the first one leaves open, as there.
func PodLua(h sim.Host) error {
	e := newPod(h)
	renew := `
if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("SET", KEYS[1], ARGV[1], "` + e.ttl.option + `", ARGV[2])
else
    return 0
end`
	for !h.Stopping() {
		if e.leads.up {
			e.keep(e.do("EVAL", renew, "1", e.key, e.name, e.ttl.value))
		} else {
			e.compete()
		}
		if e.leads.up {
			h.Sleep(e.lease * 4 / 5)
		} else {
			h.Sleep(e.lease / 5)
		}
	}
	e.leads.lower(history.Stopped)
	return nil
}

// pod is what both electors of the document are made of.
type pod struct {
	host  sim.Host
	leads flag
	key   string
	name  string
	lease time.Duration
	ttl   times
}

func newPod(h sim.Host) *pod {
	s := h.Settings()
	return &pod{host: h, leads: flag{host: h}, key: h.LeaseKey(), name: s.Node, lease: s.Lease, ttl: timesOf(s.Lease)}
}

func (e *pod) do(args ...string) (any, error) { return e.host.Do(patient, args...) }

// compete takes the lease if it is free, and looks who has it if it is not.
func (e *pod) compete() {
	if done(e.do("SET", e.key, e.name, "NX", e.ttl.option, e.ttl.value)) {
		e.leads.raise(0)
		return
	}
	_, _ = e.do("GET", e.key) // it is logged, and decides nothing
}

// keep goes on leading if the renewal succeeded.
func (e *pod) keep(reply any, err error) {
	switch {
	case err != nil:
		e.leads.lower(history.Failed)
	case !done(reply, nil):
		e.leads.lower(history.Superseded)
	}
}
