package redismodel

import (
	"testing"

	"pgregory.net/rapid"
)

const (
	leaseKey, counterKey, guardKey, auditKey, channel = "{e}:lease", "{e}:token", "{e}:guard", "{e}:audit", "{e}:wake"
	candidatesKey                                     = "{e}:candidates"
	termsKey                                          = "{e}:terms" // what is noted there, the ports leave out
	witnessKey                                        = "witness"
	beacon                                            = "here" // somebody listens there
)

// electionKeys are the keys of acquire.
var electionKeys = []string{leaseKey, counterKey, guardKey, candidatesKey, termsKey, witnessKey, auditKey}

var (
	someIDs    = []string{"n1", "n2", "é", "id with spaces\n"} // the store refuses an empty one
	someNonces = []string{"x", "y", "nonce"}
	someTTLs   = []string{"3000", "3000", "1500", "100"} // the store refuses what is no time
	someFloors = []string{"0", "0", "1", "7", "12", "9007199254740993", "9223372036854775807", "", "x"}
	someLeases = []string{
		"r1 1 x n1", "r1 2 y n2", "r1 3 nonce ", "r1 8 x id with spaces\n", "r1 9007199254740994 x n1", // ours
		"", "foreign", "r1", "r1 ", "r1 1", "r1 1 x", "r1  x n1", "r1 1  n1", "r1 a x n1", "r1 1x x n1", "r2 1 x n1", "r1 1 x\ty n1", "r1 1 x\vn1 n2", "r1 1 x\n n1", "r1 1 x\fy n1", "r1 1 x\ry n1", "r1 1 x\x00y n1", "r1 1 x\ny", "r1 01 x n1", "r1 1 x  ", "r1 -1 x n1", "R1 1 x n1", " r1 1 x n1",
	}
	someCounters   = []string{"0", "1", "8", "9007199254740992", "9223372036854775806", "9223372036854775807", "", "00", "007", "-1", "1.5", "abc", "12\n", "99999999999999999999"}
	someLongest    = []string{"3000", "3000", "3000", "1500", "5000"}
	someConfigured = []string{"", "", "1500", "3000"}
	someThings     = []string{"", "here", "a b\nc\x00 d", "12"}
	someProtection = []string{"0", "1", "1", "2"}
	someWitnesses  = []string{witnessKey, witnessKey, guardKey}
	someNotes      = []string{"0 3000 0 3000 1", "1 100 -7 100 2", "9000000000000 3000 12 3000 2", "9000000000000 3000 0 5000 7", "1 2 3 4 ", "1 2 3 4 5x", "", "1 2", "1 2 3 4", "1 2 3 4 5", "1 2 x 4 5", "-1 2 3 4 5", "1 2 --3 4 5", "1  2 3 4 5", "1 2 3 4 5\n"}
)

// someBids are what the candidates may say of the attempt that was refused last.
var someBids = []string{
	nowMS + " 3000 3000 0 7 " + beacon + " x n1", nowMS + " 3000 3000 5 7 " + beacon + " y n2", nowMS + " 03000 3000 0 7 " + beacon + " x n1",
	nowMS + "-2250 3000 3000 0 7 " + beacon + " x n1", nowMS + "-2600 3000 3000 0 7 " + beacon + " x n1", nowMS + "5000 3000 3000 0 7 " + beacon + " x n1",
	nowMS + " 3000 3000 0 7 - x n1", "1 3000 3000 0 7 " + beacon + " x n1", "n1", "", "1 2 3 4 5 6 7", nowMS + " 3000 3000 x 7 " + beacon + " x n1",
	nowMS + " 3000 3000 0 7  x n1", nowMS + " 3000 3000 0 7 " + beacon + " x\tx n1", nowMS + " 3000 3000 0 7 " + beacon + " x ",
}

