package fuzz_test

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// The bugs in this file are in electors in blocking style: those that one
// writes with a Redis client and a loop.

// loop is an elector in blocking style. Without a bug in its store, and with a
// deadline, it keeps every promise: see TestPlainLoop.
type loop struct {
	store    func(sim.Host) sim.Store // nil: the production elector's
	nonce    func(h sim.Host, n uint64) string
	deadline func(h sim.Host, sent time.Duration) time.Duration

	unrecorded bool // nothing but its beliefs is recorded
}

// holding is a term of a loop.
type holding struct {
	elector.Lease
	until time.Duration // as the loop believes
	stop  func()
}

func (l loop) run(h sim.Host) error {
	store := h.Store()
	if l.store != nil {
		store = l.store(h)
	}
	if !l.unrecorded {
		store = h.Recorded(store)
	}
	number := uint64(0)
	for !h.Stopping() {
		term := l.campaign(h, store, &number)
		if term == nil {
			continue
		}
		why := l.reign(h, store, term, &number)
		h.Deposed(term.Token, why)
		term.stop()
		if why != history.Superseded {
			number++
			term.Request = number
			_ = store.Release(term.Lease, requestTimeout(h)) // it ends by itself if that fails
		}
	}
	return nil
}

func requestTimeout(h sim.Host) time.Duration { return h.Settings().Renew / 2 }

// campaign makes one attempt to get the lease: it repeats it until the outcome
// is known.
func (l loop) campaign(h sim.Host, store sim.Store, number *uint64) *holding {
	set := h.Settings()
	lease := elector.Lease{Election: set.Election, ID: set.Node, TTL: set.Lease}
	if l.nonce != nil {
		lease.Nonce = l.nonce(h, *number)
	} else {
		lease.Nonce = fmt.Sprintf("%s-%d-%d", set.Node, h.Now(), *number)
	}
	for !h.Stopping() {
		sent := h.Now()
		*number++
		lease.Request = *number
		grant, err := store.Acquire(elector.Attempt{
			Election: lease.Election, ID: lease.ID, Nonce: lease.Nonce, Request: lease.Request, TTL: lease.TTL,
		}, requestTimeout(h))
		var held *elector.HeldError
		switch {
		case errors.As(err, &held):
			h.Sleep(set.Retry)
			return nil
		case err != nil:
			h.Sleep(set.Retry)
		default:
			lease.Token = grant.Token
			term := &holding{Lease: lease, until: l.believed(h, sent)}
			if h.Now() >= term.until {
				return nil // too late to be of use
			}
			h.Elected(lease.Token, term.until)
			term.stop = h.Work(lease.Token)
			return term
		}
	}
	return nil
}

// believed is until when a lease is believed in that was asked for then.
func (l loop) believed(h sim.Host, sent time.Duration) time.Duration {
	if l.deadline != nil {
		return l.deadline(h, sent)
	}
	set := h.Settings()
	return sent + set.Lease - time.Duration(set.Drift*float64(set.Lease)) - 2*time.Millisecond
}

// reign renews the lease for as long as it can, and says why it ended.
func (l loop) reign(h sim.Host, store sim.Store, term *holding, number *uint64) history.Why {
	set := h.Settings()
	next := h.Now() + set.Renew
	for {
		h.Sleep(min(next, term.until) - h.Now())
		sent := h.Now()
		switch {
		case h.Stopping():
			return history.Stopped
		case sent >= term.until:
			return history.Expired
		}
		*number++
		term.Request = *number
		err := store.Renew(term.Lease, min(requestTimeout(h), term.until-sent))
		switch now := h.Now(); {
		case errors.Is(err, elector.ErrNotHeld):
			return history.Superseded
		case now >= term.until:
			return history.Expired
		case err != nil:
			next = now + set.Retry
		default:
			next = sent + set.Renew
			term.until = l.believed(h, sent)
			h.Extended(term.Token, term.until)
		}
	}
}

func blocking(l loop) virtual.Subject { return virtual.Subject{Blocking: l.run} }

