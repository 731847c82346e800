package virtual

import (
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

// rows is the election's row in PostgreSQL, beside the store, for electors that
// keep their lease there. Each call is one statement, which locks the row: they
// take effect one after the other. No fault hits the server; those of the
// network are on the way to it as well.
type rows struct {
	holder string
	token  uint64
	until  time.Duration // by the server's clock
}

// newRows is the place of that server.
func newRows(r *run) *serverStore {
	return &serverStore{run: r, name: "PostgreSQL", alone: true, rows: &rows{}}
}

// execute carries out a statement at the given time.
func (t *rows) execute(now time.Duration, c *command) machine.Input {
	if c.call == history.Acquire {
		if now < t.until {
			return machine.Input{Result: machine.Held}
		}
		t.token++
		t.holder, t.until = c.id, now+c.ttl
		return machine.Input{Result: machine.Done, Token: t.token}
	}
	if t.holder != c.id || t.token != c.token || now >= t.until {
		return machine.Input{Result: machine.NotHeld}
	}
	t.until = now
	if c.call == history.Renew {
		t.until += c.ttl
	}
	return machine.Input{Result: machine.Done}
}

// Postgres implements sim.Host.
func (h *host) Postgres() (sim.Store, error) {
	h.alive()
	if h.node.rows == nil {
		h.node.rows = &client{run: h.node.run, store: h.node.run.rows, node: h.node, life: h.node.life}
	}
	return hostRows{h}, nil
}

// hostRows is the row as an elector in blocking style sees it.
type hostRows struct{ *host }

// Acquire implements sim.Store.
func (s hostRows) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	s.askOf(s.node.rows, command{call: history.Acquire, id: a.ID, ttl: a.TTL}, timeout)
	if s.outcome.input.Result == machine.Held {
		return store.Grant{}, &elector.HeldError{}
	}
	return store.Grant{Token: s.outcome.input.Token}, s.failure()
}

// Renew implements sim.Store.
func (s hostRows) Renew(l store.Lease, timeout time.Duration) error {
	s.askOf(s.node.rows, command{call: history.Renew, id: l.ID, token: l.Token, ttl: l.TTL}, timeout)
	return s.failure()
}

// Release implements sim.Store.
func (s hostRows) Release(l store.Lease, timeout time.Duration) error {
	s.askOf(s.node.rows, command{call: history.Release, id: l.ID, token: l.Token}, timeout)
	return s.failure()
}
