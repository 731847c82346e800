package league

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// commands are electors in blocking style that end or renew a lease by one plain
// command.
func commands() []Mutant {
	plain := func(wrap func(bare) sim.Store) virtual.Subject {
		return blocking(loop{store: func(h sim.Host) sim.Store { return wrap(bare{h}) }})
	}
	breaks := []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader}
	return []Mutant{
		{
			Name: "renews-by-set-xx", Where: Blocking, What: "SET XX renews: it looks whether there is a lease, and not whose",
			Breaks: breaks, Subject: plain(func(b bare) sim.Store { return setExisting{b} }),
		}, {
			Name: "releases-by-del", Where: Blocking, What: "DEL gives the lease back, or whoever's it is by then",
			Breaks: breaks, Subject: plain(func(b bare) sim.Store { return plainDelete{b} }),
		},
	}
}

// setExisting renews by writing the lease anew, if there is one.
type setExisting struct{ bare }

func (s setExisting) Renew(l store.Lease, timeout time.Duration) error {
	reply, err := s.Do(timeout, "SET", s.LeaseKey(), l.Nonce, "PX", strconv.FormatInt(l.TTL.Milliseconds(), 10), "XX")
	if err == nil && reply == nil {
		err = store.ErrNotHeld
	}
	return err
}

// plainDelete gives a lease back by deleting it.
type plainDelete struct{ bare }

func (s plainDelete) Release(_ store.Lease, timeout time.Duration) error {
	done, err := s.Do(timeout, "DEL", s.LeaseKey())
	if err == nil && done != int64(1) {
		err = store.ErrNotHeld
	}
	return err
}
