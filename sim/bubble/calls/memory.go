package calls

import (
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/sim/space"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// memory draws, from a generator of its own, what is deleted of an election or of a
// job's lock and nothing else: by a server that lacks memory, or by an operator. Somebody
// who has not asked before does so soon afterwards.
func (c *Case) memory(r *rand.Rand) {
	if r.IntN(6) > 0 || c.Elections > few {
		return
	}
	kind := []Kind{Wipe, Evict}[r.IntN(2)]
	jobs := 3 + r.IntN(6)
	for range 2 + r.IntN(4) {
		a := Act{
			At: c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: Job, Process: r.IntN(len(c.Processes)),
			By: space.Between(r, c.Lease/2, 2*c.Lease), Choice: r.IntN(jobs),
		}
		c.Acts = append(c.Acts, a)
		a.At, a.Kind, a.By = a.At+time.Duration(r.Int64N(int64(c.Lease))), kind, 0
		if kind == Evict {
			a.Choice = r.IntN(64)
		} else if a.Choice++; r.IntN(3) == 0 {
			a.Choice, a.Election = 0, r.IntN(c.Elections)
		}
		of := c.Acts[len(c.Acts)-1]
		c.Acts = append(c.Acts, a)
		of.At, of.Election = a.At+time.Duration(r.Int64N(int64(c.Lease/3))), a.Election
		of.Process = (of.Process + c.worlds()*r.IntN(len(c.Processes))) % len(c.Processes)
		if a.Kind == Wipe && a.Choice == 0 {
			of.Kind, of.For = Stop, c.Lease/20
		}
		c.Acts = append(c.Acts, of)
	}
}

// named is the election, or the job's lock, that is wiped.
func (c Case) named(a Act) string {
	if a.Choice > 0 {
		return jobName(a.Choice - 1)
	}
	return c.election(a.Election)
}

// evict makes the server give up some of a process's keys, of those that it may know of.
func (r *run) evict(a Act, p *process) (bit bool) {
	server := r.primary()
	if !server.Open() {
		return false
	}
	keys := []string{p.prefix() + "witness"}
	for e := range r.Elections {
		keys = append(keys, p.keysOf(p.run.election(e))...)
	}
	for i := range len(r.Acts) {
		keys = append(keys, p.keysOf(jobName(i))...)
	}
	some := rand.New(rand.NewPCG(r.Number, uint64(a.Choice))) //nolint:gosec // choices are not negative
	server.With(func(dbs []*redismodel.Server, _ time.Duration) {
		for _, key := range keys {
			if some.IntN(2) == 0 {
				bit = dbs[p.database()].Evict(key) || bit
			}
		}
	})
	return bit
}
