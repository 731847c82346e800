package crowd

import (
	"context"
	"time"

	"github.com/recount-io/recount/elector"
)

// What is owed in time, where nothing else goes on.

// quietAround tells whether no other act disturbs the act's election, or all of its
// world, from so long before the act to so long after it, and all processes of that
// world are plain and have what they need.
func (r *run) quietAround(i int, a Act, w int, before, after time.Duration) bool {
	if r.far() {
		return false
	}
	for j, p := range r.processes {
		if r.world(j) == w && (!p.manners().plain() || p.link.HalfOpen()) {
			return false // whoever sends on that connection, or listens there, has yet to find out
		}
	}
	for j, other := range r.Acts {
		near := other.forgotten(r.Lease) > a.At-before && other.At < a.At+after
		if j != i && near && r.disturbs(other, a, w) {
			return false
		}
	}
	return true
}

// disturbs tells whether an act may disturb the election of another one, which is
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
	obligation, bound := slowResignation, r.Lease/5+r.Lease/15+6*r.RoundTrip
	if a.Kind == Kill {
		obligation, bound = slowFailover, r.Lease+r.Lease/10+6*r.RoundTrip
	}
	if !r.others(p) || r.uneven() {
		return
	}
	for _, c := range led {
		one := a
		one.At, one.Election = since, c.index
		if r.quietAround(i, one, p.world(), r.Lease/2, bound) {
			go r.expectElection(ctx, obligation, c, since, bound, a.Kind)
		}
	}
}

func (r *run) expectElection(ctx context.Context, obligation string, c *candidate, since, bound time.Duration, why Kind) {
	sleep(ctx, since+bound-r.recorder.Now())
	switch {
	case r.ending():
	case r.electedBetween(c.name, since, since+bound, r.standsBack(c, why)):
		r.bite("successor:" + why.String())
	case why == Kill && r.elsewhere(c, since, since+bound) || why != Kill && r.elsewhere(c, 0, since+bound):
		obligation = foreignHint
		fallthrough
	default:
		r.find(obligation, "nobody was elected in %s for %v after %v, when its leader %s left: %s", c.name, bound, since, c.life.process.name, why)
	}
}

// standsBack is the leader that has resigned, where the others are near enough to be
// faster: it stands back for a retry's pause at the least.
func (r *run) standsBack(c *candidate, why Kind) string {
	if why == Resign && r.RoundTrip < r.Lease/100 {
		return c.life.process.name
	}
	return ""
}

// others tells whether another process of the world has lived for some time, so that
// somebody can succeed.
func (r *run) others(p *process) bool {
	for _, other := range r.processes {
		if l := other.current(); other != p && other.world() == p.world() && l != nil && l.age() > r.Lease {
			return true
		}
	}
	return false
}

// elsewhere tells whether somebody was elected in an election of that name in
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
	limited, cancel := context.WithTimeout(ctx, 2*r.longest())
	defer cancel()
	began, heir := r.recorder.Now(), to.current()
	from.life.gate.Wait()
	from.told(to.name)
	err := from.elector.Transfer(limited, to.name)
	from.transferAsSaid(limited, err)
	r.leaderOr("transfer", heir != nil)
	if err != nil || heir == nil {
		return err == nil
	}
	again := to.died >= 0 && began-to.died < 3*r.Lease
	if again {
		r.bite("transfer:restarted")
	}
	go r.expectHeir(ctx, i, a, from, to, heir, again, began)
	return true
}

// expectHeir expects the heir to be elected soon after a hand-over.
func (r *run) expectHeir(ctx context.Context, i int, a Act, from *candidate, to *process, heir *life, again bool, began time.Duration) {
	given := r.recorder.Now()
	bound := r.Lease/5 + 6*r.RoundTrip
	age := heir.age()
	sleep(ctx, bound)
	next := r.nextIn(from.name, began, given+bound)
	if age < r.Lease/5+10*r.RoundTrip || heir != to.current() || r.ending() || next == to.name || r.uneven() {
		return
	}
	if !r.quietAround(i, a, to.world(), r.Lease/10, given-began+bound) {
		return
	}
	obligation, instead := slowHandOver, "nobody"
	switch {
	case r.elsewhere(from, 0, given+bound):
		obligation = foreignHint
	case again:
		obligation = deadHeir
	case next != "":
		obligation, instead = wrongHeir, next
	}
	r.find(obligation, "%s was handed over to %s, which lives, at %v, and in %v %s was elected", from.name, to.name, began, bound, instead)
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
				r.listed(ctx, w, c)
				r.preferred(c)
			}
		}
	}
}

// listed expects the live candidates of a world to be listed.
func (r *run) listed(ctx context.Context, w int, leader *candidate) {
	ctx, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	all, err := leader.elector.Candidates(ctx)
	if err != nil {
		return
	}
	heard := map[string]elector.Candidate{}
	for _, c := range all {
		heard[c.ID] = c
	}
	for i, p := range r.processes {
		l := p.current()
		if r.world(i) != w || l == nil || l.age() < 2*r.longest() || !p.manners().plain() {
			continue
		}
		c := l.candidates[leader.index]
		is, ok := heard[c.elector.ID()]
		// Who waits is heard of once in the lease of whoever leads.
		if slack := r.longest() + c.config.RequestTimeout + 3*r.RoundTrip; !ok || is.Seen > slack {
			c.find(candidatesListed, "%d are listed, and %s, which competes: %v, was seen %v ago", len(all), c.elector.ID(), ok, is.Seen)
		}
	}
}
