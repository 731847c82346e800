package calls

import (
	"context"
	"math/rand/v2"
	"time"
)

// expels draws, from a generator of its own, operators who take the lease away from the
// leader.
func (c *Case) expels(r *rand.Rand) {
	if r.IntN(8) > 0 || c.Elections > few {
		return
	}
	for range 1 + r.IntN(2) {
		c.Acts = append(c.Acts, Act{
			At: time.Duration(r.Int64N(int64(c.Span))), Kind: Expel, Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections),
		})
	}
}

// expel takes the lease away from the leader. Nobody else may lead as long as that one
// may believe in it.
func (r *run) expel(ctx context.Context, a Act, p *process) bool {
	l := p.current()
	if l == nil {
		return false
	}
	within, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	l.gate.Wait()
	asked := r.recorder.Now()
	leader, err := l.store.Evict(within, r.named(a), 0)
	if err != nil {
		r.bite("expel:nobody")
		return false
	}
	r.bite("expel:done")
	if r.endsLeases() || leader.Remaining > r.longest() || r.Has(Delete, Persist, Expire, Overwrite, Forget, Wipe, Vanish, Evict, Restart, Failback) {
		return true
	}
	sleep(ctx, max(0, asked+leader.Remaining-r.recorder.Now()-2*time.Millisecond))
	for _, other := range r.processes {
		c := other.candidate(a.Election)
		if c != nil && other.world() == p.world() && c.leads() && c.current().Token() > leader.Token && c.began() < asked+leader.Remaining-time.Millisecond {
			c.find(expelled, "term %d began %v after %s was expelled, whose lease lasted for another %v", c.current().Token(), c.began()-asked, leader.ID, leader.Remaining)
		}
	}
	return true
}
