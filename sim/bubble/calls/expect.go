package calls

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// What is owed in time, where nothing else goes on.

// quietAround reports whether no other act disturbs the act's election, or all of its
// world, from so long before the act to so long after it, and all processes of that
// world are plain and have what they need.
func (r *run) quietAround(i int, a Act, w int, before, after time.Duration) bool {
	for j, p := range r.processes {
		if r.world(j) == w && !p.behavior().plain() {
			return false
		}
	}
	return r.still(i, a, w, before, after)
}

// still is quietAround, however the processes behave.
func (r *run) still(i int, a Act, w int, before, after time.Duration) bool {
	if r.far() || r.halfOpen(w) {
		return false
	}
	for j, other := range r.Acts {
		near := other.forgotten(r.Lease) > a.At-before && other.At < a.At+after
		if j != i && near && !a.survives(other) && r.disturbs(other, a, w) {
			return false
		}
	}
	return true
}

// halfOpen reports whether a process of the world has a connection that is half open:
// a process that sends on it, or listens there, has yet to find out.
func (r *run) halfOpen(w int) bool {
	return slices.ContainsFunc(r.processes, func(p *process) bool { return p.world() == w && p.link.HalfOpen() })
}

// disturbs reports whether an act may disturb the election of another one, which is
// in that world.
func (r *run) disturbs(other, a Act, w int) bool {
	switch table[other.Kind].reach {
	case nobody:
		return false
	case one:
		return r.world(other.Process) == w && other.Election == a.Election
	case world:
		return r.world(other.Process) == w
	default:
		return true
	}
}

// expectSuccessor expects somebody to be elected where a process led that has died,
// resigned or stopped.
func (r *run) expectSuccessor(ctx context.Context, i int, a Act, p *process, led []*candidate, since time.Duration) {
	for _, c := range led {
		clock := c.life.clock // which may be fast
		lasts := clock.Real(clock.Now()+c.drainTime()) - clock.Real(clock.Now()) - c.config.RequestTimeout - r.RoundTrip
		if a.Kind != Kill && c.holdsOn() && r.keeps(i, c.hit(a, since), p, lasts) {
			go r.expectKept(ctx, c, since, since+lasts, a.Kind)
		}
	}
	if !r.others(p) || !r.timely(p.world()) {
		return
	}
	for _, c := range led {
		obligation, bound := slowFailover, r.Lease+max(r.Lease/10, 2*r.longestRetry())+6*r.RoundTrip
		if a.Kind != Kill {
			drains, ends := c.drains(a.Kind)
			if !ends || !c.opens() { // the release may go beside a renewal, on a connection of its own
				continue
			}
			obligation, bound = slowResignation, max(r.Lease/5, 3*r.longestRetry())+r.longestRetry()+6*r.RoundTrip+drains
		}
		act := c.hit(a, since)
		anew := r.anew(act, p.world())
		bound += anew + r.believed(c, since)
		if (anew == 0 || c.repeats()) && r.still(i, act, p.world(), r.Lease/2, bound) {
			go r.expectElection(ctx, obligation, c, since, bound, a.Kind)
		}
	}
}

// hit is the act as it hits the candidate alone, from then on.
func (c *candidate) hit(a Act, since time.Duration) Act {
	a.At, a.Election = since, c.index
	return a
}

// holdsOn reports whether the candidate's work goes on for as long as a leader that
// resigns or stops waits for it.
func (c *candidate) holdsOn() bool {
	return c.callsWork() && (c.behavior.Works == Late || c.behavior.Works == Never)
}

// drainTime is how long a leader that resigns or stops waits for the candidate's work, which
// holds on.
func (c *candidate) drainTime() time.Duration {
	if c.behavior.Works == Late {
		return min(c.config.DrainTimeout, lateness*c.config.Lease)
	}
	return c.config.DrainTimeout
}

// keeps reports whether no other act takes the lease away from who holds on to it, nor the
// way to the store, from a lease before the act to so long after it.
func (r *run) keeps(i int, a Act, p *process, lasts time.Duration) bool {
	if r.halfOpen(p.world()) || r.far() {
		return false
	}
	for j, other := range r.Acts {
		if j == i || other.forgotten(r.Lease) < a.At-r.Lease || other.At > a.At+lasts {
			continue
		}
		t := table[other.Kind]
		here := t.reach == all || r.world(other.Process) == p.world()
		process := other.Leader || r.processes[other.Process] == p
		switch {
		case !here || t.data && t.reach == one && other.Election != a.Election:
		case t.data, t.server, t.way, other.Kind >= NoWrites:
			return false
		case t.reach == world && (!t.ordinary || process): // a connection, or a process that is killed
			return false
		}
	}
	return true
}

