package elector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// errForgotten is why it is not known who led after a term.
var errForgotten = errors.New("the store's history has lost the term that ended")

// Transfer hands the leadership of this candidate over to another one, as
// Term.Transfer does: to is the ID of a live candidate, or the part of it that
// was configured; of several candidates with that, it is the one that the store
// heard of last. Who was not heard of for a Lease and a RequestTimeout is not live;
// for so long one that is gone may be handed the lease.
//
// It waits until the work has ended and the successor leads, and returns nil only then. A
// successor that hears no announcements may need a Lease for that. The errors are:
//
//   - ErrNotLeading, ErrNoCandidate, ErrUnsupported (the store does not know who competes)
//     and ErrInsideWork (the caller is OnStarted or the body of the loop over Terms):
//     nothing was done;
//   - ErrNotReleased: the store never answered the release;
//   - ErrNotTaken: somebody else leads and the store remembers no term of the successor, or
//     nobody leads after a Lease and some retries;
//   - ErrDrainCapped: the successor leads, but the work did not end within DrainTimeout, as
//     when it waits for a goroutine that called Transfer;
//   - that of the store, or of ctx: the term may be given up, and the hand-over may go on,
//     or have succeeded.
func (e *Elector) Transfer(ctx context.Context, to string) error {
	t := e.current.Load()
	switch {
	case t == nil || !t.leads():
		return ErrNotLeading
	case t.inside():
		return ErrInsideWork
	}
	all, err := e.Candidates(ctx)
	if err != nil {
		return err
	}
	successor := e.successor(all, to)
	if successor == "" {
		return fmt.Errorf("%w %q: the store has heard of %d", ErrNoCandidate, to, len(all))
	}
	if err := t.Transfer(ctx, successor); err != nil {
		return err
	}
	select {
	case <-t.released:
	case <-ctx.Done():
		return ctx.Err()
	}
	switch err := e.taken(ctx, t, to); {
	case t.releaseErr != nil:
		return t.releaseErr
	case err == nil && t.capped:
		return event.ErrDrainCapped
	default:
		return err
	}
}

// taken waits until somebody leads after the term. It returns an error if nobody who is
// called so has led.
func (e *Elector) taken(ctx context.Context, t *Term, to string) error {
	cfg := &e.cfg
	limit := cfg.Lease + 3*cfg.Retry + overtime*cfg.RequestTimeout // the reservation, and a request
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := cfg.Clock.AfterFunc(limit, cancel)
	defer timer.Stop()
	ours := func(l Leader) bool { return l.ID == e.id && l.Token == t.token }
	for l, err := range Observe(within, e.store, cfg.Election, ObserveOptions{Poll: cfg.Retry, Retry: cfg.Retry, RequestTimeout: cfg.RequestTimeout, Clock: cfg.Clock}) {
		if err != nil || l.ID == "" || ours(l) {
			continue
		}
		switch led, err := e.hasLed(within, l, t.token, to); {
		case led:
			return nil
		case err == nil:
			return fmt.Errorf("%w: %q leads with token %d", ErrNotTaken, l.ID, l.Token)
		}
	}
	// What was seen last may be old: this process may have stood still, or the store.
	last, cancel := context.WithTimeout(ctx, 2*overtime*cfg.RequestTimeout) // for two requests
	defer cancel()
	l, err := e.Leader(last)
	led := false
	if err == nil {
		led, err = e.hasLed(last, l, t.token, to)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case led:
		return nil
	case err != nil:
		return fmt.Errorf("elector: the lease was given back, and it is not known whether the successor led: %w", err)
	case l.ID == "" || ours(l):
		return fmt.Errorf("%w: nobody leads after %v", ErrNotTaken, limit)
	default:
		return fmt.Errorf("%w: %q leads with token %d", ErrNotTaken, l.ID, l.Token)
	}
}

// hasLed reports whether a candidate of that name leads, as the store has just said, or the
// store remembers a later term of it than that of the token. It returns an error if the
// store has forgotten that term, too. It asks until the store answers or ctx is done. A
// store that keeps no history remembers none.
func (e *Elector) hasLed(ctx context.Context, now Leader, token uint64, to string) (bool, error) {
	for !called(now.ID, to) {
		brief, cancel := context.WithTimeout(ctx, overtime*e.cfg.RequestTimeout)
		past, err := e.History(brief, 100)
		cancel()
		switch {
		case slices.ContainsFunc(past, func(t store.PastTerm) bool { return called(t.ID, to) && t.Token > token }):
			return true, nil
		case slices.ContainsFunc(past, func(t store.PastTerm) bool { return t.Token == token }):
			return false, nil
		case err == nil:
			return false, errForgotten
		case errors.Is(err, store.ErrUnsupported):
			return false, nil
		case ctx.Err() != nil:
			return false, err
		}
		pauseFor(ctx, e.cfg.Clock, e.cfg.Retry, nil)
	}
	return true, nil
}

// called reports whether to is a candidate's ID, or the part of it that was configured.
func called(id, to string) bool { return id == to || nameOf(id) == to }

// successor is the ID of the live candidate that is called so, "" if there is none.
// Of several of one name it is the one that was heard of last: a process that was
// restarted leaves the ID of its life before behind.
func (e *Elector) successor(all []store.Candidate, to string) string {
	var best store.Candidate
	for _, c := range all {
		if c.ID == e.id || !called(c.ID, to) || e.gone(c) {
			continue
		}
		if best.ID == "" || c.Seen < best.Seen {
			best = c
		}
	}
	return best.ID
}

// nameOf is the Config.ID in a candidate's whole identity. It may hold slashes.
func nameOf(id string) string {
	return id[:max(0, strings.LastIndexByte(id, '/'))]
}

// gone reports whether a candidate was not heard of for so long that it may be gone: who
// waits asks at least once in its own lease, and none is longer than that, as this one
// counts on.
func (e *Elector) gone(c store.Candidate) bool {
	return c.Seen > e.cfg.LongestLease+e.cfg.RequestTimeout
}
