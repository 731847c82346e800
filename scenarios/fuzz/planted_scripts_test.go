package fuzz_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// The bugs in this file are in a script. A script with a bug is the production
// script after something was done to its arguments, or after something was
// done in its stead.

// script is a script by its meaning.
type script func(c *redismodel.Call) redismodel.Reply

func (s script) port(name string) *redismodel.Script {
	return &redismodel.Script{Name: name, Run: s}
}

func unprotected(s virtual.Subject) virtual.Subject {
	s.Unprotected = true
	return s
}

func acquiring(s script) virtual.Subject {
	return virtual.Subject{Scripts: virtual.Scripts{Acquire: s.port("acquire")}}
}

func renewing(s script) virtual.Subject {
	return virtual.Subject{Scripts: virtual.Scripts{Renew: s.port("renew")}}
}

func releasing(s script) virtual.Subject {
	return virtual.Subject{Scripts: virtual.Scripts{Release: s.port("release")}}
}

// fields are a lease's value: "r1", token, nonce and id. Nil if there is none.
// What somebody else wrote has a token of 0 and is the id as a whole.
func fields(c *redismodel.Call) []string {
	value, found := c.Get(c.Keys[0])
	if !found {
		return nil
	}
	if f := strings.SplitN(value, " ", 4); len(f) == 4 && f[0] == "r1" {
		return f
	}
	return []string{"", "0", "", value}
}

// held says whether the lease's value is as the caller says.
func held(c *redismodel.Call) bool {
	value, found := c.Get(c.Keys[0])
	return found && value == c.Args[0]
}

// claimed is the lease that a renewal or a release names.
func claimed(c *redismodel.Call) []string { return strings.SplitN(c.Args[0], " ", 4) }

var yes, no = redismodel.Integer(1), redismodel.Integer(0)

func scriptBugs() []bug {
	return slices.Concat(renewBugs(), releaseBugs(), acquireBugs(), counterBugs())
}

func renewBugs() []bug {
	return []bug{
		{
			name: "renews-anyones", where: inScript, what: "renew does not compare the lease's value: it renews whatever lease there is",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if c.PExpire(c.Keys[0], c.Int(c.Args[1])) {
					return yes
				}
				return no
			}),
		}, {
			name: "renews-by-id", where: inScript, what: "renew compares the id alone: a late renewal of an earlier term renews a later one",
			breaks: []checker.Promise{checker.LeaseLinearizable},
			subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f == nil || f[3] != claimed(c)[3] {
					return no
				}
				c.PExpire(c.Keys[0], c.Int(c.Args[1]))
				return yes
			}),
		}, {
			name: "renewal-creates", where: inScript, what: "renew puts the lease back where it is gone",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if fields(c) != nil && !held(c) {
					return no
				}
				c.SetPX(c.Keys[0], c.Args[0], c.Int(c.Args[1]))
				return yes
			}),
		}, {
			name: "renews-when-half-over", where: inScript, what: "renew says yes but leaves a lease alone that has more than half of its time left",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if held(c) && c.PTTL(c.Keys[0]) > c.Int(c.Args[1])/2 {
					return yes
				}
				return redismodel.Renew.Run(c)
			}),
		}, {
			name: "renewal-in-seconds", where: inScript, what: "renew takes the milliseconds for seconds: the lease of a leader that crashes stays",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.LeaderReturns},
			subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if !held(c) {
					return no
				}
				c.Do("EXPIRE", c.Keys[0], c.Args[1])
				return yes
			}),
		},
	}
}

func releaseBugs() []bug {
	return []bug{
		{
			name: "releases-anyones", where: inScript, what: "release does not compare the lease's value: it ends whatever lease there is",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				if value, found := c.Get(c.Keys[0]); found {
					c.Args[0] = value
				}
				return redismodel.Release.Run(c)
			}),
		}, {
			name: "releases-by-id", where: inScript, what: "release compares the id alone: a late release of an earlier term ends a later one",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[3] == claimed(c)[3] {
					c.Args[0], _ = c.Get(c.Keys[0])
				}
				return redismodel.Release.Run(c)
			}),
		},
	}
}

func acquireBugs() []bug {
	return []bug{
		{
			name: "lease-without-end", where: inScript, what: "acquire sets the lease without a time to live, which only the first renewal gives it",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.LeaderReturns},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				free := fields(c) == nil
				reply := redismodel.Acquire.Run(c)
				if free {
					c.Do("PERSIST", c.Keys[0])
				}
				return reply
			}),
		}, {
			name: "acquires-early", where: inScript, what: "acquire takes a lease that has a twentieth of its time left",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[2] != c.Args[1] && c.PTTL(c.Keys[0]) < c.Int(c.Args[2])/20 {
					c.Del(c.Keys[0])
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			name: "not-idempotent", where: inScript, what: "acquire does not know an attempt again: its repetition is refused by the lease that it got itself",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.FailoverBound},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil {
					return refused(c, f)
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			name: "repetition-does-not-extend", where: inScript, what: "acquire tells a repeated attempt its token but does not make the lease longer, which the candidate counts from the repetition",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[2] == c.Args[1] {
					c.Args[2] = strconv.FormatInt(max(c.PTTL(c.Keys[0]), 1), 10)
				}
				return redismodel.Acquire.Run(c)
			}),
		},
	}
}

func counterBugs() []bug {
	return []bug{
		{
			name: "counter-ends", where: inScript, what: "the counter of tokens has a time to live, of four leases (without the protection, which makes up for it)",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			subject: unprotected(acquiring(func(c *redismodel.Call) redismodel.Reply {
				reply := redismodel.Acquire.Run(c)
				c.PExpire(c.Keys[1], 4*c.Int(c.Args[2]))
				return reply
			})),
		}, {
			name: "release-resets-counter", where: inScript, what: "release tidies up: it deletes the counter of tokens too (without the protection)",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			subject: unprotected(releasing(func(c *redismodel.Call) redismodel.Reply {
				if held(c) {
					c.Del(strings.Replace(c.Keys[0], ":lease", ":token", 1))
				}
				return redismodel.Release.Run(c)
			})),
		}, {
			name: "quarantine-skipped", where: inScript, what: "a server that remembers nothing, or is another one, grants at once",
			breaks: []checker.Promise{checker.AtMostOneLeader},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				c.HSet(c.Keys[2], "run", c.RunID())
				return redismodel.Acquire.Run(c)
			}),
		}, {
			name: "count-not-seeded", where: inScript, what: "a server that has lost the counter counts from 1 again",
			breaks: []checker.Promise{checker.TokensIncrease, checker.LeaseLinearizable},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if _, found := c.Get(c.Keys[1]); !found {
					c.Set(c.Keys[1], "0")
				}
				c.HDel(c.Keys[2], "seed")
				return redismodel.Acquire.Run(c)
			}),
		}, {
			name: "early-end-trusted", where: inScript, what: "a lease whose key is gone before its time is free",
			breaks: []checker.Promise{checker.AtMostOneLeader},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if _, held := c.Get(c.Keys[0]); !held {
					c.HSet(c.Keys[2], "until", "0")
				}
				return redismodel.Acquire.Run(c)
			}),
		}, {
			name: "token-is-the-time", where: inScript, what: "the token is the server's time in seconds: two terms in one second share it",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			subject: acquiring(func(c *redismodel.Call) redismodel.Reply {
				if fields(c) == nil {
					now, _ := c.Time()
					c.Set(c.Keys[1], strconv.FormatInt(now-1, 10))
					c.Args[3] = "0"
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
