package documented

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Honua is the elector of the honua document: SET NX EX to acquire, scripts
// that compare the owner to renew and to release. A background service keeps
// the flag IsLeader. Lease 30 s, renewal and attempts every 10 s: a third of
// the lease. An instance is {MachineName}_{ProcessId}_{Guid}.
//
// Left open, and chosen: a renewal that fails with an error is logged and ends
// the leading, as one that is refused does. A command may take 5 s, the default
// of the document's client: a sixth of the lease. IsLeader has no deadline: it
// is what the last round made it.
func Honua(h sim.Host) error {
	s := h.Settings()
	e := &honua{host: h, isLeader: flag{host: h}, key: h.LeaseKey(), lease: s.Lease, ttl: timesOf(s.Lease)}
	e.id = fmt.Sprintf("%s_%d_%08x%08x", s.Node, h.Random(1<<15), h.Random(1<<31), h.Random(1<<31))
	for !h.Stopping() {
		e.round()
		h.Sleep(s.Lease / 3)
	}
	if e.isLeader.up {
		e.isLeader.lower(history.Resigned)
		_, _ = e.do("EVAL", honuaRelease, "1", e.key, e.id) // the service is stopping: there is no second try
	}
	return nil
}

const honuaRelease = `
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end`

type honua struct {
	host     sim.Host
	isLeader flag
	key      string
	id       string
	lease    time.Duration
	ttl      times
}

func (e *honua) do(args ...string) (any, error) { return e.host.Do(e.lease/6, args...) }

// round is one round of the background service.
func (e *honua) round() {
	if !e.isLeader.up {
		if done(e.do("SET", e.key, e.id, "NX", e.ttl.option, e.ttl.value)) {
			e.isLeader.raise(0)
		}
		return
	}
	renewed, err := e.do("EVAL", e.renewal(), "1", e.key, e.id, e.ttl.value)
	switch {
	case err != nil:
		e.isLeader.lower(history.Failed)
	case !done(renewed, nil):
		e.isLeader.lower(history.Superseded)
	}
}

func (e *honua) renewal() string {
	command := "expire"
	if e.ttl.expire != "EXPIRE" {
		command = "pexpire" // the document's script, for a lease that is no whole number of seconds
	}
	return `
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('` + command + `', KEYS[1], ARGV[2])
else
    return 0
end`
}
