// Package schedulers lets gocron (github.com/go-co-op/gocron/v2) run its jobs on one host of
// many, on top of any elector.Store. It is an example to copy, in two ways:
//
//   - Leader: one host leads, and runs all jobs. If it stops, another one leads.
//   - Locker: each job is locked by itself, each time. Hosts share the jobs.
package schedulers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
)

// Leader is a gocron.Elector: jobs run only on the host whose Elector leads. Somebody else must
// call the Elector's Run. gocron asks before each job and not while it runs: a job that must not
// overlap with another host's asks the Elector for OnlyLeader or sends the token.
type Leader struct{ Elector *elector.Elector }

var _ gocron.Elector = Leader{}

// IsLeader implements gocron.Elector.
func (l Leader) IsLeader(context.Context) error {
	if l.Elector == nil {
		return errors.New("schedulers: Leader has no Elector")
	}
	if !l.Elector.IsLeader() {
		return elector.ErrNotLeading
	}
	return nil
}

// Locker is a gocron.Locker: of hosts that start a job at about the same time, one runs it. See
// joblock.Run for what is guaranteed and for the errors. An *elector.HeldError is the normal
// case on all hosts but one. gocron tells the errors to listeners only (gocron.AfterLockError):
// report all others there, because perhaps nobody ran the job.
type Locker struct {
	store   elector.Store
	cfg     elector.Config
	options joblock.Options
	terms   sync.Map // by the job's name: *elector.Term
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker returns a Locker. The names of all its elections begin with cfg.Election, and all
// hosts must have the same. Options.AtLeast must be set, longer than the hosts' clocks may
// differ and shorter than the time from one start of a job to the next. Each run logs three
// lines: give cfg a Logger of level Warn.
func NewLocker(store elector.Store, cfg elector.Config, o joblock.Options) (*Locker, error) {
	if o.AtLeast <= 0 {
		return nil, fmt.Errorf("schedulers: Options.AtLeast is %v: set it longer than the hosts' clocks may differ, such as 5s, or two hosts run one job", o.AtLeast)
	}
	if _, err := elector.New(joblock.New(store, o.AtLeast, cfg.Drift, cfg.Clock), cfg); err != nil {
		return nil, err
	}
	return &Locker{store: store, cfg: cfg, options: o}, nil
}

// Lock implements gocron.Locker. The lock is renewed until it is unlocked.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	cfg := l.cfg
	cfg.Election = electionOf(cfg.Election, job)
	granted := make(chan struct{})
	h := &held{ended: make(chan struct{}), over: make(chan error, 1)}
	go func() {
		h.over <- joblock.Run(ctx, l.store, cfg, l.options, func(_ context.Context, t *elector.Term) error {
			l.terms.Store(job, t)
			defer l.terms.CompareAndDelete(job, t)
			close(granted)
			<-h.ended
			return nil
		})
	}()
	select {
	case <-granted:
		return h, nil
	case err := <-h.over:
		return nil, err
	}
}

// Term returns the term in which the job of that name runs on this host: for its token, and
// for its context, which is done when the lock is lost. gocron's own context is not. It is nil
// if the job does not run here.
func (l *Locker) Term(job string) *elector.Term {
	t, _ := l.terms.Load(job)
	term, _ := t.(*elector.Term)
	return term
}

// held is a lock that was granted.
type held struct {
	ended chan struct{} // closed when the job has
	over  chan error    // of joblock.Run
}

// Unlock implements gocron.Lock. The error says if the lock was lost before the job ended.
func (h *held) Unlock(context.Context) error {
	close(h.ended)
	return <-h.over
}

// longest is how long the name of an election may be: see store.CheckName.
const longest = 200

// electionOf is the name of the job's election, different for different jobs. A job may be
// called anything; gocron calls it by the name of its function if it has no other.
func electionOf(prefix, job string) string {
	name := prefix + ":" + url.PathEscape(job)
	if len(name) > longest {
		sum := fmt.Sprintf("%%-%x", sha256.Sum256([]byte(job))) // PathEscape never writes %-
		name = name[:longest-len(sum)] + sum
	}
	return name
}
