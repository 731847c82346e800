package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// happen lets an act happen.
func (r *run) happen(ctx context.Context, i int, a Act) {
	h, t := r.whom(i, a), table[a.Kind]
	r.tell("%v, to %s", a, h.name)
	if t.data {
		r.mayForget()
		defer r.mayForget()
	}
	bit := true
	switch {
	case a.Kind == Kill:
		bit = h.kill()
	case a.Kind == Cancel:
		bit = h.cancels()
	case a.Kind == Pause:
		bit = h.stands(a.For)
	case t.way:
		h.hinder(a)
	case t.server:
		bit = r.serve(a)
	case a.Kind == Retire:
		bit = r.retire(ctx, r.locks[a.Job])
	default:
		bit = r.operate(a)
	}
	if bit {
		r.see(a.Kind.String())
	}
	r.tell("%v is over", a)
}

// whom is the host that an act happens to.
func (r *run) whom(i int, a Act) *host {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[a.Host]
	for _, c := range r.calls {
		if a.Holder && c.lock == r.locks[a.Job] && c.working && !c.life.dead {
			h = c.life.host
		}
	}
	r.struck[i] = h
	return h
}

// hinder lets something happen on the way between the host and the server.
func (h *host) hinder(a Act) {
	switch a.Kind {
	case Hangup:
		h.link.Break()
		return
	case Strand:
		h.link.Strand()
		return
	case Hold:
		letGo := h.link.Hold()
		time.Sleep(a.For)
		letGo()
		return
	case Cut:
		h.link.Cut(faults.Cuts[a.Choice%len(faults.Cuts)])
	default:
		h.link.Delay(a.By, a.By/4)
	}
	time.Sleep(a.For)
	h.link.Mend()
}

// serve lets something happen to the server.
func (r *run) serve(a Act) bool {
	switch server := r.primary(); a.Kind {
	case StepClock:
		r.control.Step(a.By)
		r.taken()
		return true
	case Restart:
		if !server.Crash() {
			return false
		}
		r.hangUp()
		time.Sleep(a.For)
		server.Restart(a.Choice%2 == 0)
		r.taken()
		return true
	case Replace:
		return r.replace()
	case Freeze:
		if !server.Freeze() {
			return false
		}
		time.Sleep(a.For)
		server.Thaw()
		return true
	default: // Refuse
		off := r.control.Refuses(redisserver.Refusal(a.Choice))
		time.Sleep(a.For)
		off()
		return true
	}
}

// replace puts a replica in the primary's place.
func (r *run) replace() bool {
	r.mu.Lock()
	old := r.server
	r.mu.Unlock()
	if !old.Answers() {
		return false
	}
	replica := old.Fork(fmt.Sprintf("replica%d", r.now()))
	replica.Promote()
	r.mu.Lock()
	r.server = replica
	r.mu.Unlock()
	for _, l := range r.links {
		l.Retarget(counted{r, replica})
	}
	r.hangUp()
	return true
}

// hangUp ends all connections.
func (r *run) hangUp() {
	for _, l := range r.links {
		l.Break()
	}
}

// operate lets an operator, or a lack of memory, take away keys.
func (r *run) operate(a Act) (bit bool) {
	server, l := r.primary(), r.locks[a.Job]
	if !server.Open() {
		return false
	}
	keys := []string{l.key("lease"), l.key("token"), l.key("guard"), l.key("candidates"), l.key("terms")}
	server.With(func(dbs []*redismodel.Server, now time.Duration) {
		switch a.Kind {
		case Delete:
			bit = dbs[0].Do(now, "DEL", keys[0]).Int > 0
		case Wipe:
			bit = dbs[0].Do(now, append([]string{"DEL"}, keys...)...).Int > 0
		case Evict:
			for i, key := range append(keys, redisstore.DefaultPrefix+"witness") {
				if a.Choice>>i&1 == 1 {
					bit = dbs[0].Evict(key) || bit
				}
			}
		default: // FlushScripts
			bit = true
			dbs[0].Do(now, "SCRIPT", "FLUSH")
		}
	})
	r.taken()
	return bit
}

// retire retires a job, which must not be while anybody relies on the lock.
func (r *run) retire(ctx context.Context, l *lock) bool {
	began := r.now()
	ctx, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	err := r.ops.Retire(ctx, l.name)
	r.mu.Lock()
	defer r.mu.Unlock()
	var held *elector.HeldError
	if err != nil && errors.As(err, &held) {
		return true
	}
	l.retired = true // or nobody knows
	if err != nil {
		return false
	}
	h := l.present()
	if h != nil && h.at < began && !r.control.Stepped() {
		r.find(retireSpares, "%s is retired while token %d is held for %v", l.name, h.token, h.ends-r.control.Clock())
	}
	for _, c := range r.calls {
		if c.lock == l && c.holdsOn() && c.started < began && !r.control.Stepped() {
			r.find(retireSpares, "%s is retired while %v runs", l.name, c)
		}
	}
	return true
}