func blockingBugs() []bug {
	commands := func(wrap func(bare) sim.Store) virtual.Subject {
		return blocking(loop{store: func(h sim.Host) sim.Store { return wrap(bare{h}) }})
	}
	return []bug{
		{
			name: "check-then-set", where: inLoop, what: "EXISTS and then SET: between the two somebody else may do the same",
			breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease},
			subject: commands(func(b bare) sim.Store { return checkThenSet{b} }),
		}, {
			name: "number-before-lock", where: inLoop, what: "INCR and then SET NX: who draws its token first may get the lease later",
			unseen:  "caught within some thousand schedules, but the moment between two commands is missed as soon as anything else moves: its schedule is mostly not shrunk to three faults",
			breaks:  []checker.Promise{checker.TokensIncrease},
			subject: blocking(loop{unrecorded: true, store: func(h sim.Host) sim.Store { return numberBeforeLock{bare{h}} }}),
		}, {
			name: "compare-then-renew", where: inLoop, what: "GET, compare, and then PEXPIRE: the lease may have become another's between the two",
			unseen:  "caught within some hundred schedules, but a pause between two commands is missed as soon as anything else moves: its schedule is not shrunk to three faults",
			breaks:  []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: commands(func(b bare) sim.Store { return b }),
		}, {
			name: "error-is-lock", where: inLoop, what: "the error of SET NX is not looked at: only a plain no counts as a no",
			breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease},
			subject: commands(func(b bare) sim.Store { return errorIsLock{b} }),
		}, {
			name: "own-name-is-nonce", where: inLoop, what: "the nonce is the candidate's name: after a restart it finds the lease of its own dead process and goes on with its token",
			breaks:  []checker.Promise{checker.TokensIncrease},
			subject: blocking(loop{nonce: func(h sim.Host, _ uint64) string { return h.Settings().Node }}),
		}, {
			name: "leads-until-told", where: inLoop, what: "a leader believes until it notices the opposite when it wakes up",
			breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LossHeeded},
			subject: blocking(loop{deadline: func(sim.Host, time.Duration) time.Duration { return sim.Forever }}),
		},
	}
}

// bare is a store made of single commands: there is no script and so no record
// of the store's own. It draws its token when it has the lease, and compares
// before it renews or releases.
type bare struct{ sim.Host }

func (b bare) Acquire(a elector.Attempt, timeout time.Duration) (elector.Grant, error) {
	got, err := b.set(a, timeout, "NX")
	if err != nil {
		return elector.Grant{}, err
	}
	if !got {
		return elector.Grant{}, b.busy(a, timeout)
	}
	return b.count(timeout)
}

func (b bare) Renew(l elector.Lease, timeout time.Duration) error {
	if err := b.compare(l, timeout); err != nil {
		return err
	}
	_, err := b.Do(timeout, "PEXPIRE", b.LeaseKey(), strconv.FormatInt(l.TTL.Milliseconds(), 10))
	return err
}

func (b bare) Release(l elector.Lease, timeout time.Duration) error {
	if err := b.compare(l, timeout); err != nil {
		return err
	}
	_, err := b.Do(timeout, "DEL", b.LeaseKey())
	return err
}

func (b bare) compare(l elector.Lease, timeout time.Duration) error {
	value, err := b.Do(timeout, "GET", b.LeaseKey())
	if err == nil && value != l.Nonce {
		err = elector.ErrNotHeld
	}
	return err
}

// set writes the lease and tells whether it did.
func (b bare) set(a elector.Attempt, timeout time.Duration, more ...string) (bool, error) {
	args := []string{"SET", b.LeaseKey(), a.Nonce, "PX", strconv.FormatInt(a.TTL.Milliseconds(), 10)}
	reply, err := b.Do(timeout, append(args, more...)...)
	return reply != nil, err
}

// count draws a token.
func (b bare) count(timeout time.Duration) (elector.Grant, error) {
	reply, err := b.Do(timeout, "INCR", b.LeaseKey()+":count")
	n, _ := reply.(int64)
	return elector.Grant{Token: uint64(max(n, 0))}, err
}

// busy gives a lease that does not end by itself an end, and tells that
// somebody has it.
func (b bare) busy(a elector.Attempt, timeout time.Duration) error {
	if _, err := b.Do(timeout, "PEXPIRE", b.LeaseKey(), strconv.FormatInt(a.TTL.Milliseconds(), 10), "NX"); err != nil {
		return err
	}
	return &elector.HeldError{}
}

// numberBeforeLock draws a token and then asks for the lease.
type numberBeforeLock struct{ bare }

func (s numberBeforeLock) Acquire(a elector.Attempt, timeout time.Duration) (elector.Grant, error) {
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

func (s checkThenSet) Acquire(a elector.Attempt, timeout time.Duration) (elector.Grant, error) {
	found, err := s.Do(timeout, "EXISTS", s.LeaseKey())
	switch {
	case err != nil:
		return elector.Grant{}, err
	case found != int64(0):
		return elector.Grant{}, s.busy(a, timeout)
	}
	if _, err := s.set(a, timeout); err != nil {
		return elector.Grant{}, err
	}
	return s.count(timeout)
}

// errorIsLock believes that it got the lease unless it was told that it did
// not.
type errorIsLock struct{ bare }

func (s errorIsLock) Acquire(a elector.Attempt, timeout time.Duration) (elector.Grant, error) {
	if got, err := s.set(a, timeout, "NX"); err == nil && !got {
		return elector.Grant{}, s.busy(a, timeout)
	}
	return s.count(timeout)
}
