package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/sim/space"
)

// Obligations are what the documents of joblock, and of what is used beside it, say.
// Every case is held to them.
var Obligations = space.Obligations{
	onlyOne:      "while the job's context is not done, nobody else has the lock",
	holdsLock:    "while the job's context is not done, the lock is held: it is renewed in the background, and the term's deadline lies within it",
	keptUp:       "the job's context is done when ctx is, when the lock is lost, or when AtMost has passed, and not before",
	leastTime:    "nobody else gets the lock before AtLeast has passed since it was granted",
	mostTime:     "when AtMost has passed since the grant was known, the job's context is done",
	callersTime:  "the job's context is done when ctx is",
	freeAgain:    "the lock is given back when the job has ended or its longest time is over, or ends by itself when AtLeast is; after a crash also one Lease after the last renewal",
	tokensGrow:   "each run has a fencing token, larger than that of every run before it",
	jobRuns:      "Run runs the job if it gets the lock, gets it if nobody has it, and asks until ctx is done",
	jobOnce:      "Run runs the job once at the most",
	refusals:     "a HeldError says that somebody else has the lock, or had it a moment ago, or for how long the store gives it to nobody",
	errorsSay:    "the error is the job's, joined with ErrLost or ErrTooLong if the lock ended before the job; a panic is the caller's",
	returnsSoon:  "Run returns when the store has confirmed that the lock is given back, or can no longer be waited for",
	notBegun:     "a host that was granted the lock and does not start the job leaves it to the others at once",
	nextInLine:   "who stands by gets the lock when it is free",
	retireSpares: "Retire does nothing while somebody holds the lease, or may believe in one",
	healthAgrees: "what a health.Monitor says of who leads is Elector.IsLeader at that moment; Live fails only where a restart would help",
	leaderOnly:   "OnlyLeader makes a function that only the leader executes",
	settingsFit:  "settings that do not fit together are refused, and the error names both: Options.Expire is at least twice as long as any lease",
	nothingLeft:  "when everybody has ended nobody holds the lock, and no connection is left",
}

// The names of the obligations.
const (
	onlyOne      = "one at a time"
	holdsLock    = "holds the lock"
	keptUp       = "kept up"
	leastTime    = "least time"
	mostTime     = "longest time"
	callersTime  = "caller's context"
	freeAgain    = "free again"
	tokensGrow   = "tokens"
	jobRuns      = "job runs"
	jobOnce      = "job once"
	refusals     = "refusals"
	errorsSay    = "errors"
	returnsSoon  = "returns"
	notBegun     = "not begun"
	nextInLine   = "next in line"
	retireSpares = "retire spares"
	healthAgrees = "health agrees"
	leaderOnly   = "leader only"
	settingsFit  = "settings fit"
	nothingLeft  = "nothing left"
)

// What is expected of the server. The run is locked.

// expectLeast expects that the lock is granted no earlier than its least time after the
// last grant, and lasts for as long.
func (r *run) expectLeast(l *lock, h *holding) {
	if lasts := h.ends - h.wall; lasts < r.AtLeast-unit {
		r.find(leastTime, "%s: token %d is granted for %v", l.name, h.token, lasts)
	}
	if len(l.held) == 0 {
		return
	}
	last := l.held[len(l.held)-1]
	if last.call != nil && h.wall-last.wall < r.AtLeast-unit && h.at-last.at < r.AtLeast-unit {
		r.find(leastTime, "%s: token %d is granted %v after token %d, whose job has begun", l.name, h.token, h.at-last.at, last.token)
	}
}

// expectAlone expects that nobody else runs the job when the lock is granted.
func (r *run) expectAlone(l *lock, h *holding) {
	for _, c := range r.calls {
		if c.lock == l && c.holdsOn() && !r.control.Stepped() {
			r.find(onlyOne, "%s: token %d is granted to %s while %v runs with token %d, and its context is not done", l.name, h.token, h.id, c, c.token)
		}
	}
}

