package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/candidate"
)

// canaries are electors with a known bug each. A harness that does not catch
// them catches nothing.
func canaries() map[string]candidate.Subject {
	return map[string]candidate.Subject{
		"canary-renews-unowned": func(ctx context.Context, h *candidate.Host) error {
			return plain{wrap: func(s *redisstore.Store) elector.Store { return unownedRenewal{s} }}.run(ctx, h)
		},
		"canary-believes-on": func(ctx context.Context, h *candidate.Host) error {
			return plain{believesOn: true}.run(ctx, h)
		},
		"canary-reuses-token": func(ctx context.Context, h *candidate.Host) error {
			return plain{wrap: func(s *redisstore.Store) elector.Store { return &oneToken{Store: s} }}.run(ctx, h)
		},
	}
}

// plain is the elector that one writes in an afternoon: it is right but for
// the bug that is put into it.
type plain struct {
	wrap       func(*redisstore.Store) elector.Store
	believesOn bool // the bug: believes until it is told otherwise
}

// plainTerm is a term of a plain elector.
type plainTerm struct {
	lease elector.Lease
	until time.Duration
	work  context.CancelFunc
	done  chan struct{}
}

func (p plain) run(ctx context.Context, h *candidate.Host) error {
	store, err := h.Open()
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // the process ends with it
	var wrapped elector.Store = store
	if p.wrap != nil {
		wrapped = p.wrap(store)
	}
	wrapped = h.Recorded(wrapped)
	var term *plainTerm
	for n := uint64(1); ctx.Err() == nil; n++ {
		if term == nil {
			term = p.campaign(ctx, h, wrapped, n)
		} else {
			term = p.keep(ctx, h, wrapped, term, n)
		}
		pause := h.Renew
		if term == nil {
			pause = h.Retry
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if term != nil {
		p.depose(h, term, history.Resigned)
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.Renew)
		defer cancel()
		return wrapped.Release(release, term.lease)
	}
	return nil
}

// campaign tries once to become the leader.
func (p plain) campaign(ctx context.Context, h *candidate.Host, store elector.Store, n uint64) *plainTerm {
	ctx, cancel := context.WithTimeout(ctx, h.Renew/2)
	defer cancel()
	sent := h.Clock.Now()
	lease := elector.Lease{Election: "e1", ID: h.Node, Nonce: fmt.Sprintf("%s-%d-%d", h.Node, sent, n), Request: n, TTL: h.Lease}
	grant, err := store.Acquire(ctx, elector.Attempt{
		Election: "e1", ID: lease.ID, Nonce: lease.Nonce, Request: n, TTL: h.Lease,
	})
	if err != nil {
		return nil
	}
	lease.Token = grant.Token
	working, stop := context.WithCancel(context.Background())
	term := &plainTerm{lease: lease, until: p.deadline(h, sent), work: stop, done: make(chan struct{})}
	h.Elected(h.Clock.Now(), lease.Token, term.until)
	go func() {
		defer close(term.done)
		for n := 1; working.Err() == nil && h.Write(lease.Token, n); n++ {
			select {
			case <-working.Done():
			case <-time.After(h.Writes):
			}
		}
	}()
	return term
}

// keep renews the lease and returns nil when the term is over.
func (p plain) keep(ctx context.Context, h *candidate.Host, store elector.Store, term *plainTerm, n uint64) *plainTerm {
	ctx, cancel := context.WithTimeout(ctx, h.Renew/2)
	defer cancel()
	sent := h.Clock.Now()
	lease := term.lease
	lease.Request = n
	err := store.Renew(ctx, lease)
	switch {
	case err == nil:
		term.until = p.deadline(h, sent)
		h.Extended(h.Clock.Now(), lease.Token, term.until)
		return term
	case errors.Is(err, elector.ErrNotHeld):
		p.depose(h, term, history.Superseded)
		return nil
	case h.Clock.Now() >= term.until:
		p.depose(h, term, history.Expired)
		return nil
	default:
		return term
	}
}

func (p plain) deadline(h *candidate.Host, sent time.Duration) time.Duration {
	if p.believesOn {
		return candidate.Forever
	}
	return sent + time.Duration(float64(h.Lease)*(1-h.Drift)) - time.Millisecond
}

func (p plain) depose(h *candidate.Host, term *plainTerm, why history.Why) {
	h.Deposed(h.Clock.Now(), term.lease.Token, why)
	term.work()
	<-term.done
}

// unownedRenewal renews whatever lease there is, whoever holds it.
type unownedRenewal struct{ *redisstore.Store }

func (s unownedRenewal) Renew(ctx context.Context, l elector.Lease) error {
	key := s.Keys(l.Election)[0]
	client, err := s.client()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it did what it was for
	renewed, err := client.PExpire(ctx, key, l.TTL).Result()
	if err == nil && !renewed {
		return elector.ErrNotHeld
	}
	return err
}

// client is a connection of the canary's own: the store lends none.
func (unownedRenewal) client() (*redis.Client, error) {
	settings, err := candidate.FromEnvironment()
	if err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(settings.RedisURL)
	if err != nil {
		return nil, err
	}
	options.ContextTimeoutEnabled, options.MaxRetries = true, -1
	return redis.NewClient(options), nil
}

// oneToken tells every holder the same token, as an elector does that counts
// its terms in its own memory.
type oneToken struct {
	elector.Store
	real uint64
}

func (s *oneToken) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	grant, err := s.Store.Acquire(ctx, a)
	s.real, grant.Token = grant.Token, 1
	return grant, err
}

func (s *oneToken) Renew(ctx context.Context, l elector.Lease) error {
	l.Token = s.real
	return s.Store.Renew(ctx, l)
}

func (s *oneToken) Release(ctx context.Context, l elector.Lease) error {
	l.Token = s.real
	return s.Store.Release(ctx, l)
}
