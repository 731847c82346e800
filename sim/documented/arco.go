package documented

import (
	"errors"
	"strconv"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// ArcoMemory is the elector of the arco document on the store that it keeps in
// memory, "for testing, single-process only": each process has its own here,
// and so has the next process of the same candidate.
//
// What Arco leaves open is chosen as ArcoPostgres does.
func ArcoMemory(h sim.Host) error {
	return arco(h, h.Recorded(&arcoMemory{now: h.Now}), h.Settings().Lease)
}

// ArcoPostgres is the elector of the arco document on PostgreSQL, with
// "row-level locking": a row for each election, which each operation changes by
// one statement, and in which the server's clock says when the lease is over.
// The result of try_acquire carries a fencing token, which the row counts, and
// which every write of the leader carries. Lease 30 s, heartbeat every 10 s: a
// third of the lease.
//
// Left open, and chosen: the scheduler asks try_acquire as often as the leader
// renews. It leads from a result that says so until a renewal says that it has
// lost the lease, or fails: it keeps no deadline of its own. The statements, for
// which see Host.Postgres. The driver has no time-out for a statement.
func ArcoPostgres(h sim.Host) error {
	rows, err := h.Postgres()
	if err != nil {
		return err
	}
	return arco(h, h.Recorded(rows), patient)
}

// arco is the scheduler: what becomes of the three functions of the trait.
func arco(h sim.Host, st sim.Store, timeout time.Duration) error {
	s := h.Settings()
	me, leads, mine := own(h), flag{host: h}, store.Lease{}
	for n := uint64(1); !h.Stopping(); n++ {
		if leads.up {
			mine.Request = n
			if err := st.Renew(mine, timeout); err != nil {
				leads.lower(lossOf(err))
			}
		} else {
			a := store.Attempt{Election: s.Election, ID: me, Nonce: me + "-" + strconv.FormatUint(n, 10), Request: n, TTL: s.Lease}
			if grant, err := st.Acquire(a, timeout); err == nil {
				mine = store.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: grant.Token, TTL: a.TTL}
				leads.raise(grant.Token)
			}
		}
		h.Sleep(s.Lease / 3)
	}
	if leads.up {
		leads.lower(history.Resigned)
		mine.Request = 0
		_ = st.Release(mine, timeout) // it stops, whatever comes of it
	}
	return nil
}

// lossOf is why a renewal that failed ends the leading.
func lossOf(err error) history.Why {
	if errors.Is(err, store.ErrNotHeld) {
		return history.Superseded
	}
	return history.Failed
}

// arcoMemory is the store of one process.
type arcoMemory struct {
	now    func() time.Duration
	holder string
	token  uint64
	until  time.Duration
}

// Acquire implements sim.Store.
func (m *arcoMemory) Acquire(a store.Attempt, _ time.Duration) (store.Grant, error) {
	if m.now() < m.until {
		return store.Grant{}, &elector.HeldError{Holder: m.holder, Token: m.token, Remaining: m.until - m.now()}
	}
	m.token++
	m.holder, m.until = a.ID, m.now()+a.TTL
	return store.Grant{Token: m.token}, nil
}

// Renew implements sim.Store.
func (m *arcoMemory) Renew(l store.Lease, _ time.Duration) error { return m.change(l, l.TTL) }

// Release implements sim.Store.
func (m *arcoMemory) Release(l store.Lease, _ time.Duration) error { return m.change(l, 0) }

func (m *arcoMemory) change(l store.Lease, lasts time.Duration) error {
	if m.token != l.Token || m.now() >= m.until {
		return store.ErrNotHeld
	}
	m.until = m.now() + lasts
	return nil
}
