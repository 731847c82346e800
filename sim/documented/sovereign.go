package documented

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Sovereign is the elector of the sovereign document. After a random delay of
// up to 10 s, a task looks every 15 s: without a leader it attempts to become
// it (SET NX EX, then GET to verify), as the leader it renews (EXPIRE, which
// does not ask whose key it is), and else it compares the time stamp in the
// leader's heartbeat with its own wall clock. Another task sends the leader's
// heartbeat every 10 s (SETEX). The leader's key lasts 30 s, a heartbeat 35 s.
// Here these are a third, a half, a third, the whole and 7/6 of the lease. It
// stops by DEL, which does not ask either. Keys that have no leader's heartbeat
// in them any more are deleted by the next leader.
//
// Left open, and chosen: the state LEADER lasts, as the document says of a
// partition, whatever the task's commands come to, until EXPIRE finds no key. A
// heartbeat that is not there is stale. An attempt on a stale leader is that of
// the document's code, SET NX, however often it is stale: "forcibly" is said
// of it, but nothing that takes a live key away is shown. The instance's id is
// its configured name, also after a restart. The tasks take turns. A command
// may take 60 s, the default of the document's client.
func Sovereign(h sim.Host) error {
	s := h.Settings()
	e := &sovereign{host: h, leads: flag{host: h}, id: s.Node, lease: s.Lease, key: h.LeaseKey(), heartbeats: h.LeaseKey() + ":heartbeat:"}
	h.Sleep(time.Duration(h.Random(10)) * e.lease / 30)
	election, heartbeat := h.Now(), h.Now()
	for !h.Stopping() {
		if h.Now() >= election {
			e.cycle()
			election += e.lease / 2
		}
		if h.Now() >= heartbeat {
			e.heartbeat()
			heartbeat += e.lease / 3
		}
		h.Sleep(min(election, heartbeat) - h.Now())
	}
	if e.leads.up {
		e.leads.lower(history.Resigned)
		_, _ = e.do("DEL", e.key) // it stops, whatever comes of it
	}
	return nil
}

type sovereign struct {
	host       sim.Host
	leads      flag // state LEADER; CANDIDATE is while attempt runs, else it is FOLLOWER
	id         string
	lease      time.Duration
	key        string
	heartbeats string // prefix of the keys
}

func (e *sovereign) do(args ...string) (any, error) { return e.host.Do(2*e.lease, args...) }

// cycle is a run of the election task.
func (e *sovereign) cycle() {
	ttl := timesOf(e.lease)
	if e.leads.up {
		if there, err := e.do(ttl.expire, e.key, ttl.value); err == nil && there == int64(0) {
			e.leads.lower(history.Expired)
		}
		return
	}
	leader, err := e.do("GET", e.key)
	switch name, found := leader.(string); {
	case err != nil:
	case !found || e.stale(name):
		e.attempt()
	}
}

// stale reports whether the instance's heartbeat is older than its key lasts, as
// this machine's wall clock sees it.
func (e *sovereign) stale(instance string) bool {
	reply, err := e.do("GET", e.heartbeats+instance)
	text, _ := reply.(string)
	stamp, wrong := strconv.ParseInt(text, 10, 64)
	return err == nil && (wrong != nil || e.host.Wall().Milliseconds()-stamp > (e.lease*7/6).Milliseconds())
}

// attempt is attemptElection, with its double verification.
func (e *sovereign) attempt() {
	ttl := timesOf(e.lease)
	if !done(e.do("SET", e.key, e.id, "NX", ttl.option, ttl.value)) {
		return
	}
	if leader, err := e.do("GET", e.key); err != nil || leader != e.id {
		return
	}
	e.leads.raise(0)
	e.clean()
}

// clean deletes stale heartbeats.
func (e *sovereign) clean() {
	keys, err := e.do("KEYS", e.heartbeats+"*")
	list, _ := keys.([]any)
	if err != nil {
		return
	}
	for _, key := range list {
		name, _ := key.(string)
		if e.stale(name[len(e.heartbeats):]) {
			_, _ = e.do("DEL", name)
		}
	}
}

// heartbeat is a run of the heartbeat task.
func (e *sovereign) heartbeat() {
	if e.leads.up {
		ttl := timesOf(e.lease * 7 / 6)
		_, _ = e.do(ttl.setFor, e.heartbeats+e.id, ttl.value, strconv.FormatInt(e.host.Wall().Milliseconds(), 10))
	}
}
