package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
)

// leader is what a candidate does with its terms: it runs the job.
type leader struct {
	timing
	command command
	policy  policy
	once    bool
	lock    *joblock.Lock // that keeps the lease for a least time; may be nil
	atMost  time.Duration // for how long the job may run; 0 if for ever
	hooks   hooks

	terminal bool // elect has a controlling terminal

	name, candidate string // what the job is told

	clock elector.Clock
	log   *slog.Logger
	guard *guard
	stop  context.CancelFunc // ends the candidacy

	start atomic.Int32                 // waiting, begun or gaveUp
	began time.Duration                // the work of the last term
	job   atomic.Pointer[job]          // that runs now, if one does
	term  atomic.Pointer[elector.Term] // the last one
	exit  atomic.Pointer[exitState]    // of the job that ended the candidacy
}

// What becomes of a candidacy that waits for its first term: the term begins, or the wait
// for it is over, and no term begins any more.
const (
	waiting = iota
	begun
	gaveUp
)

// giveUp ends the candidacy if its first term has not begun.
func (l *leader) giveUp() {
	if l.start.CompareAndSwap(waiting, gaveUp) {
		l.stop()
	}
}

// outcome says why a run of the job is over.
type outcome int

const (
	finished    outcome = iota // by itself
	interrupted                // because the term had to end
	unstarted                  // there was none: the term ended before
)

// lead is the work of a term. It returns when no process of the job is left.
func (l *leader) lead(ctx context.Context, t *elector.Term) {
	l.term.Store(t)
	if !l.start.CompareAndSwap(waiting, begun) && l.start.Load() == gaveUp || !l.roomy(t) {
		return
	}
	l.runHook("on-elected", l.hooks.elected, t, true)
	defer l.runHook("on-lost", l.hooks.lost, t, false)
	l.began = l.clock.Now()
	for pause := new(backOff); ; {
		started := l.clock.Now()
		state, how := l.runJob(t)
		switch how {
		case unstarted:
			return
		case interrupted:
			if l.once {
				l.exit.Store(&state)
			}
			return
		}
		l.log.Info("the job has ended", "token", t.Token(), "status", state.status, "after", l.clock.Now()-started)
		if !l.policy.again(state) {
			l.exit.Store(&state)
			l.stop()
			return
		}
		d := pause.next(l.clock.Now() - started)
		l.log.Warn("the job is started again after a pause", "pause", d)
		if !l.wait(ctx, d) {
			return
		}
	}
}