// expectKept expects nobody to be elected as long as a leader that resigned or stopped
// waits for its work.
func (r *run) expectKept(ctx context.Context, c *candidate, since, until time.Duration, why Kind) {
	sleep(ctx, until-r.recorder.Now())
	if r.ending() || c.life != c.life.process.current() {
		return
	}
	if next := r.nextIn(c.name, since, until); next != "" {
		c.find(keptForWork, "%s was elected within %v after the leader %s was told to %s, although the leader's work had not returned and its DrainTimeout is %v",
			next, until-since, c.life.process.name, why, c.config.DrainTimeout)
		return
	}
	r.bite("kept for its work:" + why.String())
}

// anew is how long a listener needs to listen again, and to ask, if the server closed
// connections of the act's world just before it; 0 if it did not.
func (r *run) anew(a Act, w int) (most time.Duration) {
	for _, other := range r.Acts {
		if a.survives(other) && r.world(other.Process) == w && other.At > a.At-r.Lease/2 {
			most = 2*r.longestRetry() + 12*r.RoundTrip
		}
	}
	if most > 0 && r.anyone(func(m Behavior) bool { return m.Foreign }) {
		most += time.Second // go-redis gives an error of the past to everybody for so long
	}
	return most
}

// believed is how much later the next term of an election may begin because a foreign message has
// announced a token since the one was granted that was held at that time: a candidate that
// keeps it in mind looks as if the server had lost a term.
func (r *run) believed(c *candidate, held time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	granted := time.Duration(0)
	for _, g := range r.grants[c.name] {
		if g.to == c.life.process.name && g.at < held {
			granted = max(granted, g.at)
		}
	}
	for _, a := range r.Acts {
		if a.Kind == Message && a.At > granted && a.Election == c.index {
			return r.longest() + r.longest()/5 // and the pause until it asks again
		}
	}
	return 0
}

// survives reports whether what the act is owed is owed, or a little later, if another one
// was before it: a hand-over that is long done leaves nothing behind.
func (a Act) survives(other Act) bool {
	return a.Kind == Resign && other.Kind == Hangup && other.At <= a.At ||
		(a.Kind == Resign || a.Kind == Stop) && other.Kind == Transfer && other.At+handsOver < a.At
}

// handsOver is after what time a hand-over is done, if nothing else happens.
const handsOver = time.Second

// timely reports whether all processes of the world use the same lease, have correct clocks,
// and a RequestTimeout of at most a fifth of the lease. Only then must a lease that is
// passed on to a request of three quarters of a lease before be usable.
func (r *run) timely(w int) bool {
	for i, m := range r.Processes {
		if r.world(i) == w && (m.Lease > 0 || m.Drift > 0 || m.Skew != 0 || m.rolls() || m.Timing.RequestTimeout > 1./5) {
			return false
		}
	}
	return true
}

// drains is how long it takes at most until the candidate gives its lease back, when
// it resigns or is stopped, and whether that is known: work that does not end is waited
// for, but not for ever.
func (c *candidate) drains(why Kind) (most time.Duration, known bool) {
	m := c.behavior
	switch {
	case c.callsWork() && m.Works == Slowly:
		return min(c.config.Lease/2, c.config.DrainTimeout), true
	case c.holdsOn():
		return c.drainTime(), true
	default:
		return 0, m.Works == AtOnce || c.callsWork() || why == Resign
	}
}

func (r *run) expectElection(ctx context.Context, obligation string, c *candidate, since, bound time.Duration, why Kind) {
	sleep(ctx, since+bound-r.recorder.Now())
	switch {
	case r.ending():
	case r.electedBetween(c.name, since, since+bound, r.standsBack(c, since, why)):
		r.bite("successor:" + why.String())
	case why == Kill && r.elsewhere(c, since, since+bound) || why != Kill && r.elsewhere(c, 0, since+bound):
		obligation = foreignHint
		fallthrough
	default:
		r.Find(obligation, "nobody was elected in %s for %v after %v, when its leader %s left: %s", c.name, bound, since, c.life.process.name, why)
	}
}

// standsBack is the leader that has resigned, where the others are near enough to be
// faster, and hear of it: it stands back for a retry's pause at the least, unless its
// caller tells it to compete anew.
func (r *run) standsBack(c *candidate, since time.Duration, why Kind) string {
	deaf := r.anyone(func(m Behavior) bool { return m.Deaf })                                // it may be named as the one who may ask first
	late := r.believed(c, since) + r.anew(Act{Kind: why, At: since}, c.life.process.world()) // then it may be as fast as the others
	if why == Resign && c.callsWork() && r.RoundTrip < r.Lease/100 && !deaf && late == 0 {
		return c.life.process.name
	}
	return ""
}

