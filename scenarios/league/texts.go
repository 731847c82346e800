package league

import (
	"fmt"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// reworded is the production elector with other words in the Lua text of its
// scripts, which runs in all schedules: old is there once in each script that is
// named, and now stands in its place.
func reworded(old, now string, names ...string) virtual.Subject {
	var s virtual.Subject
	for _, name := range names {
		var text string
		var script **redismodel.Script
		switch name {
		case "acquire":
			text, script = scripts.Acquire(), &s.Scripts.Acquire
		case "renew":
			text, script = scripts.Renew(), &s.Scripts.Renew
		case "release":
			text, script = scripts.Release(), &s.Scripts.Release
		}
		if n := strings.Count(text, old); n != 1 {
			panic(fmt.Sprintf("league: %q is %d times in %s", old, n, name))
		}
		*script = redismodel.MustCompile(name, strings.Replace(text, old, now, 1))
	}
	return s
}

// texts are bugs in the words of the shipped scripts.
func texts() []Mutant {
	lease := []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader}
	tokens := []checker.Promise{checker.TokensIncrease, checker.LeaseLinearizable}
	return []Mutant{
		{
			Name: "text-renews-any", Where: Text, What: "renew looks whether there is a lease, and not which",
			Breaks: lease, Subject: reworded("call('GET', lease) == ARGV[1]", "call('GET', lease)", "renew"),
		}, {
			Name: "text-releases-any", Where: Text, What: "release takes whatever lease there is for the caller's",
			Breaks: lease, Subject: reworded("local held = value == ARGV[1]", "local held = value", "release"),
		}, {
			Name: "token-is-the-time", Where: Text, What: "the token is the server's time in seconds: two terms in one second share it",
			Breaks: tokens, Subject: reworded("local token = after(last)", "local token = time[1]", "acquire", "release"),
		}, {
			Name: "count-not-seeded", Where: Text, What: "tokens do not follow the server's time: one that has lost the counter counts from 1 again",
			Breaks: tokens, Subject: reworded("    if less(last, micros) then last = micros end\n", "", "acquire", "release"),
		}, {
			Name: "text-clock-of-seconds", Where: Text, What: "the scripts' clock stands still within a second",
			Breaks:  append([]checker.Promise{checker.BeliefWithinLease}, lease...),
			Subject: reworded(" + math.floor(time[2] / 1000)", "", "acquire", "renew", "release"),
		}, {
			Name: "text-history-misread", Where: Text, What: "the name of the server's history is looked for where it is not, so each grant waits as for a user who may not ask",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.FailoverBound}, Subject: reworded("'master_replid:', 1, true", "'replid: ', 1, true", "acquire", "renew"),
		}, {
			Name: "text-quarantine-once", Where: Text, What: "a server that remembers nothing refuses once, and notes now as the end of what it may have forgotten",
			Breaks: lease, Subject: reworded("'since', whole(now)", "'since', 0", "acquire"),
		}, {
			Name: "text-own-lease-again", Where: Text, What: "acquire knows a lease again by the candidate alone: one of an earlier attempt counts as granted to this one",
			Breaks: append([]checker.Promise{checker.AtMostOneLeader}, tokens...), Subject: reworded("if held ~= nonce or holder ~= id then", "if holder ~= id then", "acquire"),
		}, {
			Name: "text-renews-where-granted", Where: Text, What: "a server that did not grant the lease, or has been restarted since, says yes to a renewal and does nothing",
			Breaks:  append([]checker.Promise{checker.BeliefWithinLease}, lease...),
			Subject: reworded("  call('PEXPIREAT', lease, ends)\n", "  if not known or call('HGET', witness, 'history') == known then call('PEXPIREAT', lease, ends) end\n", "renew"),
		}, {
			Name: "text-end-joined", Where: Text, What: "the end of a granted lease is the time and its length written one after the other, and not their sum",
			Breaks:  []checker.Promise{checker.LeaderReturns, checker.LeaseLinearizable, checker.FailoverBound},
			Subject: reworded("'of ' .. guard, ends)\nif own", "'of ' .. guard, stamp .. ttl)\nif own", "acquire"),
		}, {
			Name: "text-hint-mixed-up", Where: Text, What: "the announcement of a lease that is passed on has its token and its length in the wrong order",
			Breaks:  append(tokens, checker.LeaseLinearizable, checker.LeaderReturns, checker.FailoverBound),
			Subject: reworded("{'granted', new, ttl,", "{'granted', ttl, new,", "release"),
		}, {
			Name: "text-repair-forgotten", Where: Text, What: "who finds a lease without a time to live leaves it so",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.FailoverBound}, Subject: reworded("      call('PEXPIRE', lease, most)\n", "", "acquire"),
		}, {
			Name: "text-release-stays-noted", Where: Text, What: "release ends the lease, and the witness still says that it lasts",
			Breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns}, Subject: reworded("if over then call('HSET', witness, 'of ' .. guard, stamp) end\n", "", "release"),
		},
	}
}
