package calls

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/space"
)

// jobs draws locks of jobs, from a generator of its own: names that come up as the
// processes run, which a few of them share.
func (c *Case) jobs(r *rand.Rand) {
	if r.IntN(4) > 0 {
		return
	}
	for range 1 + r.IntN(6) {
		c.Acts = append(c.Acts, Act{
			At: c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: Job, Process: r.IntN(len(c.Processes)),
			Election: 0, By: space.Between(r, c.RoundTrip, 2*c.Lease), Choice: r.IntN(3),
		})
	}
}

func jobName(i int) string { return "job" + strconv.Itoa(i) }

// job is a lock that somebody has held.
type job struct {
	life  *life
	term  *elector.Term
	since time.Duration
}

// jobLocks is what is known of the locks of jobs.
type jobLocks struct {
	mu    sync.Mutex
	held  map[string][]job  // by name, in the order in which they were granted
	asked map[int]time.Time // when somebody first asked for one, by world
}

// lock makes a process try to lock a job by its name, once, and hold the lock for
// Act.By.
func (r *run) lock(ctx context.Context, a Act, p *process) bool {
	l := p.current()
	if l == nil {
		return false
	}
	name := jobName(a.Choice)
	cfg := l.candidates[0].config
	cfg.Election, cfg.OnStarted, cfg.OnStopped, cfg.OnEvent, cfg.OnLeader, cfg.Logger = name, nil, nil, nil, nil, quiet
	e, err := elector.New(l.store, cfg)
	if err != nil {
		panic("calls: " + err.Error()) // as its candidates'
	}
	limited, cancel := context.WithTimeout(ctx, cfg.Lease)
	defer cancel()
	l.gate.Wait()
	began := time.Now()
	t, err := e.TryAcquire(limited)
	var held *elector.HeldError
	switch {
	case errors.As(err, &held):
		r.refused(p, name, held, began)
		return true
	case err != nil:
		return false
	}
	r.locked(p, name, job{l, t, r.recorder.Now()})
	select {
	case <-time.After(a.By):
	case <-t.Context().Done():
	case <-r.over:
	}
	limited, cancel = context.WithTimeout(context.Background(), 3*cfg.Lease)
	defer cancel()
	_ = t.Resign(limited) // it may have been lost
	return true
}

// locked notes who holds a job's lock: it must be the only one that lives and
// believes so, and have the largest token.
func (r *run) locked(p *process, name string, j job) {
	r.bite("job:locked")
	of := p.named(name)
	for _, other := range r.jobLocks.take(of, j) {
		if !r.endsLeases() && !other.life.gone() && other.term.Check(0) == nil && j.term.Check(0) == nil {
			r.Find(jobAlone, "%s locked %s with token %d while %s held it with token %d", p.name, of, j.term.Token(), other.life.process.name, other.term.Token())
		}
		if !r.losesCount() && other.term.Token() >= j.term.Token() {
			r.Find(jobAlone, "%s locked %s with token %d after token %d", p.name, of, j.term.Token(), other.term.Token())
		}
	}
}

// take notes that a lock was granted, and returns those that were before.
func (l *jobLocks) take(of string, j job) (before []job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = slices.Clone(l.held[of])
	l.held[of] = append(l.held[of], j)
	return before
}

// taken are the locks that were granted under a name.
func (l *jobLocks) taken(of string) []job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.held[of])
}

// refused looks whether it was right to refuse a lock that nobody has held yet.
func (r *run) refused(p *process, name string, held *elector.HeldError, began time.Time) {
	if held.Withheld == "" {
		r.bite("job:held")
		return
	}
	r.bite("job:withheld")
	of, locks := p.named(name), &r.jobLocks
	locks.mu.Lock()
	defer locks.mu.Unlock()
	since, asked := locks.asked[p.world()]
	if !asked {
		locks.asked[p.world()] = time.Now()
	}
	changed := r.hasOf(func(t trait) bool { return t.data || t.server })
	if asked && began.Sub(since) > r.longest() && len(locks.held[of]) == 0 && !changed && !r.uneven() && !r.rolls() {
		r.Find(jobAtOnce, "%s, which nobody has locked yet, was refused to %s: %s", of, p.name, held.Withheld)
	}
}
