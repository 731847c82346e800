package elector

import (
	"context"
	"errors"
	"time"
)

// ErrUnsupported is the answer to a question that the elector's store cannot
// answer.
var ErrUnsupported = errors.New("elector: the store does not keep this")

// Roster is a Store that knows who competes.
type Roster interface {
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

// Chronicle is a Store that remembers past terms.
type Chronicle interface {
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

// Inspector is a Store that can say what its guarantee is worth where it runs.
type Inspector interface {
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

// Candidates lists the live candidates of the elector's election, itself
// included while it competes. The error is ErrUnsupported if the store is no
// Roster.
func (e *Elector) Candidates(ctx context.Context) ([]Candidate, error) {
	r, ok := e.store.(Roster)
	if !ok {
		return nil, ErrUnsupported
	}
	return r.Candidates(ctx, e.cfg.Election)
}

// History returns the last n terms of the elector's election, the latest
// first. The error is ErrUnsupported if the store is no Chronicle.
func (e *Elector) History(ctx context.Context, n int) ([]PastTerm, error) {
	c, ok := e.store.(Chronicle)
	if !ok {
		return nil, ErrUnsupported
	}
	return c.History(ctx, e.cfg.Election, n)
}

// Preflight says what the elector's guarantee is worth on the store's servers
// as they are. The error is ErrUnsupported if the store is no Inspector.
func (e *Elector) Preflight(ctx context.Context) (Preflight, error) {
	i, ok := e.store.(Inspector)
	if !ok {
		return Preflight{}, ErrUnsupported
	}
	return i.Preflight(ctx)
}
