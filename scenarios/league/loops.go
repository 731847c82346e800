package league

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// loops are electors in blocking style, as one writes them with a Redis client
// and a loop.
func loops() []Mutant {
	commands := func(wrap func(bare) sim.Store) virtual.Subject {
		return blocking(loop{store: func(h sim.Host) sim.Store { return wrap(bare{h}) }})
	}
	return []Mutant{
		{
			Name: "check-then-set", Where: Blocking, What: "EXISTS and then SET: between the two somebody else may do the same",
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease},
			Subject: commands(func(b bare) sim.Store { return checkThenSet{b} }),
		}, {
			Name: "number-before-lock", Where: Blocking, What: "INCR and then SET NX: who draws its token first may get the lease later",
			Breaks:  []checker.Promise{checker.TokensIncrease},
			Subject: blocking(loop{unrecorded: true, store: func(h sim.Host) sim.Store { return numberBeforeLock{bare{h}} }}),
		}, {
			Name: "compare-then-renew", Where: Blocking, What: "GET, compare, and then PEXPIRE: the lease may have become another's between the two",
			Breaks:  []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: commands(func(b bare) sim.Store { return compareThenRenew{b} }),
		}, {
			Name: "expire-after-set", Where: Blocking, What: "SET NX and then PEXPIRE: whoever does not come to the second leaves a lease without an end",
			Breaks:  []checker.Promise{checker.LeaderReturns, checker.LeaseLinearizable},
			Subject: commands(func(b bare) sim.Store { return expireAfterSet{b} }),
		}, {
			Name: "error-is-lock", Where: Blocking, What: "the error of SET NX is not looked at: only a plain no counts as a no",
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease},
			Subject: commands(func(b bare) sim.Store { return errorIsLock{b} }),
		}, {
			Name: "own-name-is-nonce", Where: Blocking, What: "the nonce is the candidate's name: after a restart it finds the lease of its own dead process and goes on with its token",
			Breaks:  []checker.Promise{checker.TokensIncrease},
			Subject: blocking(loop{nonce: func(h sim.Host, _ uint64) string { return h.Settings().Node }}),
		}, {
			Name: "leads-until-told", Where: Blocking, What: "a leader believes until it notices the opposite when it wakes up",
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LossHeeded},
			Subject: blocking(loop{deadline: func(sim.Host, time.Duration) time.Duration { return sim.Forever }}),
		},
	}
}

// bare is a store made of plain commands: there is no script of the production
// elector's and so no record of the store's own. It draws its token when it has
// the lease.
type bare struct{ sim.Host }

func (b bare) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	got, err := b.set(a, timeout, "NX")
	if err != nil {
		return store.Grant{}, err
	}
	if !got {
		return store.Grant{}, b.busy(a, timeout)
	}
	return b.count(timeout)
}

// What a lease's holder does to it, in one step, if it is still its own.
const (
	renewOwn   = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
	releaseOwn = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"
)

func (b bare) Renew(l store.Lease, timeout time.Duration) error {
	return b.own(timeout, renewOwn, l.Nonce, strconv.FormatInt(l.TTL.Milliseconds(), 10))
}

func (b bare) Release(l store.Lease, timeout time.Duration) error {
	return b.own(timeout, releaseOwn, l.Nonce)
}

func (b bare) own(timeout time.Duration, script string, args ...string) error {
	done, err := b.Do(timeout, append([]string{"EVAL", script, "1", b.LeaseKey()}, args...)...)
	if err == nil && done != int64(1) {
		err = store.ErrNotHeld
	}
	return err
}

// set writes the lease and tells whether it did.
func (b bare) set(a store.Attempt, timeout time.Duration, more ...string) (bool, error) {
	args := []string{"SET", b.LeaseKey(), a.Nonce, "PX", strconv.FormatInt(a.TTL.Milliseconds(), 10)}
	reply, err := b.Do(timeout, append(args, more...)...)
	return reply != nil, err
}

// count draws a token.
func (b bare) count(timeout time.Duration) (store.Grant, error) {
	reply, err := b.Do(timeout, "INCR", b.LeaseKey()+":count")
	n, _ := reply.(int64)
	return store.Grant{Token: uint64(max(n, 0))}, err
}

// busy gives a lease that does not end by itself an end, and tells that
// somebody has it.
func (b bare) busy(a store.Attempt, timeout time.Duration) error {
	if _, err := b.Do(timeout, "PEXPIRE", b.LeaseKey(), strconv.FormatInt(a.TTL.Milliseconds(), 10), "NX"); err != nil {
		return err
	}
	return &elector.HeldError{}
}

// numberBeforeLock draws a token and then asks for the lease.
type numberBeforeLock struct{ bare }

func (s numberBeforeLock) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	grant, err := s.count(timeout)
	if err != nil {
		return grant, err
	}
	got, err := s.set(a, timeout, "NX")
	if err == nil && !got {
		err = s.busy(a, timeout)
	}
	return grant, err
}

// checkThenSet looks whether the lease is free and then takes it.
type checkThenSet struct{ bare }

func (s checkThenSet) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	found, err := s.Do(timeout, "EXISTS", s.LeaseKey())
	switch {
	case err != nil:
		return store.Grant{}, err
	case found != int64(0):
		return store.Grant{}, s.busy(a, timeout)
	}
	if _, err := s.set(a, timeout); err != nil {
		return store.Grant{}, err
	}
	return s.count(timeout)
}

// expireAfterSet takes the lease and then gives it an end.
type expireAfterSet struct{ bare }

func (s expireAfterSet) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	got, err := s.Do(timeout, "SET", s.LeaseKey(), a.Nonce, "NX")
	if err != nil {
		return store.Grant{}, err
	}
	if got == nil {
		return store.Grant{}, &elector.HeldError{}
	}
	if _, err := s.Do(timeout, "PEXPIRE", s.LeaseKey(), strconv.FormatInt(a.TTL.Milliseconds(), 10)); err != nil {
		return store.Grant{}, err
	}
	return s.count(timeout)
}

// errorIsLock believes that it got the lease unless it was told that it did
// not.
type errorIsLock struct{ bare }

func (s errorIsLock) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	if got, err := s.set(a, timeout, "NX"); err == nil && !got {
		return store.Grant{}, s.busy(a, timeout)
	}
	return s.count(timeout)
}

// compareThenRenew compares, and then renews or releases.
type compareThenRenew struct{ bare }

func (s compareThenRenew) Renew(l store.Lease, timeout time.Duration) error {
	if err := s.compare(l, timeout); err != nil {
		return err
	}
	_, err := s.Do(timeout, "PEXPIRE", s.LeaseKey(), strconv.FormatInt(l.TTL.Milliseconds(), 10))
	return err
}

func (s compareThenRenew) Release(l store.Lease, timeout time.Duration) error {
	if err := s.compare(l, timeout); err != nil {
		return err
	}
	_, err := s.Do(timeout, "DEL", s.LeaseKey())
	return err
}

func (s compareThenRenew) compare(l store.Lease, timeout time.Duration) error {
	value, err := s.Do(timeout, "GET", s.LeaseKey())
	if err == nil && value != l.Nonce {
		err = store.ErrNotHeld
	}
	return err
}
