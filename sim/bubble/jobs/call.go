package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/store"
)

// call is one call of a host for a job.
type call struct {
	run   *run
	life  *life
	lock  *lock
	tick  int
	does  Work
	began time.Duration
	ctx   context.Context
	stop  context.CancelFunc // of ctx
	limit *time.Timer        // of its patience; nil if that has no end
	done  chan struct{}      // closed when the job has ended
	ended chan struct{}      // closed when the call has returned

	facts // guarded by the run
}

// facts are what is known of a call.
type facts struct {
	id       string        // of its elector
	request  uint64        // the number of its last request for the lock
	asked    time.Duration // how long it had been made when it was cancelled
	bodies   int           // how often the job has begun
	refused  bool          // it was, and does not ask again
	token    uint64
	job      context.Context // of the job: to ask whether it is done takes no clock
	started  time.Duration   // when the job began
	own      time.Duration   // the same, by the host's clock
	stood    int             // how often its process had stood still by then
	working  bool
	result   error // of the job
	panicked bool  // the job has
	overdue  bool  // the term was over when the job ended
	resigned bool  // the job gave its term up
	others   bool  // somebody else was seen to lead
	returned time.Duration
}

func newCall(l *life, of *lock, tick int) *call {
	r := l.host.run
	c := &call{
		run: r, life: l, lock: of, tick: tick, does: r.Works[tick%len(r.Works)], began: r.now(),
		done: make(chan struct{}), ended: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(l.ctx)
	c.asked, c.returned = notYet, notYet
	if l.host.Patience > 0 {
		c.limit = time.AfterFunc(l.host.Patience, c.cancel)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return c
}

func (c *call) String() string {
	return fmt.Sprintf("%s for %s at tick %d", c.life.host.name, c.lock.name, c.tick)
}

// make makes the call, and looks at what came of it.
func (c *call) make() {
	defer c.stop()
	c.run.tell("%v: calls, and would do %v", c, c.does)
	go c.expectAnswer()
	panicked, err := c.ask()
	c.life.gate.Wait()
	text, _, _ := strings.Cut(fmt.Sprint(err), "\n") // without the stack of a panic, which differs each time
	c.run.tell("%v: returns %v %v", c, text, panicked)
	c.run.mu.Lock()
	c.returned = c.run.now()
	c.run.mu.Unlock()
	close(c.ended)
	if c.limit != nil {
		c.limit.Stop()
	}
	c.judge(panicked, err)
}

// ask asks for the lock, and runs the job if it gets it.
func (c *call) ask() (panicked any, err error) {
	defer func() { panicked = recover() }()
	r, store := c.run, asking{c.life.store, c}
	cfg := elector.Config{Election: c.lock.name, ID: c.life.host.name, Lease: r.Lease, Drift: r.Drift, Clock: c.life.clock, Logger: quiet}
	if c.life.host.Call == Run {
		return nil, joblock.Run(c.ctx, store, cfg, joblock.Options{AtLeast: r.AtLeast, AtMost: r.AtMost}, c.body)
	}
	return nil, c.elect(store, cfg)
}

// elect does as elect run --once.
func (c *call) elect(store elector.Store, cfg elector.Config) error {
	monitor, err := health.New(health.Options{})
	if err != nil {
		return err
	}
	lock, w := joblock.New(store, c.run.AtLeast, cfg.Drift, cfg.Clock), watched{call: c, monitor: monitor}
	cfg.Once = true
	cfg.OnStarted = func(ctx context.Context, t *elector.Term) {
		lock.Begin()
		go w.watch()
		_ = c.body(ctx, t) // nobody is told
	}
	cfg.OnLeader = func(l elector.Leader) {
		if c.life.host.Call == Once && l.ID != w.elector.ID() && !w.elector.IsLeader() {
			c.sawOthers()
			c.cancel()
		}
	}
	if w.elector, err = instrument.New(lock, cfg, monitor); err != nil {
		return err
	}
	defer w.look()
	return w.elector.Run(c.ctx)
}

// cancel cancels the call.
func (c *call) cancel() {
	r := c.run
	r.mu.Lock()
	if c.asked == notYet {
		c.asked = r.now() - c.began
	}
	r.mu.Unlock()
	c.stop()
}

func (c *call) sawOthers() {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.others = true
}

// asking is the store of a call, which gets to know its elector by it.
type asking struct {
	elector.Store
	call *call
}

// Unwrap is the store, which store.Suits asks.
func (s asking) Unwrap() elector.Store { return s.Store }

// Acquire implements elector.Store.
func (s asking) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	r := s.call.run
	r.mu.Lock()
	s.call.id, s.call.request = a.ID, a.Request
	r.mu.Unlock()
	grant, err := s.Store.Acquire(ctx, a)
	time.Sleep(r.apart(s.call.lock)) // answers of several locks may come in one message
	r.mu.Lock()
	last := s.call.request == a.Request // else it was given up, and what it has come to counts no more
	r.mu.Unlock()
	var held *elector.HeldError
	switch {
	case !last || !errors.As(err, &held):
	case held.Withheld != "":
		r.see("withheld")
		r.mu.Lock()
		s.call.judgeWithheld(held)
		r.mu.Unlock()
	case s.call.life.host.Call == Run:
		go s.call.expectRefused()
	}
	return grant, err
}

// Renew implements elector.Store.
func (s asking) Renew(ctx context.Context, l store.Lease) error {
	defer time.Sleep(s.call.run.apart(s.call.lock))
	return s.Store.Renew(ctx, l)
}

// Release implements elector.Store.
func (s asking) Release(ctx context.Context, l store.Lease) error {
	defer time.Sleep(s.call.run.apart(s.call.lock))
	return s.Store.Release(ctx, l)
}

// body is the job.
func (c *call) body(ctx context.Context, t *elector.Term) (err error) {
	c.life.gate.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.limit != nil && !c.life.host.Limits {
		c.limit.Stop()
	}
	c.begins(ctx, t)
	defer func() { c.finishes(t, err) }()
	if c.does.Ends == Resigns {
		c.pass(ctx, c.does.Takes/2)
		c.resigns(t)
	}
	c.pass(ctx, c.does.Takes)
	switch c.does.Ends {
	case Fails:
		return errJob
	case Yields:
		return ctx.Err()
	case Panics:
		c.panics()
	}
	return nil
}

// errJob is the error of a job that fails, and what it panics with.
var errJob = errors.New("the job has failed")

func (c *call) panics() {
	c.run.mu.Lock()
	c.panicked = true
	c.run.mu.Unlock()
	panic(errJob)
}

// resigns gives the term up.
func (c *call) resigns(t *elector.Term) {
	c.run.mu.Lock()
	c.resigned = true
	c.run.mu.Unlock()
	_ = t.Resign(c.ctx) // the job goes on, whatever became of it
}

// pass lets the job's time pass, or what its context leaves of it.
func (c *call) pass(ctx context.Context, takes time.Duration) {
	var passed <-chan time.Time
	if takes < Forever/2 {
		passed = time.After(takes)
	}
	done := ctx.Done()
	if c.does.Heeds == Never {
		done = nil
	}
	select {
	case <-passed:
	case <-done:
		if c.does.Heeds == Slowly {
			c.linger()
		}
	case <-c.run.over:
	case <-c.life.gone:
	}
	c.life.gate.Wait()
}

// linger is how a job ends that heeds its context slowly.
func (c *call) linger() {
	select {
	case <-time.After(c.run.Lease + c.run.Lease/2):
	case <-c.run.over:
	case <-c.life.gone:
	}
}

// begins notes that the job begins.
func (c *call) begins(ctx context.Context, t *elector.Term) {
	over := t.Check(0)
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	c.bodies++
	c.token, c.job, c.working = t.Token(), ctx, true
	c.started, c.own, c.stood = r.now(), c.life.clock.Clock.Now(), c.life.stood
	if c.life.dead {
		return
	}
	r.tell("%v: begins with token %d", c, c.token)
	r.see("began")
	h := c.lock.byToken(c.token)
	if h == nil || h.id != c.id {
		r.find(tokensGrow, "%v: the job begins with token %d, which its elector was never granted", c, c.token)
		return
	}
	h.call = c
	if c.refused {
		r.find(refusals, "%v: the job begins, and the lock was refused", c)
	}
	if c.asked != notYet && r.now()-c.began-c.asked > unit && !c.excused() {
		r.find(jobRuns, "%v: the job begins, and the call was cancelled before", c)
	}
	if over != nil && !c.excused() {
		r.find(holdsLock, "%v: the job begins in a term that is over", c)
	}
	go c.awaitEnd()
	go c.expectDeadlines(t)
	go c.expectCallers()
	if r.AtMost > 0 && c.life.host.Call == Run {
		go c.expectMost()
	}
}

// finishes notes that the job has ended.
func (c *call) finishes(t *elector.Term, err error) {
	c.life.gate.Wait()
	over := t.Context().Err() != nil
	r := c.run
	r.mu.Lock()
	c.working, c.result, c.overdue = false, err, over
	r.mu.Unlock()
	r.tell("%v: ends", c)
	close(c.done)
	go c.expectReturn()
	go c.expectFree("the job has ended")
}
