package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// T is the part of a *testing.T that the suite needs. Fatalf must not return.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ttl is long for a store on the same machine, also one that is busy, and short for a
// suite that has to wait for it.
const ttl = 2 * time.Second

// slack is what a store and the way to it may be late by.
const slack = 200 * time.Millisecond

// Case is one check.
type Case struct {
	Name  string
	check func(*bench)
}

// Cases returns the checks, for those who want to run each as a subtest.
func Cases() []Case {
	return []Case{
		{"an attempt is idempotent by its nonce", idempotent},
		{"an attempt repeated makes the lease last again", repeatedAttemptExtends},
		{"a held lease names its holder and its rest", held},
		{"tokens grow, beyond the floor", tokensGrow},
		{"tokens are exact beyond 2^53", tokensExact},
		{"renewals keep the lease", renewals},
		{"a lease ends by itself", expiry},
		{"a renewal after the end creates nothing", renewAfterEnd},
		{"only the exact lease is renewed and released", exactLease},
		{"an earlier term does nothing", earlierTerm},
		{"a released lease is free at once", release},
		{"elections are independent", independent},
		{"grants and releases are announced", announced},
		{"a watch ends with its context", watchEnds},
		{"a leader publishes what it likes", published},
		{"what was published last is shown", publishedLate},
		{"what a leader publishes is shown in its term only", publishedInTerm},
		{"what is published is announced", publishedIsAnnounced},
		{"a context that is done takes no effect", contextDone},
	}
}

// Run runs every case, each with a store of its own. open returns an empty
// store, or one whose elections are all unused. advance lets the store's time
// pass, by sleeping or by a fake clock.
func Run(t T, open func() store.Store, advance func(time.Duration)) {
	t.Helper()
	for _, c := range Cases() {
		c.Run(t, open(), advance)
	}
}

// Run runs the case on a store in which the elections "storetest" and
// "storetest-2" are unused.
func (c Case) Run(t T, store store.Store, advance func(time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.check(&bench{T: t, name: c.Name, store: store, advance: advance, ctx: ctx})
}

const (
	election = "storetest"
	second   = "storetest-2"
)

// bench is a store under test.
type bench struct {
	T
	name    string
	store   store.Store
	advance func(time.Duration)
	ctx     context.Context
	request uint64
}

func (b *bench) attempt(election, id, nonce string, floor uint64) (store.Grant, error) {
	b.request++
	return b.store.Acquire(b.ctx, store.Attempt{
		Election: election, ID: id, Nonce: nonce, Request: b.request, TTL: ttl, Floor: floor,
	})
}

// acquire demands a grant, and returns its lease. A store that has counted less than the
// floor has lost its count, and may wait for the lease that it may have forgotten.
func (b *bench) acquire(election, id, nonce string, floor uint64) store.Lease {
	b.Helper()
	grant, err := b.attempt(election, id, nonce, floor)
	if held := new(store.HeldError); errors.As(err, &held) && held.Withheld != "" && floor > 0 {
		b.advance(held.Remaining)
		grant, err = b.attempt(election, id, nonce, floor)
	}
	if err != nil {
		b.Fatalf("%s: acquire by %s, nonce %s: %v", b.name, id, nonce, err)
	}
	return store.Lease{Election: election, ID: id, Nonce: nonce, Token: grant.Token, TTL: ttl}
}

// publishes demands a grant to the candidate a, who publishes a value.
func (b *bench) publishes(value string) store.Lease {
	b.Helper()
	b.request++
	grant, err := b.store.Acquire(b.ctx, store.Attempt{
		Election: election, ID: "a", Nonce: "a/1", Request: b.request, TTL: ttl, Value: value, Version: 1,
	})
	b.must("acquire by a", err)
	return store.Lease{Election: election, ID: "a", Nonce: "a/1", Token: grant.Token, TTL: ttl, Value: value, Version: 1}
}

// shows demands that the lease is held, and a value told beside it.
func (b *bench) shows(l store.Lease, value string, version uint64) {
	b.Helper()
	leader, err := b.store.Leader(b.ctx, l.Election)
	b.must("leader", err)
	if leader.ID != l.ID || leader.Token != l.Token || leader.Value != value || leader.Version != version {
		b.Fatalf("%s: %q leads with token %d and shows %.20q, version %d; want %q with %d, %.20q, %d", b.name, leader.ID, leader.Token, leader.Value, leader.Version, l.ID, l.Token, value, version)
	}
}

// refused demands that the lease is held by somebody else.
func (b *bench) refused(id, nonce string) *store.HeldError {
	b.Helper()
	_, err := b.attempt(election, id, nonce, 0)
	var held *store.HeldError
	if !errors.As(err, &held) {
		b.Fatalf("%s: acquire by %s, nonce %s: %v, want a HeldError", b.name, id, nonce, err)
	}
	return held
}

func (b *bench) renew(l store.Lease) error {
	b.request++
	l.Request = b.request
	return b.store.Renew(b.ctx, l)
}

func (b *bench) release(l store.Lease) error {
	b.request++
	l.Request = b.request
	return b.store.Release(b.ctx, l)
}

func (b *bench) must(what string, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %s: %v", b.name, what, err)
	}
}

func (b *bench) notHeld(what string, err error) {
	b.Helper()
	if !errors.Is(err, store.ErrNotHeld) {
		b.Fatalf("%s: %s: %v, want ErrNotHeld", b.name, what, err)
	}
}

// leads demands who leads an election; nobody if the token is 0.
func (b *bench) leads(election, id string, token uint64) {
	b.Helper()
	l, err := b.store.Leader(b.ctx, election)
	b.must("leader", err)
	if l.ID != id || l.Token != token {
		b.Fatalf("%s: %q leads with token %d, want %q with %d", b.name, l.ID, l.Token, id, token)
	}
	if token != 0 && (l.Remaining <= 0 || l.Remaining > ttl) {
		b.Errorf("%s: the leader's lease lasts %v more, want up to %v", b.name, l.Remaining, ttl)
	}
}

// listener is a Watch in the background.
type listener struct {
	b     *bench
	hints chan store.Hint
	ended chan error
	stop  context.CancelFunc
}

func (b *bench) watch() *listener {
	ctx, cancel := context.WithCancel(b.ctx)
	l := &listener{b: b, hints: make(chan store.Hint, 4096), ended: make(chan error, 1), stop: cancel}
	b.store.Watch(ctx, election, func(h store.Hint) { l.hints <- h }, func(err error) { l.ended <- err })
	return l
}

// await waits for the hint about a token.
func (l *listener) await(kind store.HintKind, token uint64) store.Hint {
	l.b.Helper()
	for {
		select {
		case h := <-l.hints:
			if h.Kind == kind && h.Token == token {
				return h
			}
		case err := <-l.ended:
			l.b.Fatalf("%s: the watch ended: %v", l.b.name, err)
		case <-l.b.ctx.Done():
			l.b.Fatalf("%s: no hint of kind %d about token %d came", l.b.name, kind, token)
		}
	}
}

// end stops the watch and returns its error.
func (l *listener) end() error {
	l.b.Helper()
	l.stop()
	select {
	case err := <-l.ended:
		return err
	case <-l.b.ctx.Done():
		l.b.Fatalf("%s: the watch does not end with its context", l.b.name)
		return nil
	}
}
