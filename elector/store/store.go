package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store keeps the leases of elections. One Store serves any number of
// elections and electors at once; all methods are safe for concurrent use.
//
// Every method reports one of three outcomes: it took effect (nil), it
// certainly took no effect (*HeldError, ErrNotHeld, or a *FatalError), or the
// outcome is unknown (any other error): the request may have been executed, may
// still be, or never will be. Electors treat the last as transient. If such an error is
// the server's own answer, it has a method Answered() bool that returns true. An elector
// that gets no other answers says what the store answers, and asks more rarely.
//
// A Store must not retry on its own: only the elector knows how long a request
// is still worth something. A call ends when its context is done; one whose context is
// Unhurried may last until its deadline.
type Store interface {
	// Acquire takes the lease for a.TTL if nobody holds it and returns a Grant
	// with a token larger than every token that the election saw before and
	// larger than a.Floor. A store that has counted less than a.Floor has lost its count,
	// and may withhold the lease for as long as one lasts. Acquire is idempotent by a.Nonce: while the lease is
	// held with that nonce, the same call returns the same token and the lease
	// lasts a.TTL again from then on. If somebody else holds the lease the
	// error is a *HeldError.
	//
	// A store may keep a refused attempt with a.Stands as a bid, and says so in
	// HeldError.Stands. As long as the candidate watches the election, a release may
	// grant the lease to it, as if a had been sent once more; it is told with a hint.
	Acquire(ctx context.Context, a Attempt) (Grant, error)

	// Renew makes the lease last l.TTL from now on, if it is still exactly
	// this one (same id, nonce and token). Otherwise the error is ErrNotHeld,
	// and nothing is created or changed.
	Renew(ctx context.Context, l Lease) error

	// Release ends the lease if it is still exactly this one, and wakes those
	// who wait for it. Otherwise the error is ErrNotHeld. Where l.Token is 0 it takes
	// the bid of l.Nonce back; if the lease was granted to it before, the error is a
	// *HeldError with its token.
	Release(ctx context.Context, l Lease) error

	// Leader tells who holds the lease of the election, for those who do not
	// compete, and what that one publishes, both as of one moment. A zero Leader
	// (no ID) means that nobody does.
	Leader(ctx context.Context, election string) (Leader, error)

	// Watch returns at once. From then on it calls hint for every change of the
	// election's lease that the store announces, until ctx is done or the
	// announcements break off; then it calls ended, once, with the reason, which
	// is never nil, and hint no more. Hints may be lost, late or repeated: they
	// say when a try is worth it, never who leads.
	//
	// The first hint is HintListening, when changes are announced to this Watch from then
	// on. The elector asks once more then: a change of before may have been announced to
	// nobody.
	//
	// Both are called on a goroutine that all watches of the store may share, so
	// they must not block; and one at a time for each watch.
	Watch(ctx context.Context, election string, hint func(Hint), ended func(error))
}

// MaxValue is how many bytes a leader may publish.
const MaxValue = 4096

// What a leader publishes (Attempt.Value, Lease.Value) belongs to its term: a Store
// tells it only together with that term's holder and token. It is any bytes, at most
// MaxValue of them. Version counts what was published in the term, and 0 means
// nothing. A Store keeps the value of the largest Version that it has got, also if
// requests reach it in another order than they were sent in. One that cannot keep
// values leaves Leader.Value empty.

// Attempt is one attempt to acquire a lease.
type Attempt struct {
	Election string
	ID       string        // the candidate
	Nonce    string        // unique to the attempt; repeated only to repeat it
	Request  uint64        // number of this request: each of an elector is larger than the one before
	TTL      time.Duration // whole milliseconds
	Longest  time.Duration // how long any lease of the election may last, as the candidate counts on; no shorter than TTL; 0: TTL
	// Configured is the shorter Longest that the candidate counts on unless others have
	// longer leases: Config.LongestLease. 0: Longest.
	Configured time.Duration
	Floor      uint64 // the highest token the candidate knows of, in case the store lost count
	Stands     bool   // if it is refused it may be kept as a bid
	Several    bool   // it is made to several stores, which must grant the same token: each counts on from its last one and from Floor, which may be another store's
	Priority   int    // Config.Priority, for CandidateLister
	Value      string // what the leader publishes from the grant on
	Version    uint64 // of Value
}