// others reports whether another process of the world that is plain has lived for some
// time, so that somebody can succeed. A process that calls Campaign pauses between two calls.
func (r *run) others(p *process) bool {
	for _, other := range r.processes {
		m := other.behavior()
		if l := other.current(); other != p && other.world() == p.world() && m.plain() && !m.Deaf && m.Call != Campaign && l != nil && l.age() > r.Lease {
			return true
		}
	}
	return false
}

// elsewhere reports whether somebody was elected in an election of that name in
// another database meanwhile. A term that is granted there puts off who waits; and
// its token, if it is a larger one, makes the end of a term here look like old news.
func (r *run) elsewhere(c *candidate, from, to time.Duration) bool {
	for _, p := range r.processes {
		if p.prefix() == c.life.process.prefix() && p.database() != c.life.process.database() && r.electedBetween(p.named(c.config.Election), from, to, "") {
			return true
		}
	}
	return false
}

// handOver makes the leader of an election hand over to the process of a name.
func (r *run) handOver(ctx context.Context, i int, a Act, from *candidate, to *process) bool {
	if from.life.process == to {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, 4*r.longest())
	defer cancel()
	began, successor, halfOpen := r.recorder.Now(), to.current(), r.halfOpen(to.world())
	goesOn := func() bool { return false }                         // the successor competes as it did, and has declined no lease since
	if successor != nil && !(to.behavior().Deaf && r.Has(Watch)) { // its store hears what its elector does not
		c := successor.candidates[from.index]
		calls, declined := c.calls(), c.declined()
		goesOn = func() bool { return successor == to.current() && c.goesOn(calls) && c.declined() == declined }
	}
	from.life.gate.Wait()
	from.noteSuccessor(to.name)
	t, name := from.current(), to.name
	if successor != nil && a.Choice%4 == 3 {
		name = successor.candidates[from.index].elector.ID()
	}
	err := from.transfer(limited, name, a.Choice)
	from.transferAsSaid(limited, err)
	given := r.releasedAt(from.name, t.Token())
	forgets := r.Has(Restart, Failback, Rewind) // the store may have lost the successor's term
	if errors.Is(err, elector.ErrNotTaken) && name == to.name && !forgets && r.electedIn(from.name, to.name, t.Token()) {
		from.find(transferErrors, "Transfer of term %d to %s, which was elected, returned %v", t.Token(), to.name, err)
	}
	if err == nil && !r.far() && r.undisturbed() {
		go r.expectElected(ctx, from, t.Token(), to, goesOn)
	}
	if errors.Is(err, event.ErrDrainCapped) && !r.far() && r.undisturbed() {
		go r.expectCapped(ctx, from, t.Token(), to, began)
	}
	if err == nil && from.keeps(t) {
		from.find(transferErrors, "term %d was handed over to %s, and the store keeps its lease", t.Token(), to.name)
	}
	r.leaderOr("transfer", successor != nil)
	if errors.Is(err, elector.ErrNoCandidate) && successor != nil && successor == to.current() && successor.waits() && r.undisturbed() && !r.uneven() {
		from.find(candidatesListed, "it cannot hand over to %s, which competes: %v", to.name, err)
	}
	if given == 0 || successor == nil || halfOpen || from.failedBack(t) {
		return err == nil
	}
	again := to.died >= 0 && began-to.died < 3*r.Lease
	if again {
		r.bite("transfer:restarted")
	}
	go r.expectHandOver(ctx, i, a, from, to, successor, goesOn, again, began, given)
	return true
}

// transfer calls Transfer, or has the term's work do so, which must be refused, and then
// calls it.
func (c *candidate) transfer(ctx context.Context, to string, choice int) error {
	if choice%4 == 2 && c.callsWork() {
		inside := make(chan error, 1)
		select {
		case c.inside <- func() { inside <- c.elector.Transfer(ctx, to) }:
		case <-ctx.Done():
			return ctx.Err()
		}
		t := c.current()
		if err := <-inside; !documented(err, elector.ErrInsideWork, elector.ErrNotLeading) {
			c.find(transferErrors, "the work of term %d called Transfer, which returned %v", t.Token(), err)
			return err
		}
		c.run.bite("transfer:inside")
	}
	return c.elector.Transfer(ctx, to)
}

// expectElected expects the successor to have been elected of which Transfer has said so: the
// store has granted it the lease, so it hears of that within a round trip.
func (r *run) expectElected(ctx context.Context, from *candidate, token uint64, to *process, goesOn func() bool) {
	sleep(ctx, 5*r.RoundTrip+r.Lease/10)
	if goesOn() && to.behavior().plain() && !r.ending() && !r.electedIn(from.name, to.name, token) {
		from.find(transferErrors, "Transfer of term %d to %s returned nil, and that one was not elected", token, to.name)
	}
}

