package redismodel

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// scripts' arguments, as redisstore gives them.
func acquireBy(id, nonce, floor, protect string) step {
	return step{script: Acquire, keys: electionKeys, args: []string{id, nonce, "3000", floor, channel, "1", protect, "0", "3000", "", ""}}
}

func renewOf(value string) step {
	return step{script: Renew, keys: []string{leaseKey, guardKey, witnessKey, auditKey}, args: []string{value, "3000", "x", "2", "1", "0"}}
}

func renewProtected() step {
	s := renewOf(protectedLease)
	s.args[4], s.args[5] = "9007199254740993", "1"
	return s
}

// renewOne is a renewal of the first lease that a server without protection grants.
func renewOne() step { return renewOf("r1 1 x n1") }

func releaseOf(value string) step {
	return step{script: Release, keys: []string{leaseKey, guardKey, candidatesKey, termsKey, counterKey, witnessKey, auditKey}, args: []string{value, channel, "x", "3", "1", "", "0", "n1", "3000", "0", "3000", "0"}}
}

// longer is an acquisition of a lease that is three times as long.
func longer(s step) step {
	s.args[2], s.args[8] = "9000", "9000"
	return s
}

// counting is an acquisition by who counts on leases that last as long as that.
func counting(longest string, s step) step {
	s.args[8] = longest
	return s
}

// rather is an acquisition by who has heard of leases as long as that, and has one of 3 s.
func rather(longest, request string, s step) step {
	s.args[5], s.args[8], s.args[9] = request, longest, "3000"
	return s
}

func later(seconds int) step { return step{jump: time.Duration(seconds) * time.Second} }

func sent(args ...string) step { return step{args: args} }

// protectedLease is the lease that protected ends with.
const protectedLease = "r1 9007199254740993 x n1"

// protected are steps after which a server that remembers nothing has granted
// n1 a lease, and some more. The counter is beyond any time in microseconds.
func protected(more ...step) []step {
	return append([]step{
		sent("SET", counterKey, "9007199254740992"), acquireBy("n1", "x", "0", "1"), later(4), acquireBy("n1", "x", "0", "1"),
	}, more...)
}

// afterLong are steps so many seconds after n3 was granted a lease of 9 s, which it has
// given back.
func afterLong(seconds int, more ...step) []step {
	return protected(append([]step{later(10), longer(acquireBy("n3", "z", "0", "1")), releaseOf("r1 9007199254740994 z n3"), later(seconds)}, more...)...)
}

func handOver(to string) step {
	s := releaseOf(protectedLease)
	s.args = []string{protectedLease, channel, "x", "3", "1", to, "400", "n1", "3000", "0", "3000", "1"}
	return s
}

var whoLeads = step{script: Leader, keys: []string{leaseKey, guardKey}}

// publishing is an acquisition or a renewal that carries a value.
func publishing(version, value string, s step) step {
	s.args = append(slices.Clone(s.args), version, value)
	if s.script == Renew {
		s.args = append(s.args, channel)
	}
	return s
}