// Lease identifies one term's holding of a lease.
type Lease struct {
	Election   string
	ID         string
	Nonce      string
	Token      uint64
	Request    uint64
	TTL        time.Duration // for Renew; whole milliseconds; for Release, as the next two: for CandidateLister, 0 if the candidate stops
	Longest    time.Duration // for Renew: as Attempt.Longest; for Release, as the next one: for CandidateLister
	Configured time.Duration // as Attempt.Configured
	Priority   int           // for Renew: Config.Priority, for CandidateLister
	Value      string        // for Renew: what the leader publishes
	Version    uint64        // for Renew: of Value
	Shown      bool          // for Renew: this Version was sent before and acknowledged, so it need not be sent again, unless the store may have lost it

	// For Release: the candidate that the lease is handed over to, and for how
	// long nobody else gets it. A store that cannot reserve releases it for all.
	To      string
	Reserve time.Duration
}

// Grant is a lease acquired.
type Grant struct {
	Token   uint64
	Waiters int           // how many listen for the lease's end, if the store can tell
	Longest time.Duration // as HeldError.Longest
}

// Leader is the holder of a lease, as the store knows it.
type Leader struct {
	ID        string
	Token     uint64
	Remaining time.Duration // until the lease ends unless it is renewed
	Value     string        // what it publishes; empty if that is nothing
	Version   uint64        // of Value: larger for every later one of the term
}

// HintKind says what a Hint announces.
type HintKind int

// The kinds of hints.
const (
	HintReleased  HintKind = iota + 1 // the lease is free now
	HintGranted                       // the lease was granted to somebody, for Hint.Remaining
	HintPublished                     // the leader publishes another value
	HintListening                     // changes are announced from now on; those of before may have been missed
)

// Hint is the announcement of a change. See Store.Watch.
type Hint struct {
	Kind      HintKind
	Token     uint64        // of the term that ended or began, or in which something was published
	Remaining time.Duration // HintGranted: how long the lease lasts; HintReleased: how long only To gets it
	Waiters   int           // how many were listening, if the store can tell
	To        string        // HintReleased: the candidate that it is handed over to, or that may ask first if Remaining is 0; empty if it is anybody's. HintGranted: as Nonce
	Nonce     string        // HintGranted: of the bid of To that it was granted to; empty if it was asked for
	Request   uint64        // HintGranted: of that bid
}

// ErrNotHeld is the answer to a renewal or release of a lease that is over:
// expired, taken by another, deleted, or of an earlier term.
var ErrNotHeld = errors.New("elector: the lease is not held")

// HeldError is the answer to an attempt to acquire a lease that somebody holds,
// or that the store gives to nobody yet (Withheld; then there is no Holder, and errors.Is
// says ErrWithheld).
type HeldError struct {
	Holder    string
	Token     uint64
	Remaining time.Duration // until it ends unless it is renewed; counted from the store's answer
	Waiters   int           // how many listen for the lease's end, if the store can tell
	Stands    bool          // the attempt is kept as a bid

	// Longest is the Attempt.Longest that the candidate must use from now on. It is
	// shorter than before only if nobody can lead by a lease that long any more, and
	// none is granted while this candidate lives. 0: as before.
	Longest time.Duration

	// Repaired says what was wrong with the lease and what the store did about
	// it: a lease without a time to live, say, would have blocked the election
	// for ever, and was given one. Empty if all was well.
	Repaired string

	// Withheld says why nobody is granted the lease although nobody holds it:
	// the store may have forgotten a lease whose holder still leads, say.
	Withheld string
}

// ErrWithheld is what errors.Is finds in a *HeldError of a store that gives the lease to
// nobody yet.
var ErrWithheld = errors.New("elector: the store grants nobody the lease")

// Is reports whether target is ErrWithheld and the store gives the lease to nobody yet. Then
// nobody is known to lead.
func (e *HeldError) Is(target error) bool { return target == ErrWithheld && e.Withheld != "" }

func (e *HeldError) Error() string {
	if e.Withheld != "" {
		return fmt.Sprintf("elector: nobody is granted the lease for another %v: %s", e.Remaining, e.Withheld)
	}
	return fmt.Sprintf("elector: the lease is held by %q (token %d) for another %v", e.Holder, e.Token, e.Remaining)
}

// FatalError wraps an answer of the store that no repetition will change: wrong
// password, missing rights, keys of a wrong type. The request took no effect.
type FatalError struct {
	Err error
	Fix string // what to do about it, in one clause
}

func (e *FatalError) Error() string { return "elector: " + e.Err.Error() + "; " + e.Fix }

// Unwrap returns the store's own error.
func (e *FatalError) Unwrap() error { return e.Err }