// wait waits for d; false if the term ends before that.
func (l *leader) wait(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	timer := l.clock.AfterFunc(max(d, 0), func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// runJob runs the job once, and ends it before the term does.
func (l *leader) runJob(t *elector.Term) (exitState, outcome) {
	if !l.roomy(t) {
		return exitState{}, unstarted
	}
	s := supervision{leader: l, term: t}
	l.guard.over(order{unborn, l.clock.Now(), s.deadline()}) // elect may be stopped as soon as the job has begun
	j, err := l.command.start(environment(t, l)...)
	if err != nil {
		l.guard.over(order{})
		l.log.Error("the job cannot be started", "error", err)
		return exitState{statusFailed, err}, finished
	}
	s.job = j
	if l.lock != nil {
		l.lock.Begin()
	}
	l.log.Info("the job has started", "token", t.Token(), "pid", j.group)
	l.job.Store(j)
	how := s.run()
	l.job.Store(nil)
	l.guard.over(order{})
	<-j.ended // also if it was abandoned
	return j.state, how
}

// roomy waits until the term is long enough for a job that is asked to end in
// time: a grant that came late may leave too little of it until the next
// renewal.
func (l *leader) roomy(t *elector.Term) bool {
	for t.Remaining() <= l.grace+l.margin {
		if !l.wait(t.Context(), l.chunk()) {
			return false
		}
	}
	return t.Context().Err() == nil
}

// supervision is the watch over one job in its term.
type supervision struct {
	*leader
	term *elector.Term
	job  *job

	asked    bool
	askedAt  time.Duration
	killed   bool
	killedAt time.Duration
	how      outcome
}

// killedPatience is how long elect waits for killed processes to end. One that the
// kernel holds does nothing more, but it may stay for ever.
const killedPatience = 2 * time.Second

// run returns when nobody of the job is left, or nobody that elect can end.
func (s *supervision) run() outcome {
	over, ended := s.term.Context().Done(), s.job.ended
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(s.act())
		if s.killed && s.clock.Now() > s.killedAt+killedPatience {
			s.abandon()
			return s.how
		}
		select {
		case <-s.job.gone:
			if ended != nil && s.guarded() { // both at one time: elect was held up
				s.how = interrupted
			}
			return s.how
		case <-ended:
			ended = nil
			if s.guarded() {
				s.how = interrupted
			}
			if !s.asked { // what it leaves behind must not outlive it
				s.ask()
			}
		case <-over:
			over = nil
			s.interrupt("the term ends")
		case <-timer.C:
		}
	}
}

// guarded reports whether the guard has ended the job in elect's place: while elect
// was suspended, say. The job did not end by itself then.
func (s *supervision) guarded() bool {
	return s.job.state.status == statusSignal+int(syscall.SIGKILL) && s.left() <= s.margin
}

// end is when the job must be gone, unless the term is renewed.
func (s *supervision) end() time.Duration {
	if s.atMost == 0 {
		return s.term.Until()
	}
	return min(s.term.Until(), s.began+s.atMost)
}

// deadline is when the guard kills the job: a moment after elect itself would do it.
func (s *supervision) deadline() time.Duration { return s.end() - s.margin/2 }

// left is how much time the job has, to its last moment.
func (s *supervision) left() time.Duration {
	return min(s.term.Remaining(), max(0, s.end()-s.clock.Now()))
}

// act does what is due, and returns how long there is nothing to do.
func (s *supervision) act() time.Duration {
	left := s.left()
	s.guard.over(order{s.job.group, s.job.began, s.deadline()})
	switch {
	case s.killed:
		s.job.kill() // who was started meanwhile
		return 10 * goneInterval
	case left <= s.margin:
		s.kill("its time is over")
		return s.chunk()
	case s.asked:
		patience := s.askedAt + s.drain - s.margin - s.clock.Now()
		if patience <= 0 {
			s.kill("it did not end when it was asked to")
			return s.chunk()
		}
		return min(s.chunk(), left-s.margin, patience)
	case left <= s.grace+s.margin:
		why := "the lease is about to end, and the store does not renew it"
		if left < s.term.Remaining() {
			why = "its longest time is about to end"
		}
		s.interrupt(why)
		// Whatever the store says now, the job is ending: so nobody is told any
		// more that this candidate leads.
		_ = s.term.Resign(context.Background()) // returns at once inside the work
		return s.chunk()
	default:
		return min(s.chunk(), left-s.grace-s.margin)
	}
}

// interrupt asks a job to end that has not done so by itself.
func (s *supervision) interrupt(why string) {
	if s.asked {
		return
	}
	s.how = interrupted
	s.log.Info("the job is asked to end", "token", s.term.Token(), "why", why, "left", s.term.Remaining())
	s.ask()
}

func (s *supervision) ask() {
	s.asked, s.askedAt = true, s.clock.Now()
	if list := s.job.ask(); s.how == finished && len(list) > 0 {
		s.log.Info("the job's first process has ended, and the others are asked to end", "token", s.term.Token(), "processes", names(list))
	}
}

func (s *supervision) kill(why string) {
	s.killed, s.killedAt = true, s.clock.Now()
	select {
	case <-s.job.gone:
		return // a moment ago
	case <-s.job.ended:
	default:
		s.how = interrupted
	}
	left := s.term.Remaining()
	s.log.Warn("the job is killed", "token", s.term.Token(), "why", why, "left", left, "processes", names(s.job.kill()))
}

// abandon ends the wait for processes that do not end although they were killed, or that
// elect may not kill because they run as another user.
func (s *supervision) abandon() {
	close(s.job.left)
	if list, err := s.job.members(); err != nil || len(living(list)) > 0 {
		s.log.Error("processes of the job are left: elect cannot end them, and gives the lease back", "token", s.term.Token(), "processes", names(living(list)), "error", err)
	}
}