// expectCapped expects that nobody else was elected when Transfer has said that the successor
// leads, and that the work did not end.
func (r *run) expectCapped(ctx context.Context, from *candidate, token uint64, to *process, began time.Duration) {
	sleep(ctx, 5*r.RoundTrip+r.Lease/10)
	if next := r.nextIn(from.name, began, r.recorder.Now()); next != "" && !r.electedIn(from.name, to.name, token) {
		from.find(transferErrors, "Transfer of term %d to %s returned ErrDrainCapped, and %s was elected", token, to.name, next)
	}
}

// releasedAt is when the lease of a term was given back, 0 if it was not.
func (r *run) releasedAt(election string, token uint64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.grants[election] {
		if g.token == token {
			return g.released
		}
	}
	return 0
}

// electedIn reports whether a process was elected after a term.
func (r *run) electedIn(election, process string, after uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.grants[election], func(g grant) bool { return g.to == process && g.token > after })
}

// expectHandOver expects the successor to be elected soon after a hand-over.
func (r *run) expectHandOver(ctx context.Context, i int, a Act, from *candidate, to *process, successor *life, goesOn func() bool, again bool, began, given time.Duration) {
	believed := r.believed(from, given)
	bound := r.Lease/5 + 6*r.RoundTrip + believed
	if to.behavior().Deaf {
		bound += r.longest() // it asks once in one
	}
	age := successor.age() - (r.recorder.Now() - given)
	sleep(ctx, given+bound-r.recorder.Now())
	next := r.nextIn(from.name, began, given+bound)
	if age < r.Lease/5+10*r.RoundTrip || !goesOn() || r.ending() || next == to.name || next != "" && believed > 0 || r.uneven() {
		return
	}
	if !to.behavior().plain() || !r.still(i, a, to.world(), r.Lease/10, given-began+bound) {
		return
	}
	obligation, instead := slowHandOver, "nobody"
	switch {
	case r.elsewhere(from, 0, given+bound):
		obligation = foreignHint
	case again:
		obligation = deadSuccessor
	case next != "":
		obligation, instead = wrongSuccessor, next
	}
	r.Find(obligation, "%s was handed over to %s, which lives, at %v, and in %v %s was elected", from.name, to.name, began, bound, instead)
}

// lookAround looks, in the calm at the end, whether everybody knows what everybody
// may know.
func (r *run) lookAround(ctx context.Context) {
	if r.far() || len(r.Acts) > 0 && r.hasOf(func(t trait) bool { return t.data || t.server }) {
		return
	}
	for e := range min(r.Elections, 3) {
		for w := range r.worlds() {
			if c := r.leader(w, e); c != nil {
				c.lists(ctx)
				r.preferred(c)
				r.calmly(c)
			}
		}
	}
}

// calmly looks at what everybody knows who competes where one has led for long.
func (r *run) calmly(leader *candidate) {
	long := 2*r.longest() + 10*r.RoundTrip
	if r.recorder.Now()-leader.began() < long {
		return
	}
	for _, p := range r.processes {
		if c := p.candidate(leader.index); c != nil && p.world() == leader.life.process.world() {
			c.calmly(leader, long)
		}
	}
}

// lists asks the candidate for all live ones.
func (c *candidate) lists(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.run.Lease)
	defer cancel()
	if all, err := c.elector.Candidates(ctx); err == nil {
		c.listed(all)
	}
}

// listed expects that the candidates, which were listed just now, are the live ones.
func (c *candidate) listed(all []store.Candidate) {
	r := c.run
	heard := map[string]store.Candidate{}
	for _, one := range all {
		heard[one.ID] = one
	}
	for _, p := range r.processes {
		l := p.current()
		if p.world() != c.life.process.world() || l == nil || !l.waits() {
			continue
		}
		other := l.candidates[c.index]
		is, ok := heard[other.elector.ID()]
		// Who waits is heard of once in the lease of the leader.
		slack := r.longest() + other.config.RequestTimeout + 3*r.RoundTrip
		switch {
		case ok && is.Priority != other.behavior.Priority:
			other.find(candidatesListed, "%s is listed with priority %d, and has %d", is.ID, is.Priority, other.behavior.Priority)
		case !ok || is.Seen > slack:
			other.find(candidatesListed, "%d are listed, and %s, which competes: %v, was seen %v ago", len(all), other.elector.ID(), ok, is.Seen)
		}
	}
}

// waits reports whether the life has competed for so long that everybody has heard of it.
func (l *life) waits() bool {
	return l.age() >= 2*l.process.run.longest() && l.process.behavior().plain()
}