// drawScript draws a call of a script, or a command that leaves something odd
// where the scripts look.
func drawScript(t *rapid.T) step {
	audited := rapid.Bool().Draw(t, "audited")
	keys := func(keys ...string) []string {
		if audited {
			keys = append(keys, auditKey)
		}
		return keys
	}
	lease := []string{leaseKey}
	if rapid.IntRange(0, 15).Draw(t, "elsewhere") == 0 {
		lease[0] = auditKey // a list
	}
	switch rapid.IntRange(0, 9).Draw(t, "script") {
	case 0, 1, 2, 3:
		args := []string{pick(t, someIDs), pick(t, someNonces), pick(t, someTTLs), pick(t, someFloors), channel, pick(t, []string{"1", "2", "3"}), pick(t, someProtection), "0", pick(t, someLongest), pick(t, someConfigured), pick(t, []string{"", beacon, beacon, "dark"})}
		if rapid.IntRange(0, 3).Draw(t, "publishes") == 0 {
			args = append(args, "1", pick(t, someThings))
		}
		return step{script: Acquire, keys: keys(lease[0], counterKey, guardKey, candidatesKey, termsKey, pick(t, someWitnesses)), args: args}
	case 4, 5:
		args := []string{pick(t, someLeases), pick(t, someTTLs), pick(t, someNonces), "3", pick(t, someFloors), pick(t, []string{"1", ""})}
		if rapid.Bool().Draw(t, "publishes") {
			args = append(args, pick(t, []string{"1", "2", "10"}), pick(t, someThings), channel)
		} else if args[5] == "" && !audited {
			args = args[:4]
		}
		return step{script: Renew, keys: keys(lease[0], guardKey, pick(t, someWitnesses)), args: args}
	case 6:
		return step{script: Release, keys: keys(lease[0], guardKey, candidatesKey, termsKey, counterKey, pick(t, someWitnesses)), args: []string{pick(t, someLeases), channel, pick(t, someNonces), "4", pick(t, someFloors), pick(t, []string{"", "n1", "n2"}), "400", pick(t, someIDs), pick(t, []string{"0", "3000"}), "7", pick(t, someLongest), pick(t, someProtection)}}
	case 7:
		switch rapid.IntRange(0, 2).Draw(t, "who lives") {
		case 0:
			return step{script: Candidates, keys: []string{candidatesKey, guardKey, pick(t, someWitnesses)}}
		case 1:
			return step{script: Withdraw, keys: []string{lease[0], candidatesKey}, args: []string{pick(t, someIDs), pick(t, someNonces)}}
		}
		return step{script: Leader, keys: append(lease, guardKey)}
	default:
		return step{args: drawState(t)}
	}
}

// drawState draws a command of somebody who is not an elector.
func drawState(t *rapid.T) []string {
	switch pick(t, []string{"lease", "lease", "guard", "counter", "witness", "expire", "persist", "del", "hash", "candidates", "bid", "bid", "list", "no list"}) {
	case "lease":
		args := []string{"SET", leaseKey, pick(t, someLeases)}
		if rapid.Bool().Draw(t, "with a time to live") {
			args = append(args, "PX", "1700")
		}
		return args
	case "guard":
		return []string{"HSET", guardKey, pick(t, []string{"value", "to", "longest", "lasts", "unsure", "reserved", "published", "of " + guardKey}), pick(t, []string{"another", "n1", "r1 1 x n1", "700", "1700", "1 x 1 here", "1 x 9 "})}
	case "counter":
		return []string{"SET", counterKey, pick(t, someCounters)}
	case "witness":
		return []string{"HSET", witnessKey, pick(t, []string{"history", "since", "replicas", "of " + guardKey}), pick(t, []string{"another", "0", "1", "1700"})}
	case "expire":
		return []string{"PEXPIRE", pick(t, []string{leaseKey, counterKey, guardKey, auditKey}), "700"}
	case "persist":
		return []string{"PERSIST", leaseKey}
	case "del":
		return []string{"DEL", pick(t, []string{leaseKey, counterKey, guardKey, witnessKey, auditKey})}
	case "hash":
		return []string{"HSET", pick(t, []string{leaseKey, counterKey, guardKey, candidatesKey, auditKey}), "f", "v"}
	case "bid":
		return []string{"HSET", candidatesKey, "", pick(t, someBids)}
	case "candidates":
		return []string{"HSET", candidatesKey, pick(t, someIDs), pick(t, someNotes)}
	case "list":
		return []string{"RPUSH", pick(t, []string{leaseKey, counterKey, guardKey, candidatesKey, auditKey}), "line"}
	default:
		return []string{"SET", auditKey, "no list"}
	}
}

func drawScripts(t *rapid.T, back bool) []step {
	var steps []step
	for range rapid.IntRange(1, 20).Draw(t, "steps") {
		if rapid.IntRange(0, 5).Draw(t, "what") == 0 {
			steps = append(steps, drawJump(t, back))
			continue
		}
		steps = append(steps, drawScript(t))
	}
	return append(steps, look([]string{leaseKey, counterKey, guardKey, candidatesKey, witnessKey, auditKey})...)
}

// The ports of the scripts answer as their Lua texts do on a real server, and
// leave the same keys, whatever they find: leases of others, without a time to
// live, or that no elector wrote; counters that are no number, too low, or not
// there; keys of another kind; times and tokens that make no sense.
func TestScripts(t *testing.T) {
	real := startReal(t)
	dial(t, "tcp", shared.addr).do(t, "SUBSCRIBE", beacon, channel)
	rapid.Check(t, func(t *rapid.T) {
		steps := drawScripts(t, true)
		base, seen := observe(t, real, steps)
		same(t, "the port", listening(), base, steps, seen, false)
	})
}

// Every value that a lease may be found with is understood as Lua's pattern
// understands it.
func TestLeaseValues(t *testing.T) {
	real, mini := startReal(t), startMini(t)
	for _, value := range someLeases {
		steps := []step{
			sent("SET", leaseKey, value), whoLeads, acquireBy("n1", "x", "0", "0"), whoLeads, renewOf(value), releaseOf(value),
		}
		base, seen := observe(t, real, steps)
		same(t, "the port", modelSubject{New(Options{})}, base, steps, seen, false)
		mini.server.FlushAll()
		same(t, "miniredis", mini, base, steps, seen, true)
	}
}
