package scenarios_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// canary is an elector with a known bug. A harness that does not catch it
// catches nothing.
type canary struct {
	elector  sim.Elector
	scenario string          // in which it is caught
	breaks   checker.Promise // on this promise
}

// canaries are the same electors in every world.
func canaries() map[string]canary {
	return map[string]canary{
		"canary-renews-unowned": {
			plain{wrap: func(h sim.Host) sim.Store { return unownedRenewal{h.Store(), h} }}.run,
			"pause-leader", checker.LeaseLinearizable,
		},
		"canary-believes-on":  {plain{believesOn: true}.run, "partition-leader", checker.AtMostOneLeader},
		"canary-stands-still": {plain{monotonic: true}.run, "suspend-leader", checker.AtMostOneLeader},
		"canary-reuses-token": {
			plain{wrap: func(h sim.Host) sim.Store { return &oneToken{Store: h.Store()} }}.run,
			"crash-leader", checker.TokensIncrease,
		},
	}
}

// plain is the elector that one writes in an afternoon: it is right but for
// the bug that is put into it.
type plain struct {
	wrap       func(sim.Host) sim.Store
	believesOn bool // the bug: believes until it is told otherwise
	monotonic  bool // the bug: does not know that the machine was suspended
}

// plainTerm is a term of a plain elector.
type plainTerm struct {
	lease store.Lease
	until time.Duration
	stop  func()
}

func (p plain) run(h sim.Host) error {
	store := h.Store()
	if p.wrap != nil {
		store = p.wrap(h)
	}
	store = h.Recorded(store)
	if p.monotonic {
		h.Monotonic()
	}
	var term *plainTerm
	for n := uint64(1); !h.Stopping(); n++ {
		pause := h.Settings().Retry
		if term == nil {
			term = p.campaign(h, store, n)
		} else {
			term = p.keep(h, store, term, n)
		}
		if term != nil {
			pause = h.Settings().Renew
		}
		h.Sleep(pause)
	}
	if term == nil {
		return nil
	}
	p.depose(h, term, history.Resigned)
	return store.Release(term.lease, h.Settings().Renew)
}

// campaign tries once to become the leader.
func (p plain) campaign(h sim.Host, st sim.Store, n uint64) *plainTerm {
	set, sent := h.Settings(), h.Now()
	lease := store.Lease{
		Election: set.Election, ID: set.Node, TTL: set.Lease, Request: n,
		Nonce: fmt.Sprintf("%s-%d-%d", set.Node, sent, n),
	}
	grant, err := st.Acquire(store.Attempt{
		Election: lease.Election, ID: lease.ID, Nonce: lease.Nonce, Request: n, TTL: lease.TTL,
	}, set.Renew/2)
	if err != nil {
		return nil
	}
	lease.Token = grant.Token
	term := &plainTerm{lease: lease, until: p.deadline(set, sent)}
	h.Elected(lease.Token, term.until)
	term.stop = h.Work(lease.Token)
	return term
}

// keep renews the lease and returns nil when the term is over.
func (p plain) keep(h sim.Host, st sim.Store, term *plainTerm, n uint64) *plainTerm {
	set, sent := h.Settings(), h.Now()
	lease := term.lease
	lease.Request = n
	err := st.Renew(lease, set.Renew/2)
	switch {
	case err == nil:
		term.until = p.deadline(set, sent)
		h.Extended(lease.Token, term.until)
		return term
	case errors.Is(err, store.ErrNotHeld):
		p.depose(h, term, history.Superseded)
		return nil
	case h.Now() >= term.until:
		p.depose(h, term, history.Expired)
		return nil
	default:
		return term
	}
}

func (p plain) deadline(set sim.Settings, sent time.Duration) time.Duration {
	if p.believesOn {
		return sim.Forever
	}
	return sent + time.Duration(float64(set.Lease)*(1-set.Drift)) - time.Millisecond
}

func (p plain) depose(h sim.Host, term *plainTerm, why history.Why) {
	h.Deposed(term.lease.Token, why)
	term.stop()
}

// unownedRenewal renews whatever lease there is, also that of another holder.
type unownedRenewal struct {
	sim.Store
	host sim.Host
}

func (s unownedRenewal) Renew(l store.Lease, timeout time.Duration) error {
	renewed, err := s.host.Do(timeout, "PEXPIRE", s.host.LeaseKey(), strconv.FormatInt(l.TTL.Milliseconds(), 10))
	if err == nil && renewed != int64(1) {
		return store.ErrNotHeld
	}
	return err
}

// oneToken tells every holder the same token, as an elector does that counts
// its terms in its own memory.
type oneToken struct {
	sim.Store
	real uint64
}

func (s *oneToken) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	grant, err := s.Store.Acquire(a, timeout)
	s.real, grant.Token = grant.Token, 1
	return grant, err
}

func (s *oneToken) Renew(l store.Lease, timeout time.Duration) error {
	l.Token = s.real
	return s.Store.Renew(l, timeout)
}

func (s *oneToken) Release(l store.Lease, timeout time.Duration) error {
	l.Token = s.real
	return s.Store.Release(l, timeout)
}

// expect fails the test unless the outcome shows the bug.
func (c canary) expect(t *testing.T, o scenarios.Outcome) {
	t.Helper()
	if o.Verdict() != checker.Fail {
		t.Errorf("the verdict is %v", o.Verdict())
	}
	for _, f := range o.Result.Asked {
		t.Logf("%s: %v: %s %v", f.Promise, f.Verdict, f.Reason, f.Evidence)
		if f.Promise != c.breaks {
			continue
		}
		if f.Verdict != checker.Fail {
			t.Errorf("%s is %v: %s", f.Promise, f.Verdict, f.Reason)
		}
		if alone := strings.Contains(f.Reason, "the store has no record of it"); len(f.Evidence) < 2 && !alone {
			t.Errorf("%s names the events %v, not two", f.Promise, f.Evidence)
		}
	}
}

// find is the scenario in which the canary is caught.
func (c canary) find() (scenarios.Scenario, error) {
	found, err := scenarios.Find(c.scenario)
	if err != nil {
		return scenarios.Scenario{}, err
	}
	return found[0], nil
}
