package league

import (
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// A script with a bug is the production script after something was done to its
// arguments, or something that is done in its stead.

// meaning is what a script does.
type meaning func(c *redismodel.Call) redismodel.Reply

func (s meaning) port(name string) *redismodel.Script {
	return &redismodel.Script{Name: name, Run: s}
}

func unprotected(s virtual.Subject) virtual.Subject {
	s.Unprotected = true
	return s
}

func acquiring(s meaning) virtual.Subject {
	return virtual.Subject{Scripts: virtual.Scripts{Acquire: s.port("acquire")}}
}

func renewing(s meaning) virtual.Subject {
	return virtual.Subject{Scripts: virtual.Scripts{Renew: s.port("renew")}}
}

func releasing(s meaning) virtual.Subject {
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

// milliseconds is what the server's clock shows.
func milliseconds(c *redismodel.Call) int64 {
	sec, micros := c.Time()
	return sec*1000 + micros/1000
}

// renewals are scripts that renew.
func renewals() []Mutant {
	return []Mutant{
		{
			Name: "renews-anyones", Where: Script, What: "renew does not compare the lease's value: it renews whatever lease there is",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if c.PExpire(c.Keys[0], c.Int(c.Args[1])) {
					return yes
				}
				return no
			}),
		}, {
			Name: "renews-by-id", Where: Script, What: "renew compares the id alone: a late renewal of an earlier term renews a later one",
			Breaks: []checker.Promise{checker.LeaseLinearizable},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f == nil || f[3] != claimed(c)[3] {
					return no
				}
				c.PExpire(c.Keys[0], c.Int(c.Args[1]))
				return yes
			}),
		}, {
			Name: "renewal-creates", Where: Script, What: "renew puts the lease back where it is gone",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if fields(c) != nil && !held(c) {
					return no
				}
				c.SetPX(c.Keys[0], c.Args[0], c.Int(c.Args[1]))
				return yes
			}),
		}, {
			Name: "renews-when-half-over", Where: Script, What: "renew says yes but leaves a lease alone that has more than half of its time left",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if held(c) && c.PTTL(c.Keys[0]) > c.Int(c.Args[1])/2 {
					return yes
				}
				return redismodel.Renew.Run(c)
			}),
		}, {
			Name: "renewal-in-seconds", Where: Script, What: "renew takes the milliseconds for seconds: the lease of a leader that crashes stays",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.LeaderReturns},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				if !held(c) {
					return no
				}
				c.Do("EXPIRE", c.Keys[0], c.Args[1])
				return yes
			}),
		}, {
			Name: "guard-not-renewed", Where: Script, What: "renew makes the lease last longer, and does not note until when: a lease whose key is gone is not waited for",
			Breaks: []checker.Promise{checker.AtMostOneLeader},
			Subject: renewing(func(c *redismodel.Call) redismodel.Reply {
				ends, known := c.HGet(c.Keys[2], "of "+c.Keys[1])
				reply := redismodel.Renew.Run(c)
				if known && reply.Int == 1 {
					c.HSet(c.Keys[2], "of "+c.Keys[1], ends)
				}
				return reply
			}),
		},
	}
}

// releases are scripts that release.
func releases() []Mutant {
	return []Mutant{
		{
			Name: "releases-anyones", Where: Script, What: "release does not compare the lease's value: it ends whatever lease there is",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				if value, found := c.Get(c.Keys[0]); found {
					c.Args[0] = value
				}
				return redismodel.Release.Run(c)
			}),
		}, {
			Name: "releases-by-id", Where: Script, What: "release compares the id alone: a late release of an earlier term ends a later one",
			Breaks: []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader},
			Subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				if f := fields(c); f != nil && f[3] == claimed(c)[3] {
					c.Args[0], _ = c.Get(c.Keys[0])
				}
				return redismodel.Release.Run(c)
			}),
		}, {
			Name: "any-release-frees", Where: Script, What: "a release that comes too late says that nobody believes in the lease any more, although another one may",
			Scenario: "late-release",
			Breaks:   []checker.Promise{checker.AtMostOneLeader},
			Subject: releasing(func(c *redismodel.Call) redismodel.Reply {
				c.HSet(c.Keys[5], "of "+c.Keys[1], "0")
				return redismodel.Release.Run(c)
			}),
		},
	}
}
