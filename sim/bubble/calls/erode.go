package calls

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// erode draws, from a generator of its own, a server that forgets or goes back piece by
// piece, without a restart: keys vanish one by one, the one in common among them, an
// administrator creates the election again, older data is restored. At last all keys of the
// election are gone, and a candidate comes that has not asked before.
func (c *Case) erode(r *rand.Rand) {
	if r.IntN(6) > 0 || c.Elections > few {
		return
	}
	at, e, p := c.Lease+time.Duration(r.Int64N(int64(c.Span/2))), r.IntN(c.Elections), r.IntN(len(c.Processes))
	kinds := []Kind{Vanish, Vanish, Vanish, Create, Job, Rewind}
	for range 2 + r.IntN(5) {
		a := Act{At: at, Kind: kinds[r.IntN(len(kinds))], Process: p, Election: e, Choice: r.IntN(64)}
		switch a.Kind {
		case Job:
			a.By = c.Lease / 2
		case Rewind:
			a.For = time.Duration(r.Int64N(int64(2 * c.Lease)))
		}
		c.Acts = append(c.Acts, a)
		at += []time.Duration{0, c.RoundTrip, c.Lease / 3, c.Lease + c.Lease/5}[r.IntN(4)]
	}
	comes := Act{At: at + c.RoundTrip, Kind: Stop, Process: (p + c.worlds()*r.IntN(len(c.Processes))) % len(c.Processes), Election: e, For: c.Lease / 20}
	c.Acts = append(c.Acts, Act{At: at, Kind: Wipe, Process: p, Election: e}, comes)
}

// vanish deletes one key of an election, or the one that all elections share.
func (r *run) vanish(a Act, p *process) (bit bool) {
	keys := append(p.keysOf(r.election(a.Election)), p.prefix()+"witness", p.prefix()+"witness")
	r.data(p, func(do func(...string) redismodel.Reply) {
		bit = do("DEL", keys[a.Choice%len(keys)]).Int > 0
	})
	return bit
}

// create creates an election again through a process's store, as a hook that runs at each
// release does.
func (r *run) create(ctx context.Context, a Act, p *process) bool {
	l := p.current()
	if l == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	l.gate.Wait()
	_, err := l.store.Create(ctx, r.election(a.Election))
	return err == nil
}

// rewind keeps what the database holds, and restores that later.
func (r *run) rewind(ctx context.Context, a Act, p *process) (bit bool) {
	var kept func(now time.Duration)
	server := r.primary()
	if !server.Open() {
		return false
	}
	server.With(func(dbs []*redismodel.Server, now time.Duration) { kept = dbs[p.database()].Backup(now) })
	sleep(ctx, a.For)
	if server != r.primary() || !server.Open() {
		return false
	}
	server.With(func(_ []*redismodel.Server, now time.Duration) { kept(now) })
	return true
}
