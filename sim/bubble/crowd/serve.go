package crowd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/faults"
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
		r.step.Add(int64(a.By))
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
		text := refusals[a.Choice%len(refusals)]
		r.refuses.Store(&text)
		sleep(ctx, a.For)
		r.refuses.CompareAndSwap(&text, nil)
		return true
	}
}

// refusals are what a server answers whose memory is full, whose rights are
// changed, which loads its data, is demoted or busy.
var refusals = []string{
	"OOM command not allowed when used memory > 'maxmemory'.",
	"NOPERM this user has no permissions to run the 'evalsha' command",
	"NOAUTH Authentication required.",
	"LOADING Redis is loading the dataset in memory",
	"READONLY You can't write against a read only replica.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"NOREPLICAS Not enough good replicas to write.",
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
	if a.told() {
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
	for _, p := range r.processes {
		p.link.Retarget(server)
	}
	r.hangUp()
}

// hangUp ends all connections.
func (r *run) hangUp() {
	for _, p := range r.processes {
		p.link.Break()
	}
}

// cuts are the manners in which the way to the server may be cut.
var cuts = []faults.Cut{faults.CutBoth, faults.CutRequests, faults.CutReplies, faults.CutRefused, faults.CutReset}

// hinder lets something happen on the way between a process and the server.
func (r *run) hinder(ctx context.Context, i int, a Act, p *process) bool {
	if p.current() == nil {
		return false
	}
	led := p.leads()
	r.leaderOr(a.Kind.String(), len(led) > 0)
	switch a.Kind {
	case StrandOne, HangupOne:
		return r.loseOne(ctx, i, a, p, led)
	case Hangup:
		p.link.Break()
		return true
	case Strand:
		p.link.Strand()
		return true
	case Cut:
		cut := cuts[a.Choice%len(cuts)]
		r.bite("cut:" + string(cut))
		p.link.Cut(cut)
	case Slow:
		p.link.Delay(a.By, a.By/4)
	case Narrow:
		p.link.Throttle(1 + a.Choice)
	}
	sleep(ctx, a.For)
	p.link.Mend()
	if a.Kind == Cut && (cuts[a.Choice%len(cuts)] == faults.CutRefused || cuts[a.Choice%len(cuts)] == faults.CutReset) {
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
