package league

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// floors are about a store without protection that has lost its count, and what
// candidates know of it.
func floors() []Mutant {
	breaks := []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease}
	return []Mutant{
		{
			Name: "floor-of-own-terms", Where: Machine, What: "an attempt names the highest token of the candidate's own terms, and not of all that it heard of",
			Scenario: "counter-deleted", Breaks: breaks,
			Subject: unprotected(wrapped(func(b *bent) {
				var own uint64
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					for _, t := range out.Transitions {
						if t.Kind == machine.Elected {
							own = t.Token
						}
					}
					for i := range out.Requests {
						out.Requests[i].Floor = min(out.Requests[i].Floor, own)
					}
				}
			})),
		}, {
			Name: "floor-granted", Where: Script, What: "acquire grants the highest token known where the store has lost its count, and not the one after",
			Scenario: "counter-deleted", Breaks: breaks,
			Subject: unprotected(acquiring(func(c *redismodel.Call) redismodel.Reply {
				if floor := c.Int(c.Args[3]); floor > 0 {
					c.Args[3] = strconv.FormatInt(floor-1, 10)
				}
				return redismodel.Acquire.Run(c)
			})),
		}, {
			Name: "floor-if-missing", Where: Script, What: "acquire heeds the highest token known where its count is gone, and not where it is behind",
			Scenario: "store-rewind", Breaks: breaks,
			Subject: unprotected(acquiring(func(c *redismodel.Call) redismodel.Reply {
				if _, found := c.Get(c.Keys[1]); found {
					c.Args[3] = "0"
				}
				return redismodel.Acquire.Run(c)
			})),
		},
	}
}

// refusals are scripts that say or do something else where the lease is held, or
// given back.
func refusals() []Mutant {
	return []Mutant{
		{
			Name: "refusal-prolongs", Where: Script, What: "acquire makes the lease last longer that it finds, whoever asks",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.LeaseLinearizable, checker.FailoverBound},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if fields(c) != nil {
					c.PExpire(c.Keys[0], c.Int(c.Args[2]))
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "refusal-tells-lease", Where: Script, What: "who is refused is told how long a lease lasts, and not how long this one has left",
			Breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				reply := redismodel.Acquire.Run(c)
				if len(reply.Items) == 7 {
					reply.Items[3] = redismodel.Integer(c.Int(c.Args[2]))
				}
				return reply
			}),
		}, {
			Name: "end-not-restored", Where: Script, What: "a lease that has lost its time to live gets none again from who is refused",
			Scenario: "ttl-removed",
			Breaks:   []checker.Promise{checker.LeaderReturns, checker.FailoverBound},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				f := fields(c)
				endless := f != nil && f[2] != c.Args[1] && c.PTTL(c.Keys[0]) < 0
				reply := redismodel.Acquire.Run(c)
				if endless {
					c.Do("PERSIST", c.Keys[0])
				}
				return reply
			}),
		}, {
			Name: "release-keeps-guard", Where: Script, What: "release ends the lease and leaves the time standing before which nobody gets another one",
			Breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns},
			Subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				ends, known := c.HGet(c.Keys[5], "of "+c.Keys[1])
				reply := redismodel.Release.Run(c)
				if known {
					c.HSet(c.Keys[5], "of "+c.Keys[1], ends)
				}
				return reply
			}),
		}, {
			Name: "release-unannounced", Where: Script, What: "release tells nobody that the lease is free",
			Breaks: []checker.Promise{checker.FailoverBound},
			Subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				c.Args[1] += ":nobody"
				return redismodel.Release.Run(c)
			}),
		},
	}
}