// situations are what an election comes to, with the last step's reply. Some
// begin 2 s after the lease was granted for 3 s, so that what is left of it
// does not depend on the server's speed.
var situations = []struct {
	what  string
	steps []step
	want  string
}{
	{"the first term", []step{acquireBy("n1", "x", "0", "0")}, `[1 "1" 0]`},
	{"the next term", []step{acquireBy("n1", "x", "0", "0"), later(4), acquireBy("n2", "y", "0", "0")}, `[1 "2" 0]`},
	{"refused", []step{acquireBy("n1", "x", "0", "0"), acquireBy("n2", "y", "0", "0")}, `[0 "1" "n1" 3000 0 0]`},
	{"refused to the same candidate's next attempt", []step{acquireBy("n1", "x", "0", "0"), acquireBy("n1", "y", "0", "0")}, `[0 "1" "n1" 3000 0 0]`},
	{"the same nonce of another candidate", []step{acquireBy("n1", "x", "0", "0"), acquireBy("n2", "x", "0", "0")}, `[0 "1" "n1" 3000 0 0]`},
	{"the same attempt again has the same token", []step{acquireBy("n1", "x", "0", "0"), acquireBy("n1", "x", "9", "0")}, `[1 "1" 0]`},
	{"and the whole time again", []step{acquireBy("n1", "x", "0", "0"), later(2), acquireBy("n1", "x", "0", "0"), later(2), whoLeads}, `["1" "n1" 1000 "" 0]`},
	{"a lease without end is repaired", []step{sent("SET", leaseKey, "r1 7 y n2"), acquireBy("n1", "x", "0", "0")}, `[0 "7" "n2" 3000 0 1]`},
	{"and then ends", []step{sent("SET", leaseKey, "r1 7 y n2"), acquireBy("n1", "x", "0", "0"), later(4), acquireBy("n1", "x", "7", "0")}, `[1 "8" 0]`},
	{"a value that no elector wrote", []step{sent("SET", leaseKey, "somebody", "PX", "2000"), acquireBy("n1", "x", "0", "0")}, `[0 "0" "somebody" 2000 0 0]`},
	{"its leader", []step{sent("SET", leaseKey, "somebody"), whoLeads}, `["0" "somebody" -1 "" 0]`},
	{"a lease of another kind", []step{sent("HSET", leaseKey, "f", "v"), acquireBy("n1", "x", "0", "0")}, "WRONGTYPE"},
	{"a counter at 0", []step{sent("SET", counterKey, "0"), acquireBy("n1", "x", "0", "0")}, `[1 "1" 0]`},
	{"a counter of another kind", []step{sent("HSET", counterKey, "f", "v"), acquireBy("n1", "x", "0", "0")}, "WRONGTYPE"},
	{"a counter that is no number", []step{sent("SET", counterKey, "many"), acquireBy("n1", "x", "0", "0")}, "COUNTER"},
	{"a counter that cannot count on", []step{sent("SET", counterKey, "9223372036854775807"), acquireBy("n1", "x", "0", "0")}, "COUNTER"},
	{"no lease is granted without a token", []step{sent("SET", counterKey, "9223372036854775807"), acquireBy("n1", "x", "0", "0"), whoLeads}, "[]"},
	{"a floor above the counter", []step{sent("SET", counterKey, "8"), acquireBy("n1", "x", "41", "0")}, `[1 "42" 0]`},
	{"a floor of more digits", []step{sent("SET", counterKey, "9"), acquireBy("n1", "x", "10", "0")}, `[1 "11" 0]`},
	{"a floor below the counter", []step{sent("SET", counterKey, "10"), acquireBy("n1", "x", "9", "0")}, `[1 "11" 0]`},
	{"tokens beyond what Lua's numbers hold", []step{sent("SET", counterKey, "9007199254740993"), acquireBy("n1", "x", "0", "0")}, `[1 "9007199254740994" 0]`},
	{"a server that remembers nothing grants nothing", []step{acquireBy("n1", "x", "0", "1")}, `[0 "0" "" 3000 0 2]`},
	{"for as long as a lease lasts", []step{acquireBy("n1", "x", "0", "1"), later(2), acquireBy("n2", "y", "0", "1")}, `[0 "0" "" 1000 0 2]`},
	{"and then counts from where it was", protected(), `[1 "9007199254740993" 0]`},
	{"a server that remembers grants at once", protected(releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"a lease that ended by itself is over", protected(later(4), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"one that is gone before is not", protected(sent("DEL", leaseKey), later(1), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 2000 0 3]`},
	{"but for its holder", protected(sent("DEL", leaseKey), releaseOf(protectedLease)), "0"},
	{"who gives it back", protected(sent("DEL", leaseKey), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"a lease that lasts too long is cut", protected(sent("PEXPIRE", leaseKey, "9000"), acquireBy("n2", "y", "0", "1")), `[0 "9007199254740993" "n1" 3000 0 1]`},
	{"and so is what no elector wrote", []step{sent("SET", leaseKey, "somebody", "PX", "9000"), acquireBy("n1", "x", "0", "0")}, `[0 "0" "somebody" 3000 0 1]`},
	{"but a lease of another candidate is as long as that one's are", protected(later(10), longer(acquireBy("n3", "z", "0", "1")), acquireBy("n2", "y", "0", "1")), `[0 "9007199254740994" "n3" 9000 0 0 9000]`},
	{"also where the guard is lost", protected(later(10), longer(acquireBy("n3", "z", "0", "1")), sent("DEL", guardKey), sent("PEXPIRE", leaseKey, "60000"), acquireBy("n2", "y", "0", "1")), `[0 "9007199254740994" "n3" 9000 0 1]`},
	{"it is cut to what the caller counts on where nothing tells more", protected(sent("PEXPIRE", leaseKey, "9000"), sent("DEL", guardKey, candidatesKey), acquireBy("n2", "y", "0", "1")), `[0 "9007199254740993" "n1" 3000 0 1]`},
	{"a hand-over that a clock left behind is cut to a lease", protected(handOver("n3"), sent("HSET", guardKey, "reserved", "9007199254740992"), acquireBy("n2", "y", "0", "1"), later(4), acquireBy("n2", "z", "0", "1")), `[1 "9007199254740994" 0]`},
	{"a lease handed over is not anybody's", protected(handOver("n3"), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 400 0 4]`},
	{"but the successor's", protected(handOver("n3"), acquireBy("n2", "y", "0", "1"), acquireBy("n3", "z", "0", "1")), `[1 "9007199254740994" 0]`},
	{"who must come in time", protected(handOver("n3"), later(1), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"a longer lease than those who live count on is not granted", protected(later(5), longer(acquireBy("n3", "z", "0", "1"))), `[0 "0" "" 4000 0 5 9000]`},
	{"nor a shorter one to who does not count on theirs", protected(later(10), longer(acquireBy("n3", "z", "0", "1")), later(10), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 1 0 5 9000]`},
	{"who counts on what the last one did need not look", protected(later(10), longer(acquireBy("n3", "z", "0", "1")), later(5), acquireBy("n2", "y", "0", "1"), later(5), longer(acquireBy("n4", "w", "0", "1"))), `[1 "9007199254740995" 0]`},
	{"but one to who does", protected(later(10), longer(acquireBy("n3", "z", "0", "1")), later(10), counting("9000", acquireBy("n2", "y", "0", "1"))), `[1 "9007199254740995" 0]`},
	{"and a longer one than the last where that was counted on", protected(later(10), counting("9000", acquireBy("n2", "y", "0", "1")), later(4), longer(acquireBy("n3", "z", "0", "1"))), `[1 "9007199254740995" 0]`},
	{"who has heard of a longer one counts on it as long as that one may be", afterLong(5, counting("9000", acquireBy("n1", "v", "0", "1")), rather("9000", "2", acquireBy("n2", "y", "0", "1")), rather("9000", "3", acquireBy("n2", "w", "0", "1"))), `[0 "9007199254740995" "n1" 3000 0 0 9000]`},
	{"and at the first answer after that", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1"))), `[0 "9007199254740995" "n1" 3000 0 0 9000]`},
	{"but not at the second", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), rather("9000", "3", acquireBy("n2", "w", "0", "1"))), `[0 "9007199254740995" "n1" 3000 0 0 3000]`},
	{"also where it is granted each time", afterLong(19, rather("9000", "2", acquireBy("n2", "y", "0", "1")), releaseOf("r1 9007199254740995 y n2"), rather("9000", "3", acquireBy("n2", "w", "0", "1"))), `[1 "9007199254740996" 0 "" 3000]`},
	{"unless that is a repetition of the first", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), rather("9000", "2", acquireBy("n2", "y", "0", "1"))), `[0 "9007199254740995" "n1" 3000 0 0]`},
	{"or the server has forgotten something", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), sent("DEL", witnessKey), rather("9000", "3", acquireBy("n2", "w", "0", "1"))), `[0 "9007199254740995" "n1" 3000 0 0 9000]`},
	{"a longer one is not granted meanwhile", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), later(4), longer(acquireBy("n3", "z", "0", "1"))), `[0 "0" "" 5000 0 5 9000]`},
	{"also where a late request of before comes in", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), later(1), longer(acquireBy("n3", "z", "0", "1")), rather("9000", "1", acquireBy("n2", "x", "0", "1")), later(4), longer(acquireBy("n3", "z", "0", "1"))), `[0 "0" "" 4000 0 5 9000]`},
	{"a leader that counts on more does not speak for the others", afterLong(19, acquireBy("n1", "v", "0", "1"), rather("9000", "2", acquireBy("n2", "y", "0", "1")), later(4), counting("9000", acquireBy("n4", "u", "0", "1")), acquireBy("n2", "w", "0", "1"), later(4), longer(acquireBy("n3", "z", "0", "1"))), `[0 "0" "" 5000 0 5 9000]`},
	{"a server without protection grants at once", []step{acquireBy("n1", "x", "0", "0"), sent("DEL", guardKey, leaseKey), acquireBy("n2", "y", "0", "0")}, `[1 "2" 0]`},
	{"renewed", []step{acquireBy("n1", "x", "0", "0"), later(2), renewOf("r1 1 x n1")}, "1"},
	{"and lasts the whole time again", []step{acquireBy("n1", "x", "0", "0"), later(2), renewOf("r1 1 x n1"), later(2), whoLeads}, `["1" "n1" 1000 "" 0]`},
	{"renewed after its end", []step{acquireBy("n1", "x", "0", "0"), later(4), renewOf("r1 1 x n1")}, "0"},
	{"which does not bring it back", []step{acquireBy("n1", "x", "0", "0"), later(4), renewOf("r1 1 x n1"), whoLeads}, "[]"},
	{"another's lease is not renewed", []step{acquireBy("n1", "x", "0", "0"), renewOf("r1 1 y n2")}, "0"},
	{"nor does it last longer", []step{acquireBy("n1", "x", "0", "0"), later(2), renewOf("r1 1 y n2"), whoLeads}, `["1" "n1" 1000 "" 0]`},
	{"an earlier token is not renewed", []step{sent("SET", counterKey, "1"), acquireBy("n1", "x", "0", "0"), renewOf("r1 1 x n1")}, "0"},
	{"released", []step{acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n1")}, "1"},
	{"and gone", []step{acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n1"), whoLeads}, "[]"},
	{"released after its end", []step{acquireBy("n1", "x", "0", "0"), later(4), releaseOf("r1 1 x n1")}, "0"},
	{"another's lease is not released", []step{acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n2")}, "0"},
	{"and stands", []step{acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n2"), whoLeads}, `["1" "n1" 3000 "" 0]`},
	{"a value that comes with the grant", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), whoLeads}, `["1" "n1" 3000 "here" 1]`},
	{"and is changed", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), publishing("2", "there now", renewOne()), whoLeads}, `["1" "n1" 3000 "there now" 2]`},
	{"but not by a renewal that is late", []step{acquireBy("n1", "x", "0", "0"), publishing("10", "there", renewOne()), publishing("9", "here", renewOne()), whoLeads}, `["1" "n1" 3000 "there" 10]`},
	{"nor by the attempt again", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), publishing("2", "there", renewOne()), publishing("1", "here", acquireBy("n1", "x", "0", "0")), whoLeads}, `["1" "n1" 3000 "there" 2]`},
	{"a renewal without it leaves it", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), renewOne(), whoLeads}, `["1" "n1" 3000 "here" 1]`},
	{"it is not the next one's", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), later(4), acquireBy("n2", "y", "0", "0"), whoLeads}, `["2" "n2" 3000 "" 0]`},
	{"nor after a release", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), releaseOf("r1 1 x n1"), acquireBy("n1", "y", "0", "0"), whoLeads}, `["2" "n1" 3000 "" 0]`},
	{"nor another's of that token", []step{sent("HSET", guardKey, "published", "1 w 1 there"), acquireBy("n1", "x", "0", "0"), whoLeads}, `["1" "n1" 3000 "" 0]`},
	{"what is lost is shown again", []step{publishing("1", "here", acquireBy("n1", "x", "0", "0")), sent("DEL", guardKey), publishing("1", "here", renewOne()), whoLeads}, `["1" "n1" 3000 "here" 1]`},
	{"a guard of another kind hides it", []step{acquireBy("n1", "x", "0", "0"), sent("DEL", guardKey), sent("SET", guardKey, "x"), whoLeads}, `["1" "n1" 3000 "" 0]`},
	{"an audit of another kind", []step{sent("SET", auditKey, "x"), acquireBy("n1", "x", "0", "0")}, "WRONGTYPE"},
	{"comes after the grant", []step{sent("SET", auditKey, "x"), acquireBy("n1", "x", "0", "0"), whoLeads}, `["1" "n1" 3000 "" 0]`},
}

// remembered are situations in which the server can say for how long it has forgotten
// nothing, which miniredis cannot: another election, which has been granted for
// longer than a lease, comes first.
var remembered = []struct {
	what  string
	steps []step
	want  string
}{
	{"a name that was never seen is granted at once", known(acquireBy("n1", "x", "0", "1")), `[1 "9007199254740993" 0]`},
	{"and then as any other", known(acquireBy("n1", "x", "0", "1"), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"not for a lease longer than the server is known", known(longer(acquireBy("n1", "x", "0", "1"))), `[0 "0" "" 5000 0 2]`},
	{"nor if it may have forgotten keys", known(sent("DEL", witnessKey), acquireBy("n1", "x", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"nor if it is another one", known(sent("HSET", witnessKey, "history", "other"), acquireBy("n1", "x", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"nor if its clock was set back", known(sent("HSET", witnessKey, "since", "1999999999999"), acquireBy("n1", "x", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"nor if the name was forgotten", known(acquireBy("n1", "x", "0", "1"), sent("DEL", leaseKey, guardKey), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 3000 0 3]`},
	{"nor without the key in common", known(alone(acquireBy("n1", "x", "0", "1"))), `[0 "0" "" 3000 0 2]`},
	{"another server's lease is waited for", protected(sent("HSET", witnessKey, "history", "other"), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"also one that was renewed here and given back", protected(sent("HSET", witnessKey, "history", "other"), later(1), renewProtected(), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"for a lease from that renewal on", protected(sent("HSET", witnessKey, "history", "other"), renewProtected(), later(2), renewProtected(), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 1000 0 2]`},
	{"and then granted", protected(sent("HSET", witnessKey, "history", "other"), renewProtected(), later(2), renewProtected(), later(2), releaseOf(protectedLease), acquireBy("n2", "y", "0", "1")), `[1 "9007199254740994" 0]`},
	{"the same attempt again, where the server knows something else", protected(sent("HSET", witnessKey, "history", "other"), acquireBy("n1", "x", "0", "1")), `[0 "0" "" 3000 0 2]`},
	{"also on a server that takes over", protected(sent("HSET", witnessKey, "history", "other"), publishing("3", "here", renewProtected()), whoLeads), `["9007199254740993" "n1" 3000 "here" 3]`},
	{"nor where a candidate knows a larger token than the server", known(acquireBy("n1", "x", "9007199254740999", "1")), `[0 "0" "" 3000 0 6]`},
	{"which is noticed once", known(acquireBy("n1", "x", "9007199254740999", "1"), later(4), acquireBy("n1", "y", "9007199254740999", "1")), `[1 "9007199254741000" 0]`},
}

// bidBy is an attempt that stands if it is refused.
func bidBy(id, nonce, floor, protect string) step {
	s := acquireBy(id, nonce, floor, protect)
	s.args[10] = beacon
	return s
}

// passing is a release by who holds the lease that protected ends with.
func passing(to string) step { return handOver(to) }

// passedOn are situations in which a lease may be passed on: somebody listens to the
// beacon.
var passedOn = []struct {
	what  string
	steps []step
	want  string
}{
	{"who was refused gets it", protected(bidBy("n2", "y", "0", "1"), passing(""), whoLeads), `["9007199254740994" "n2" 3000 "" 0]`},
	{"its lease is renewed", protected(bidBy("n2", "y", "0", "1"), passing(""), later(2), renewOf("r1 9007199254740994 y n2"), whoLeads), `["9007199254740994" "n2" 3000 "" 0]`},
	{"and given back", protected(bidBy("n2", "y", "0", "1"), passing(""), releaseOf("r1 9007199254740994 y n2"), acquireBy("n3", "z", "0", "1")), `[1 "9007199254740995" 1]`},
	{"the last one that was", protected(bidBy("n2", "y", "0", "1"), bidBy("n3", "z", "0", "1"), passing(""), whoLeads), `["9007199254740994" "n3" 3000 "" 0]`},
	{"not who has the lease", protected(bidBy("n1", "y", "0", "1"), passing(""), whoLeads), `[]`},
	{"with a token above its floor", protected(bidBy("n2", "y", "9007199254740999", "1"), passing(""), whoLeads), `["9007199254741000" "n2" 3000 "" 0]`},
	{"asked two seconds ago", protected(bidBy("n2", "y", "0", "1"), later(2), passing(""), whoLeads), `["9007199254740994" "n2" 3000 "" 0]`},
	{"not if it asked long ago", protected(bidBy("n2", "y", "0", "1"), later(1), renewOf(protectedLease), later(2), passing(""), whoLeads), `[]`},
	{"nor if it asked in the future", protected(bidBy("n2", "y", "0", "1"), sent("HSET", candidatesKey, "", nowMS+"9000 3000 3000 0 1 "+beacon+" y n2"), passing(""), whoLeads), `[]`},
	{"nor if it does not stand", protected(acquireBy("n2", "y", "0", "1"), passing(""), whoLeads), `[]`},
	{"nor if nobody is there", protected(dark(bidBy("n2", "y", "0", "1")), passing(""), whoLeads), `[]`},
	{"nor if it was withdrawn", protected(bidBy("n2", "y", "0", "1"), withdrawn("n2", "y"), passing(""), whoLeads), `[]`},
	{"but by nobody else", protected(bidBy("n2", "y", "0", "1"), withdrawn("n3", "y"), withdrawn("n2", "z"), passing(""), whoLeads), `["9007199254740994" "n2" 3000 "" 0]`},
	{"a withdrawal that comes too late gets the token", protected(bidBy("n2", "y", "0", "1"), passing(""), withdrawn("n2", "y")), `"9007199254740994"`},
	{"a successor that was refused last gets it", protected(bidBy("n2", "y", "0", "1"), passing("n2"), whoLeads), `["9007199254740994" "n2" 3000 "" 0]`},
	{"another one is waited for", protected(bidBy("n2", "y", "0", "1"), passing("n3"), acquireBy("n2", "y", "0", "1")), `[0 "0" "" 400 1 4]`},
	{"not by a server that is another one", protected(bidBy("n2", "y", "0", "1"), sent("HSET", witnessKey, "history", "other"), passing(""), whoLeads), `[]`},
	{"nor where the guard names another lease", protected(bidBy("n2", "y", "0", "1"), sent("HSET", guardKey, "value", "other"), passing(""), whoLeads), `[]`},
	{"nor while another lease may be believed in", protected(bidBy("n2", "y", "0", "1"), sent("HSET", guardKey, "unsure", nowMS+"900"), passing(""), whoLeads), `[]`},
	{"nor where leases differ", protected(counting("9000", bidBy("n2", "y", "0", "1")), passing(""), whoLeads), `[]`},
	{"nor by who has lost the lease", protected(bidBy("n2", "y", "0", "1"), sent("DEL", leaseKey), passing(""), whoLeads), `[]`},
	{"nor where there is no token", protected(bidBy("n2", "y", "0", "1"), sent("SET", counterKey, "many"), passing(""), whoLeads), `[]`},
	{"nor if the news of it reaches nobody", protected(bidBy("n2", "y", "0", "1"), unheard(passing("")), whoLeads), `[]`},
	{"and once only", protected(bidBy("n2", "y", "0", "1"), passing(""), releaseOf("r1 9007199254740994 y n2"), whoLeads), `[]`},
	{"without protection, too", []step{acquireBy("n1", "x", "0", "0"), bidBy("n2", "y", "0", "0"), releaseOf("r1 1 x n1"), whoLeads}, `["2" "n2" 3000 "" 0]`},
}

// unheard is a release of which nobody hears.
func unheard(s step) step {
	s.args[1] = "deserted"
	return s
}

// dark is a bid of who is not there any more.
func dark(s step) step {
	s.args[10] = "dark"
	return s
}

func withdrawn(id, nonce string) step {
	return step{script: Withdraw, keys: []string{leaseKey, candidatesKey}, args: []string{id, nonce}}
}

// In each of these situations the port and a real server give the same replies, and
// leave the same keys.
func TestPassedOn(t *testing.T) {
	real := startReal(t)
	dial(t, "tcp", shared.addr).do(t, "SUBSCRIBE", beacon, channel)
	for _, test := range passedOn {
		t.Run(test.what, func(t *testing.T) {
			steps := append(append([]step{}, test.steps...), look([]string{leaseKey, counterKey, guardKey, candidatesKey, auditKey})...)
			base, seen := observe(t, real, steps)
			same(t, "the port", listening(), base, steps, seen, false)
			if got := outcome(seen[len(test.steps)-1].reply); got != test.want {
				t.Errorf("both say %s, want %s", got, test.want)
			}
		})
	}
}

// known are steps of which the first make a server known for 4 s.
func known(more ...step) []step {
	another := acquireBy("n9", "w", "0", "1")
	another.keys = []string{"{f}:lease", "{f}:token", "{f}:guard", "{f}:candidates", "{f}:terms", witnessKey}
	return append([]step{another, later(4), sent("SET", counterKey, "9007199254740992")}, more...)
}

// alone is an acquisition where elections have no key in common.
func alone(s step) step {
	s.keys = slices.Clone(s.keys)
	s.keys[5] = guardKey
	return s
}

// In each of these situations the port and a real server give the same replies, and
// leave the same keys.
func TestWitnessed(t *testing.T) {
	real := startReal(t)
	for _, test := range remembered {
		t.Run(test.what, func(t *testing.T) {
			steps := append(append([]step{}, test.steps...), look([]string{leaseKey, counterKey, guardKey, witnessKey, auditKey})...)
			base, seen := observe(t, real, steps)
			same(t, "the port", modelSubject{New(Options{})}, base, steps, seen, false)
			if got := outcome(seen[len(test.steps)-1].reply); got != test.want {
				t.Errorf("both say %s, want %s", got, test.want)
			}
		})
	}
}

// In each situation of an election the port, a real server and miniredis give
// the same replies, and leave the same keys.
func TestSituations(t *testing.T) {
	real, mini := startReal(t), startMini(t)
	for _, test := range situations {
		t.Run(test.what, func(t *testing.T) {
			steps := append(append([]step{}, test.steps...), look([]string{leaseKey, counterKey, guardKey, auditKey})...)
			base, seen := observe(t, real, steps)
			model := modelSubject{New(Options{})}
			same(t, "the port", model, base, steps, seen, false)
			mini.server.FlushAll()
			same(t, "miniredis", mini, base, steps, seen, true)
			if got := outcome(seen[len(test.steps)-1].reply); got != test.want {
				t.Errorf("all say %s, want %s", got, test.want)
			}
		})
	}
}

// outcome is a reply in short: numbers bare, times left to the half second or, if
// short, to the tenth, and errors by their code.
func outcome(r Reply) string {
	switch r.Kind {
	case Int:
		if r.Int > 900 {
			return strconv.FormatInt((r.Int+499)/500*500, 10)
		}
		if r.Int > 300 { // what is left of a short time: some milliseconds have passed
			return strconv.FormatInt((r.Int+99)/100*100, 10)
		}
		return strconv.FormatInt(r.Int, 10)
	case Error:
		code := ""
		_, _ = fmt.Sscan(r.Text, &code) // an error has a code
		return code
	case Array:
		text := "["
		items := r.Items
		switch {
		case len(items) == 7 && items[6].Int == 0:
			items = items[:6] // the caller counts on what it did
		case len(items) == 5 && items[0].Int == 1 && items[4].Int == 0:
			items = items[:3] // as above, and there are no replicas
		}
		for i, item := range items {
			if i > 0 {
				text += " "
			}
			text += outcome(item)
		}
		return text + "]"
	default:
		return r.String()
	}
}

// A counter of a server that remembers nothing starts at the server's time in
// microseconds, with all its zeros.
func TestSeededCounter(t *testing.T) {
	for _, test := range []struct {
		now  time.Duration
		want string
	}{
		{1_700_000_000*time.Second + 42*time.Microsecond, "1700000000000043"},
		{1_700_000_000*time.Second + 999_999*time.Microsecond, "1700000001000000"},
		{12 * time.Second, "12000001"},
	} {
		s := New(Options{})
		a := acquireBy("n1", "x", "0", "1")
		s.Eval(test.now-4*time.Second, Acquire, a.keys, a.args) // it is granted only after a lease
		if got := s.Eval(test.now, Acquire, a.keys, a.args); got.Items[1].Text != test.want {
			t.Errorf("at %v the first token is %v, want %s", test.now, got, test.want)
		}
	}
}

// A listener for hints is counted, and is notified of grants and releases.
func TestHints(t *testing.T) {
	var hints []string
	s := New(Options{OnPublish: func(channel, message string) { hints = append(hints, channel+" "+message) }})
	run := func(p step) string { return outcome(s.Eval(benchNow, p.script, p.keys, p.args)) }
	if got := run(acquireBy("n1", "x", "0", "0")); got != `[1 "1" 0]` || len(hints) > 0 {
		t.Errorf("with nobody listening: %s, hints %q", got, hints)
	}
	s.Subscribe(channel)
	s.Subscribe(channel)
	if got := run(acquireBy("n2", "y", "0", "0")); got != `[0 "1" "n1" 3000 2 0]` {
		t.Errorf("with two listening: %s", got)
	}
	s.Unsubscribe(channel)
	run(releaseOf("r1 1 x n1"))
	if got := run(acquireBy("n2", "y", "0", "0")); got != `[1 "2" 1]` {
		t.Errorf("with one listening: %s", got)
	}
	want := fmt.Sprintf("[%[1]s released 1 0 n2 %[1]s granted 2 3000]", channel)
	if got := fmt.Sprint(hints); got != want {
		t.Errorf("hints %s, want %s", got, want)
	}
	if got := s.Do(benchNow, "PUBSUB", "NUMSUB", channel, "other").String(); got != `["{e}:wake" (integer) 1 "other" (integer) 0]` {
		t.Errorf("NUMSUB says %s", got)
	}
}

// Who listens on a real server gets the same hints, and changes the scripts'
// replies in the same way.
func TestListener(t *testing.T) {
	real := startReal(t)
	listener := dial(t, "tcp", shared.addr)
	listener.do(t, "SUBSCRIBE", channel)
	steps := []step{
		acquireBy("n1", "x", "0", "0"), acquireBy("n2", "y", "0", "0"), renewOf("r1 1 x n1"), releaseOf("r1 1 x n2"), releaseOf("r1 1 x n1"),
		acquireBy("n2", "y", "0", "0"), sent("PUBLISH", channel, "bye"), sent("PUBLISH", "other", "x"), sent("PUBSUB", "NUMSUB", channel, "other"),
	}
	var hints []string
	model := New(Options{OnPublish: func(_, message string) { hints = append(hints, message) }})
	model.Subscribe(channel)
	base, seen := observe(t, real, steps)
	same(t, "the model", modelSubject{model}, base, steps, seen, false)
	if len(hints) != 4 {
		t.Errorf("the model's hints are %q, want two grants, a release and a farewell", hints)
	}
	for _, hint := range hints { // if the server was tried several times, it said the same each time
		got, err := listener.read()
		if err != nil || got.Items[2].Text != hint {
			t.Fatalf("the real server's hint is %v, %v; the model's is %q", got, err, hint)
		}
	}
}