// expectLasts expects that the lock lasts for its least time, and not for longer than
// that or a lease.
func (r *run) expectLasts(l *lock, h *holding) {
	wall := r.control.Clock()
	if r.control.Stepped() {
		return
	}
	if short := h.wall + r.AtLeast - unit - h.ends; short > 0 {
		r.find(leastTime, "%s: token %d is renewed, and ends %v before its least time", l.name, h.token, short)
	}
	long := h.ends - max(wall+r.Lease, h.wall+r.AtLeast+r.excess())
	if long > 2*unit && r.calm(nil, h.at, r.now()) {
		r.find(freeAgain, "%s: token %d lasts %v longer than its least time and a lease", l.name, h.token, long)
	}
	if c := h.call; c != nil && c.returned != notYet && r.now()-c.returned > r.crossing() && r.calm(nil, h.at, r.now()) {
		r.find(nothingLeft, "%v: token %d is renewed, and the call has returned", c, h.token)
	}
}

// expectOver expects that the job was told before the lock ended.
func (r *run) expectOver(l *lock, h *holding, how string) {
	if c := h.call; c != nil && c.holdsOn() && !r.control.Stepped() {
		r.find(holdsLock, "%s: token %d %s while %v runs, and its context is not done", l.name, h.token, how, c)
	}
}

// expectBegin expects that the job begins soon after the grant.
func (r *run) expectBegin(l *lock, h *holding) {
	time.AfterFunc(r.soon(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.calls {
			if c.lock != l || c.id != h.id || h.call != nil || c.ctx.Err() != nil || c.life.dead {
				continue
			}
			if r.calm(c.life.host, c.began, r.now()) {
				r.find(jobRuns, "%v: token %d was granted %v ago, and the job has not begun", c, h.token, r.now()-h.at)
			}
		}
	})
}

// expectNext expects that the lock is granted to somebody who stands by.
func (r *run) expectNext(l *lock, h *holding) {
	granted := len(l.held)
	if r.unsure() {
		return
	}
	time.AfterFunc(r.slowest(r.Lease)+r.soon(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.calls {
			waits := c.lock == l && c.life.host.Call == Standby && c.bodies == 0 && c.began < h.over && c.ctx.Err() == nil && !c.life.dead
			if waits && len(l.held) == granted && r.calm(nil, c.began, r.now()) && !r.unsure() {
				r.find(nextInLine, "%v stands by, and the lock is free since %v", c, h.over)
			}
		}
	})
}

// expectNothingLeft looks around when everybody has ended.
func (r *run) expectNothingLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.served.Load(); n > 0 && !r.has(Strand) { // a server does not learn that a half-open one is closed
		r.find(nothingLeft, "%d connections are open", n)
	}
	for _, l := range r.locks {
		if h := l.present(); h != nil && !r.control.Stepped() {
			r.find(nothingLeft, "%s is held with token %d for %v", l.name, h.token, h.ends-r.control.Clock())
		}
	}
}

// What is expected of a call.

// expectRefused expects a call of Run to return that was refused the lock.
func (c *call) expectRefused() {
	r := c.run
	c.life.gate.Wait()
	r.mu.Lock()
	c.refused = true
	r.mu.Unlock()
	time.Sleep(r.soon())
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.returned == notYet && !c.excused() && r.calm(c.life.host, c.began, r.now()) {
		r.find(refusals, "%v: it was refused the lock %v ago, and has not returned", c, r.soon())
	}
}

// awaitEnd waits for the end of the job's context, and looks for the reason.
func (c *call) awaitEnd() {
	select {
	case <-c.job.Done():
	case <-c.done:
		return
	}
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if !c.working || c.excused() {
		return
	}
	cause, passed := context.Cause(c.job), c.life.clock.Clock.Now()-c.own
	r.tell("%v: its context is done: %v", c, cause)
	switch {
	case errors.Is(cause, joblock.ErrTooLong):
		r.see("too long")
		if passed < r.AtMost-time.Microsecond {
			r.find(mostTime, "%v: it is told after %v that its longest time is over", c, passed)
		}
		go c.expectFree("its longest time is over")
	case c.ctx.Err() != nil:
		r.see("cancelled")
	case c.resigned:
		r.see("resigned")
	case !r.calm(c.life.host, r.now(), r.now()):
		r.see("lost")
	default:
		r.find(keptUp, "%v: its context is done after %v: %v", c, passed, cause)
	}
}

