package league

import (
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// grants are scripts that grant the lease.
func grants() []Mutant {
	return []Mutant{
		{
			Name: "acquires-anyones", Where: Script, What: "acquire does not look whether the lease is free: SET without NX",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[2] != c.Args[1] {
					c.Del(c.Keys[0])
					c.HSet(c.Keys[5], "of "+c.Keys[2], "0")
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "acquires-early", Where: Script, What: "acquire takes a lease that has a twentieth of its time left",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[2] != c.Args[1] && c.PTTL(c.Keys[0]) < c.Int(c.Args[2])/20 {
					c.Del(c.Keys[0])
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "lease-without-end", Where: Script, What: "acquire sets the lease without a time to live, which only the first renewal gives it",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.LeaderReturns},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				free := fields(c) == nil
				reply := redismodel.Acquire.Run(c)
				if free {
					c.Do("PERSIST", c.Keys[0])
				}
				return reply
			}),
		}, {
			Name: "not-idempotent", Where: Script, What: "acquire does not know an attempt again: its repetition is refused by the lease that it got itself",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.FailoverBound},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil {
					return refused(c, f)
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "repetition-does-not-extend", Where: Script, What: "acquire tells a repeated attempt its token but does not make the lease longer, which the candidate counts from the repetition",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[2] == c.Args[1] {
					c.Args[2] = strconv.FormatInt(max(c.PTTL(c.Keys[0]), 1), 10)
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "tells-dead-leader", Where: Script, What: "who asks who leads is told the last one to get the lease, whether or not it holds it still",
			Breaks:  []checker.Promise{checker.LeaseLinearizable},
			Subject: remembering(),
		},
	}
}

// lengths are about how long a lease lasts on the store.
func lengths() []Mutant {
	return []Mutant{
		{
			Name: "ttl-rounded-up", Where: Script, What: "the lease is set in whole seconds, rounded up: a dead leader's lasts longer than it should",
			Breaks:  []checker.Promise{checker.LeaseLinearizable, checker.FailoverBound, checker.LeaderReturns},
			Pins:    oddLease,
			Subject: timed(func(ms int64) int64 { return (ms + 999) / 1000 * 1000 }),
		}, {
			Name: "ttl-rounded-down", Where: Script, What: "the lease is set in whole seconds, rounded down: it ends before its holder thinks so",
			Breaks:  []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Pins:    oddLease,
			Subject: timed(func(ms int64) int64 { return ms / 1000 * 1000 }),
		},
	}
}

// counters are about the counter of tokens.
func counters() []Mutant {
	return []Mutant{
		{
			Name: "counter-ends", Where: Script, What: "the counter of tokens has a time to live, of four leases (without the protection, which makes up for it)",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			Subject: unprotected(acquiring(func(c *redismodel.Call) redismodel.Reply {
				reply := redismodel.Acquire.Run(c)
				c.PExpire(c.Keys[1], 4*c.Int(c.Args[2]))
				return reply
			})),
		}, {
			Name: "release-resets-counter", Where: Script, What: "release tidies up: it deletes the counter of tokens too (without the protection)",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			Subject: unprotected(releasing(func(c *redismodel.Call) redismodel.Reply {
				if held(c) {
					c.Del(strings.Replace(c.Keys[0], ":lease", ":token", 1))
				}
				return redismodel.Release.Run(c)
			})),
		}, {
			Name: "token-not-incremented", Where: Script, What: "acquire reads the counter of tokens and does not count it up (without the protection)",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease, checker.LeaderReturns},
			Subject: unprotected(acquiring(func(c *redismodel.Call) redismodel.Reply {
				if fields(c) == nil {
					c.Set(c.Keys[1], "0")
					c.Args[3] = "0"
				}
				return redismodel.Acquire.Run(c)
			})),
		},
	}
}

// quarantines are about a store that may have forgotten a lease.
func quarantines() []Mutant {
	return []Mutant{
		{
			Name: "quarantine-skipped", Where: Script, What: "a server that remembers nothing, or is another one, grants at once",
			Breaks: []checker.Promise{checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				known, _ := c.History()
				c.HSet(c.Keys[5], "history", known, "since", "0")
				return redismodel.Acquire.Run(c)
			}),
		}, {
			Name: "quarantine-too-short", Where: Script, What: "a server that may have forgotten a lease grants nothing for half of one",
			Scenario: "restart-without-data",
			Breaks:   []checker.Promise{checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				history, _ := c.HGet(c.Keys[5], "history")
				known, _ := c.History()
				reply := redismodel.Acquire.Run(c)
				if history != known && fields(c) == nil {
					half := c.Int(c.Args[2]) / 2
					c.HSet(c.Keys[5], "since", strconv.FormatInt(milliseconds(c)-half, 10))
					reply.Items[3] = redismodel.Integer(half)
				}
				return reply
			}),
		}, {
			Name: "early-end-trusted", Where: Script, What: "a lease whose key is gone before its time is free",
			Breaks: []checker.Promise{checker.AtMostOneLeader},
			Subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if _, held := c.Get(c.Keys[0]); !held {
					c.HSet(c.Keys[5], "of "+c.Keys[2], "0")
				}
				return redismodel.Acquire.Run(c)
			}),
		},
	}
}

// refused is the answer that a candidate gets where another one holds the
// lease.
func refused(c *redismodel.Call, f []string) redismodel.Reply {
	if c.PTTL(c.Keys[0]) < 0 {
		c.PExpire(c.Keys[0], c.Int(c.Args[2]))
	}
	return c.Array(no, redismodel.Text(f[1]), redismodel.Text(f[3]),
		redismodel.Integer(c.PTTL(c.Keys[0])), redismodel.Integer(c.Subscribers(c.Args[4])), no)
}

// oddLease is a lease that is no whole number of seconds: the others that are
// drawn hide what is rounded.
var oddLease = fuzz.Pins{Timings: sim.Timings{Lease: 1500 * time.Millisecond}}

// timed are scripts that make a lease last for another time than they were
// told, in milliseconds.
func timed(change func(ms int64) int64) virtual.Subject {
	with := func(c *redismodel.Call, arg int) { c.Args[arg] = strconv.FormatInt(change(c.Int(c.Args[arg])), 10) }
	s := acquiring(func(c *redismodel.Call) redismodel.Reply {
		with(c, 2)
		return redismodel.Acquire.Run(c)
	})
	s.Scripts.Renew = renewing(func(c *redismodel.Call) redismodel.Reply {
		with(c, 1)
		return redismodel.Renew.Run(c)
	}).Scripts.Renew
	return s
}

// remembering keeps a copy of each lease that is granted, without an end, and
// tells that one when it is asked who leads.
func remembering() virtual.Subject {
	copied := func(c *redismodel.Call) string { return c.Keys[0] + ":last" }
	s := acquiring(func(c *redismodel.Call) redismodel.Reply {
		reply := redismodel.Acquire.Run(c)
		if value, found := c.Get(c.Keys[0]); found {
			c.Set(copied(c), value)
		}
		return reply
	})
	s.Scripts.Leader = meaning(func(c *redismodel.Call) redismodel.Reply {
		if f := fields(c); f == nil {
			if value, found := c.Get(copied(c)); found {
				f = strings.SplitN(value, " ", 4)
				return c.Array(redismodel.Text(f[1]), redismodel.Text(f[3]), redismodel.Integer(1), redismodel.Text(""), redismodel.Text("0"))
			}
		}
		return redismodel.Leader.Run(c)
	}).port("leader")
	return s
}
