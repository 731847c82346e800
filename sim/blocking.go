package sim

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
)

// Elector is an elector in blocking style, as one writes it: it competes until
// its host tells it to stop, then resigns and returns. The same function runs
// in every world.
type Elector func(h Host) error

// Host is what an Elector gets of the world around it. All times are on the
// candidate's own clock, whatever a fault has done to it. Its methods are
// called by the Elector's own goroutine only.
type Host interface {
	// Settings are the circumstances that all candidates know.
	Settings() Settings
	// Now is what the candidate's clock shows: boot time, or monotonic time once
	// Monotonic was called.
	Now() time.Duration
	// Monotonic makes Now show the monotonic clock, which stands still while
	// the machine is suspended, as that of Go's package time does.
	Monotonic()
	// Wall is what the candidate's wall clock shows, since the Unix epoch. It may
	// jump, and be another than those of the other candidates and of the store.
	Wall() time.Duration
	// Sleep waits for d, and returns at once when the candidate is to stop.
	Sleep(d time.Duration)
	// Stopping reports whether the candidate is to resign and return.
	Stopping() bool

	// Random is a number from 0 to n-1; 0 if n is not positive.
	Random(n int) int

	// Store is the production elector's store, with nothing recorded.
	Store() Store
	// Recorded is a store whose calls and outcomes are recorded.
	Recorded(Store) Store
	// Postgres is a store in PostgreSQL, with nothing recorded: a row for each
	// election with its holder, a token that counts acquisitions, and the time at
	// which the lease is over by the server's clock. Each call is one statement.
	// It is not idempotent: an attempt that is repeated is another one, and is
	// refused by its own lease. A refusal does not name the holder.
	Postgres() (Store, error)
	// LeaseKey is the key of the lease in the store.
	LeaseKey() string
	// Do sends a command to the store, and is not recorded. The reply is an
	// int64, a string, nil, or a list of those.
	Do(timeout time.Duration, args ...string) (any, error)

	// Elected, Extended and Deposed record what the candidate believes.
	Elected(token uint64, until time.Duration)
	Extended(token uint64, until time.Duration)
	Deposed(token uint64, why history.Why)
	// Work begins to write to the protected resource, as a leader does, and
	// returns what ends that: it returns when no write is under way.
	Work(token uint64) (stop func())
}

// Forever is the deadline of a belief that does not end by itself.
const Forever = time.Duration(math.MaxInt64)

// Settings is what a candidate starts with.
type Settings struct {
	Election string
	Node     string
	Lease    time.Duration
	Renew    time.Duration
	Retry    time.Duration
	Drift    float64
}

// Store is the production elector's store in blocking style. The errors are
// those of elector.Store; others, time-outs among them, mean that the outcome
// is unknown.
type Store interface {
	Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error)
	Renew(l store.Lease, timeout time.Duration) error
	Release(l store.Lease, timeout time.Duration) error
}

// Completion is the event that completes an operation whose call returned err. The
// errors that elector.Store defines separate a certain failure from an unknown outcome.
// Of what a successful call returned it knows nothing.
func Completion(op history.Event, err error) history.Event {
	op.Kind = history.Ok
	var held *elector.HeldError
	var fatal *elector.FatalError
	switch {
	case err == nil:
	case errors.As(err, &held):
		op.Kind, op.Holder, op.Token, op.Stands = history.Fail, NodeOf(held.Holder), held.Token, held.Stands
		if held.Withheld != "" {
			op.Error = Withheld
		}
	case errors.Is(err, store.ErrNotHeld):
		op.Kind = history.Fail
	case errors.As(err, &fatal):
		op.Kind, op.Error = history.Fail, err.Error()
	default:
		op.Kind, op.Error = history.Info, err.Error()
	}
	return op
}

// Withheld is the error of an acquire that was refused although nobody holds
// the lease: it tells nothing about one.
const Withheld = "withheld"

// errSeveralMoments is why an observation of a majority is recorded as unknown.
const errSeveralMoments = "the servers answered at several moments"

// errReleased is why a release that a majority denied is recorded as unknown.
const errReleased = "the lease is over, maybe by this release: other servers may have released it before these denied it"

// OfMajority is the completion of an operation on a majority of independent
// servers, without what it does not know: each server spoke of a moment of its
// own, so who is refused, or asks who leads, learns of no moment at which
// somebody held the lease. A release that a majority denied may have ended the lease on
// the other servers, before the lease ran out on one of that majority. What a majority
// granted, renewed or released is certain, and a renewal that it denied.
func OfMajority(op history.Event) history.Event {
	switch {
	case op.Call == history.Acquire && op.Kind == history.Fail && op.Error == "":
		op.Holder, op.Token, op.Error = "", 0, Withheld
	case op.Call == history.Release && op.Kind == history.Fail:
		op.Kind, op.Error = history.Info, cmp.Or(op.Error, errReleased)
	case op.Call == history.Observe && op.Kind == history.Ok:
		op.Kind, op.Holder, op.Token, op.Error = history.Info, "", 0, errSeveralMoments
	}
	return op
}

// NodeOf is the node in an elector's unique id, which appends a random part.
func NodeOf(id string) string {
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		return id[:i]
	}
	return id
}

// Recorder is a Store that tells every call to it, and every outcome.
type Recorder struct {
	Store Store
	Tell  func(history.Event) // records an event as happening now
	Next  func() int64        // a number for an operation
	Node  string
}

var _ Store = Recorder{}

// Acquire implements Store.
func (r Recorder) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	op := r.invoke(history.Event{Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := r.Store.Acquire(a, timeout)
	op.Token = grant.Token
	r.Tell(Completion(op, err))
	return grant, err
}

// Renew implements Store.
func (r Recorder) Renew(l store.Lease, timeout time.Duration) error {
	op := r.invoke(history.Event{Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := r.Store.Renew(l, timeout)
	r.Tell(Completion(op, err))
	return err
}

// Release implements Store.
func (r Recorder) Release(l store.Lease, timeout time.Duration) error {
	op := r.invoke(history.Event{Call: history.Release, Nonce: l.Nonce, Try: l.Request, Token: l.Token})
	err := r.Store.Release(l, timeout)
	r.Tell(Completion(op, err))
	return err
}

func (r Recorder) invoke(e history.Event) history.Event {
	e.Kind, e.Node, e.Op = history.Invoke, r.Node, r.Next()
	r.Tell(e)
	return e
}