// expectDeadlines expects the term's deadline to lie within the lock, as long as the job
// runs. It looks several times between two renewals.
func (c *call) expectDeadlines(t *elector.Term) {
	for {
		c.expectDeadline(t)
		select {
		case <-time.After(c.run.Lease / 10):
		case <-c.done:
			return
		}
	}
}

func (c *call) expectDeadline(t *elector.Term) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	h := c.lock.present()
	if h == nil || h.token != c.token || !c.holdsOn() || r.control.Stepped() {
		return
	}
	deadline := c.life.clock.Real(t.Until()) - c.life.host.Uptime - r.now() // the clock of the host, on that of the run
	if ends := h.ends - r.control.Clock(); deadline > ends {
		r.find(holdsLock, "%v: the term's deadline is in %v, and token %d is held for %v", c, deadline, c.token, ends)
	}
}

// expectMost expects the job's context to be done when its longest time is over.
func (c *call) expectMost() {
	r := c.run
	select {
	case <-time.After(time.Duration(float64(r.AtMost)/c.life.host.rate()) + unit):
	case <-c.done:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.holdsOn() && c.life.stood == c.stood {
		r.find(mostTime, "%v: the job has run for %v, and its context is not done", c, r.now()-c.started)
	}
}

// expectCallers expects the job's context to be done when the caller's is.
func (c *call) expectCallers() {
	select {
	case <-c.ctx.Done():
	case <-c.done:
		return
	}
	time.Sleep(unit)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.holdsOn() {
		c.run.find(callersTime, "%v: the caller's context is done, and the job's is not", c)
	}
}

// expectFree expects the lock to be free, or to end by itself when it must.
func (c *call) expectFree(why string) {
	r := c.run
	time.Sleep(r.crossing())
	r.mu.Lock()
	defer r.mu.Unlock()
	h := c.lock.byToken(c.token)
	if h == nil || h.over != notYet || h.left || c.excused() || !r.calm(c.life.host, c.started, r.now()) {
		return
	}
	if long := h.ends - max(r.control.Clock(), h.wall+r.AtLeast+r.excess()); long > 0 {
		r.find(freeAgain, "%v: %s, and token %d is held for %v, which is %v too long", c, why, c.token, h.ends-r.control.Clock(), long)
	}
}

// expectReturn expects the call to return when the job has ended: soon, or when the lock
// has ended by itself.
func (c *call) expectReturn() {
	r := c.run
	time.Sleep(r.soon())
	c.expectReturned(true)
	time.Sleep(r.slowest(r.Lease+3*r.request()) + unit)
	c.expectReturned(false)
}

func (c *call) expectReturned(soon bool) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.returned != notYet || c.excused() || c.life.stood != c.stood || soon && !r.calm(c.life.host, c.started, r.now()) {
		return
	}
	r.find(returnsSoon, "%v: the job has ended long ago, and the call has not returned", c)
}

// expectAnswer expects the call to return soon when it is cancelled and the job has not
// begun.
func (c *call) expectAnswer() {
	select {
	case <-c.ctx.Done():
	case <-c.ended:
		return
	}
	r := c.run
	r.mu.Lock()
	stood, still := c.life.stood, c.life.still
	r.mu.Unlock()
	time.Sleep(2 * r.Lease)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.returned == notYet && c.bodies == 0 && !c.excused() && !still && c.life.stood == stood {
		r.find(returnsSoon, "%v: it was cancelled %v ago, and has not returned", c, 2*r.Lease)
	}
}
