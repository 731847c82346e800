package calls

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// serve lets something happen to the server.
func (r *run) serve(ctx context.Context, i int, a Act) bool {
	switch server := r.primary(); a.Kind {
	case Failback:
		return r.failBack(ctx, a)
	case StepClock:
		r.control.Step(a.By)
		return true
	case Restart:
		if !server.Crash() {
			return false
		}
		r.hangUp()
		sleep(ctx, a.For)
		if !server.Restart(a.Choice%2 == 0) {
			return false
		}
		for _, p := range r.processes {
			r.expectService(ctx, i, a, p)
		}
		return true
	case Freeze:
		if !server.Freeze() {
			return false
		}
		sleep(ctx, a.For)
		server.Thaw()
		return true
	default: // Refuse
		text, began := redisserver.Refusal(a.Choice), r.recorder.Now()
		led := r.leading()
		calls := callsOf(led)
		off := r.control.Refuses(text)
		sleep(ctx, a.For)
		if text != redisserver.OpenSlot && a.For > r.longest()+r.longest()/2 {
			for i, c := range led {
				c.expectSilence(began+r.RoundTrip, calls[i])
			}
		}
		off()
		return true
	}
}

// leading are the candidates of all processes that lead.
func (r *run) leading() (all []*candidate) {
	for _, p := range r.processes {
		if p.current() != nil {
			all = append(all, p.leads()...)
		}
	}
	return all
}

// failBack puts the replica in the primary's place, and after a while the old one
// in its own again. Nobody has restarted it. It has followed the other one, or, if
// nobody told it, has learnt nothing and is as it was.
func (r *run) failBack(ctx context.Context, a Act) bool {
	r.mu.Lock()
	old := r.server
	r.servers++
	name := fmt.Sprintf("replica%d", r.servers)
	r.mu.Unlock()
	if !old.Open() {
		return false
	}
	replica := old.Fork(name)
	replica.Promote()
	r.lead(replica)
	if a.notified() {
		old.Follow(replica, 0)
	}
	sleep(ctx, a.For)
	old.Promote()
	r.lead(old)
	return true
}

func (r *run) lead(server *redisserver.Server) {
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	for _, l := range r.links() {
		l.Retarget(server)
	}
	r.hangUp()
}

// hangUp ends all connections.
func (r *run) hangUp() {
	for _, l := range r.links() {
		l.Break()
	}
}

// links are all ways to the server.
func (r *run) links() (all []*network.Link) {
	for _, p := range r.processes {
		all = append(all, p.link)
	}
	if r.onlooker != nil {
		all = append(all, r.onlooker.link)
	}
	return all
}

// hinder lets something happen on the way between a process and the server.
func (r *run) hinder(ctx context.Context, i int, a Act, p *process) bool {
	if p.current() == nil {
		return false
	}
	led, began := p.leads(), r.recorder.Now()
	calls := callsOf(led)
	r.leaderOr(a.Kind.String(), len(led) > 0)
	switch a.Kind {
	case StrandOne, HangupOne:
		return r.loseOne(ctx, i, a, p, led)
	case Hangup:
		r.reset(ctx, i, a, p, led)
		return true
	case Strand:
		p.link.Strand()
		return true
	case Cut:
		r.bite("cut:" + string(a.cut()))
		p.link.Cut(a.cut())
	case Slow:
		p.link.Delay(a.By, a.By/4)
	case Narrow:
		p.link.Throttle(1 + a.Choice)
	}
	sleep(ctx, a.For)
	if a.Kind == Cut && a.For > r.longest()+r.longest()/2 {
		for i, c := range led {
			c.expectSilence(began+r.RoundTrip, calls[i])
		}
	}
	p.link.Mend()
	if a.Kind == Cut && (a.cut() == faults.CutRefused || a.cut() == faults.CutReset) {
		r.expectService(ctx, i, a, p)
	}
	return true
}

// mend mends at the end what operators must: keys that make an election impossible
// are deleted, as the elector's error says.
func (r *run) mend() {
	if !r.Has(Overwrite) {
		return
	}
	for _, a := range r.Acts {
		if a.Kind != Overwrite {
			continue
		}
		p := r.processes[a.Process]
		r.data(p, func(do func(...string) redismodel.Reply) {
			for what, kind := range map[string]string{"lease": "string", "token": "string", "guard": "hash", "candidates": "hash", "terms": "list"} {
				if is := do("TYPE", p.key(a.Election, what)).Text; is != kind && is != "none" {
					do("DEL", p.key(a.Election, what))
				}
			}
			if _, err := strconv.ParseUint(do("GET", p.key(a.Election, "token")).Text, 10, 63); err != nil {
				do("DEL", p.key(a.Election, "token"))
			}
		})
	}
}
