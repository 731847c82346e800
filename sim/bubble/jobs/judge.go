package jobs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
)

// judge looks at what a call has returned.
func (c *call) judge(panicked any, err error) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.life.dead:
		return
	case !r.fits() && (c.bodies > 0 || err == nil || !strings.Contains(err.Error(), r.Expire.String())):
		r.find(settingsFit, "%v: keys expire after %v, and a lock lasts for %v: the call returns %v", c, r.Expire, r.lasts(), err)
	case !r.fits():
		r.see("unfit")
		return
	case c.bodies > 1:
		r.find(jobOnce, "%v: the job ran %d times", c, c.bodies)
	case c.life.host.Call != Run:
		c.judgeElected(panicked, err)
	case c.bodies == 1:
		c.judgeRun(panicked, err)
	case err == nil:
		r.find(errorsSay, "%v: the job did not run, and the call returns nil and %v", c, panicked)
	default:
		c.judgeRefused(err)
	}
	if c.bodies == 0 {
		go c.expectLeft()
	} else {
		c.expectGivenBack()
	}
}

// judgeRun looks at what joblock.Run has returned that ran the job.
func (c *call) judgeRun(panicked any, err error) {
	tooLong, lost := errors.Is(err, joblock.ErrTooLong), errors.Is(err, joblock.ErrLost)
	notified := errors.Is(context.Cause(c.job), joblock.ErrTooLong)
	excused := c.life.stood != c.stood || c.excused()
	wrong := ""
	switch {
	case (panicked != nil) != c.panicked || panicked != nil && panicked != errJob: //nolint:errorlint // it is this very value
		wrong = "the panic is another one"
	case c.panicked:
	case c.result != nil && !errors.Is(err, c.result):
		wrong = "the job's error is missing"
	case tooLong && lost, (tooLong || lost) && !errors.Is(err, elector.ErrTermOver):
		wrong = "ErrLost and ErrTooLong exclude each other, and are both of a term that is over"
	case notified && !tooLong:
		wrong = "the job was told that its longest time is over"
	case tooLong && !notified && !excused && c.life.clock.Clock.Now()-c.own < c.run.AtMost:
		wrong = "the job's longest time was not over"
	case c.overdue && !notified && !lost:
		wrong = "the lock was lost"
	case lost && !c.overdue && !excused:
		wrong = "the lock was not lost"
	case c.result == nil && !tooLong && !lost && err != nil:
		wrong = "all went well"
	}
	if wrong != "" {
		c.run.find(errorsSay, "%v: the call returns %v and panics with %v: %s", c, err, panicked, wrong)
	}
}

// judgeElected looks at what the Run of an elector has returned.
func (c *call) judgeElected(panicked any, err error) {
	var fatal *elector.FatalError
	var of *elector.PanicError
	r := c.run
	switch {
	case panicked == nil && errors.As(err, &fatal) && r.has(Refuse):
	case panicked != nil, errors.As(err, &of) != c.panicked, err != nil && !c.panicked:
		r.find(errorsSay, "%v: the call returns %v and panics with %v", c, err, panicked)
	case c.bodies > 0:
	case c.others:
		r.see("held")
		c.expectHeld("somebody else is said to lead")
	case c.ctx.Err() == nil:
		r.find(errorsSay, "%v: the call returns nil, and the job did not run", c)
	default:
		c.judgeGivenUp()
	}
}

// judgeRefused looks at why the job did not run.
func (c *call) judgeRefused(err error) {
	var held *elector.HeldError
	var fatal *elector.FatalError
	r := c.run
	switch {
	case errors.As(err, &held) && held.Withheld != "":
		r.find(refusals, "%v: it says that the job need not run, and nobody knows that: %v", c, err)
	case errors.As(err, &held) && held.Holder == c.id:
		r.find(refusals, "%v: it is refused the lock, which its own elector has: %v", c, err)
	case errors.As(err, &held):
		r.see("held")
		c.expectHeld(err.Error())
	case errors.As(err, &fatal) && r.has(Refuse):
	case c.ctx.Err() != nil && errors.Is(err, joblock.ErrUndecided):
		c.judgeGivenUp()
	default:
		r.find(errorsSay, "%v: the job did not run, and the call returns %v", c, err)
	}
}

// expectHeld expects that somebody else held the lock during the call.
func (c *call) expectHeld(says string) {
	if !c.run.control.Stepped() && !c.lock.heldBetween(c.began, c.run.now(), c.id) {
		c.run.find(refusals, "%v: nobody has held the lock since %v, and %s", c, c.began, says)
	}
}

// judgeWithheld looks at a refusal of a lock that nobody holds.
func (c *call) judgeWithheld(held *elector.HeldError) {
	r := c.run
	long := c.lock.asked != notYet && r.now()-c.lock.asked > r.longest(held)+r.soon()
	switch {
	case r.control.Stepped():
	case !r.unsure():
		r.find(refusals, "%v: the server cannot have forgotten anything: %v", c, held)
	case long && r.calm(c.life.host, c.began, r.now()):
		r.find(refusals, "%v: the lock is given to nobody since %v: %v", c, c.lock.asked, held)
	case held.Remaining > r.longest(held)+unit:
		r.find(refusals, "%v: no lease lasts that long: %v", c, held)
	}
}

// longest is for how long the lock may be withheld: as long as it lasts, and twice as long
// from candidates that count on other leases.
func (r *run) longest(held *elector.HeldError) time.Duration {
	if strings.Contains(held.Withheld, "candidates that were heard of lately") {
		return 2 * r.lasts()
	}
	return r.lasts()
}

// judgeGivenUp looks at a call that was cancelled before the job began.
func (c *call) judgeGivenUp() {
	r := c.run
	r.see("gave up")
	waits := c.life.host.Call == Standby || r.unsure()
	if !waits && c.asked > r.soon() && r.calm(c.life.host, c.began, r.now()) {
		r.find(jobRuns, "%v: it has asked for %v in vain, and was cancelled", c, c.asked)
	}
}

// expectGivenBack expects that the store has confirmed that the lock is given back, or
// left to end by itself, when the call returns.
func (c *call) expectGivenBack() {
	r := c.run
	h := c.lock.byToken(c.token)
	if h == nil || h.over != notYet || h.left || !r.calm(c.life.host, c.started, r.now()) {
		return
	}
	if long := h.ends - max(r.control.Clock(), h.wall+r.AtLeast+r.excess()); long > 0 {
		r.find(returnsSoon, "%v: the call returns, and token %d is held for %v, which is %v too long", c, c.token, h.ends-r.control.Clock(), long)
	}
}

// expectLeft expects that a call that did not run the job has left the lock to others.
func (c *call) expectLeft() {
	r := c.run
	time.Sleep(r.crossing())
	r.mu.Lock()
	defer r.mu.Unlock()
	h := c.lock.present()
	if h != nil && h.id == c.id && h.id != "" && !c.life.dead && r.calm(c.life.host, c.began, r.now()) {
		r.find(notBegun, "%v: the call has returned, and has token %d for %v", c, h.token, h.ends-r.control.Clock())
	}
}
