package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/recount-io/recount/elector/internal/unhurried"
)

// ErrUnsupported is the answer to a question that the elector's store cannot
// answer.
var ErrUnsupported = errors.New("elector: the store does not keep this")

// CandidateLister is a Store that can list who competes.
type CandidateLister interface {
	// Candidates lists the candidates that the store heard of within the last
	// leases, in the order of their IDs. Each one is heard of at least once a
	// lease, when it tries to acquire or renews. One that is gone is listed on for
	// that time; a process that was restarted, with both of its IDs.
	Candidates(ctx context.Context, election string) ([]Candidate, error)
}

// Candidate is a live candidate of an election, as the store knows it.
type Candidate struct {
	ID       string
	Priority int           // Config.Priority
	Seen     time.Duration // how long ago the store heard of it
}

// TermLister is a Store that can list past terms.
type TermLister interface {
	// History returns the last n terms of the election, the latest first.
	History(ctx context.Context, election string, n int) ([]PastTerm, error)
}

// PastTerm is one term that the store remembers.
type PastTerm struct {
	ID    string
	Token uint64
	Began time.Time // by the store's clock
	Ended time.Time // of its release; zero if it goes on, or was never released
}

// Preflighter is a Store that can check what its guarantee is worth on its servers.
type Preflighter interface {
	// Preflight reads the settings of the store's servers. Its error is not
	// nil only if they could not be reached.
	Preflight(ctx context.Context) (Preflight, error)
}

// Preflight is what is guaranteed on the servers as they are.
type Preflight struct {
	Guarantee string    // in words
	Findings  []Finding // what weakens it, or was not allowed to be read
}

// Severity says how bad a Finding is.
type Severity string

// The severities.
const (
	SeverityNote    Severity = "note"    // good to know
	SeverityWarning Severity = "warning" // weakens the guarantee in some situations
	SeverityError   Severity = "error"   // elections will fail, or are not safe
)

// Finding is one thing that a preflight found.
type Finding struct {
	Severity Severity
	Subject  string // what it is about, such as "maxmemory-policy"
	Text     string // what was found, and what it means
	Fix      string // what to do about it; empty if nothing is to be done
}

// Worst is the severity of the worst finding, and empty if there are none.
func (p Preflight) Worst() Severity {
	var worst Severity
	for _, f := range p.Findings {
		switch {
		case f.Severity == SeverityError:
			return f.Severity
		case f.Severity == SeverityWarning || worst == "":
			worst = f.Severity
		}
	}
	return worst
}

// Carrier is a Store that knows how many elections of one process its connections are
// enough for. It may be wrapped in stores that have a method Unwrap() Store.
type Carrier interface {
	// Carries returns how many elections of one process can renew at one moment so that
	// each is answered within the time-out, where a round trip takes so long. As many as
	// there are connections never wait for each other, however long that is.
	Carries(timeout, roundTrip time.Duration) int
}

// Bounded is a Store that not every Config suits. New asks it, also if it is wrapped in
// stores that have a method Unwrap() Store.
type Bounded interface {
	// Suits returns an error, a *ConfigError as a rule, if no election can go well on the
	// store with these times. The error names the setting of both sides and the mend. It
	// reaches out to nothing.
	Suits(t Times) error
}

// Times are what an elector asks of its store.
type Times struct {
	Lease          time.Duration // the longest for which the lease is asked for
	LongestLease   time.Duration // Config.LongestLease; no shorter than Lease
	RequestTimeout time.Duration // Config.RequestTimeout
}

// Suits asks the store, or the one that it wraps, whether the times suit it. A store that
// is not Bounded takes any. There must be a store: one that is nil suits nobody.
func Suits(s Store, t Times) error {
	if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("elector: a store is needed, such as one of elector/redisstore, and this one is nil (%T)", s)
	}
	if b, ok := As[Bounded](s); ok {
		return b.Suits(t)
	}
	return nil
}

// As is the outermost store that can do something, such as T, of one and those that it
// wraps. A store that wraps another one has a method Unwrap() Store.
func As[T any](s Store) (able T, ok bool) {
	for {
		if able, ok = any(s).(T); ok {
			return able, true
		}
		w, wraps := any(s).(interface{ Unwrap() Store })
		if !wraps {
			return able, false
		}
		s = w.Unwrap()
	}
}

// Unhurried tells a store that the context is one of an elector's own requests. Each is
// made on a goroutine that has nothing else to do. So the store may work there, and
// return at the deadline, even if the context is cancelled before.
func Unhurried(ctx context.Context) bool { return ctx.Value(unhurried.Key{}) != nil }
