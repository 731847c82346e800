package documented

import (
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Titan is the elector of the titan document: SET NX EX to acquire, GET and
// then EXPIRE to renew, a script that deletes what is its own to release.
// Lease 30 s, renewal and retry every 10 s: a third of the lease.
//
// Left open, and chosen: an instance id is unique to the process. A renewal
// that fails with an error makes a follower, since "Redis unavailable: all
// instances become followers". The client has no time-out of its own, as that
// of Python has none by default, so a call that nobody answers keeps the flag
// is_leader as it is: it has no deadline. EXPIRE's reply is not looked at, as
// in the document's code. A worker looks at is_leader before each write.
func Titan(h sim.Host) error {
	e := &titan{host: h, leads: flag{host: h}, key: h.LeaseKey(), id: own(h), ttl: timesOf(h.Settings().Lease)}
	for !h.Stopping() {
		e.turn()
		h.Sleep(h.Settings().Lease / 3)
	}
	if e.leads.up {
		e.leads.lower(history.Resigned)
		e.release()
	}
	return nil
}

type titan struct {
	host  sim.Host
	leads flag // is_leader
	key   string
	id    string
	ttl   times
}

// turn is one round of the loop that acquires or renews.
func (e *titan) turn() {
	switch {
	case !e.leads.up && e.acquire():
		e.leads.raise(0)
	case e.leads.up:
		if mine, err := e.renew(); err != nil {
			e.leads.lower(history.Failed)
		} else if !mine {
			e.leads.lower(history.Superseded)
		}
	}
}

func (e *titan) do(args ...string) (any, error) { return e.host.Do(patient, args...) }

func (e *titan) acquire() bool {
	return done(e.do("SET", e.key, e.id, "NX", e.ttl.option, e.ttl.value))
}

// renew reports whether the lock is its own, which it was when it looked.
func (e *titan) renew() (bool, error) {
	current, err := e.do("GET", e.key)
	if err != nil || current != e.id {
		return false, err
	}
	_, err = e.do(e.ttl.expire, e.key, e.ttl.value)
	return err == nil, err
}

const titanRelease = `
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
else
    return 0
end
`

// release releases the lock if it is its own. Nobody is left to repeat it.
func (e *titan) release() { _, _ = e.do("EVAL", titanRelease, "1", e.key, e.id) }
