package redismodel

import (
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What commands are drawn from: few keys, so that they meet, of all kinds, and
// arguments of which some are odd.
var (
	someKeys     = []string{"a", "b", "c", "", "empty\x00\r\n"}
	someValues   = []string{"", "x", "1", "-3", "007", "+1", "1.5", " 2", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "long value with spaces"}
	someFields   = []string{"f", "g", ""}
	someTimes    = []string{"100", "1000", "1499", "1500", "2000", "2501", "7000", "60000", "0", "-1", "-5000", "9223372036854775807", "-9223372036854775808", "x", "", "01"}
	someSecs     = []string{"1", "2", "3", "7", "60", "0", "-1", "9223372036854775807", "-9223372036854775807", "x", "1.0"}
	someIndex    = []string{"0", "1", "2", "-1", "-2", "-100", "100", "x"}
	somePatterns = []string{"*", "a", "?", "[a-b]", "[^a]", "[b-a]*", "e*\\x00*", "emp[t]y*", "\\a", "**c", "[", "[^", "a\\", "[\\a]", "[a-", "", "?*y?*", "empty\x00\r\n"}
	someWhen     = []string{"NX", "XX", "GT", "LT", "nx", "gt", "lt", "EX"}
)

func pick(t *rapid.T, from []string) string { return rapid.SampledFrom(from).Draw(t, "arg") }

// instant is an absolute time around the beginning, in milliseconds.
func instant(t *rapid.T) string {
	return pick(t, []string{nowMS + "700", nowMS + "1700", nowMS + "5000", nowMS + "60000", nowMS + "-1", nowMS + "-5000", "1", "0", "-7", "x"})
}

// second is the same in seconds.
func second(t *rapid.T) string {
	return pick(t, []string{nowS + "2", nowS + "5", nowS + "60", nowS + "-1", nowS + "-5", "1", "0", "-7", "9223372036854775807", "x"})
}

// several draws up to three arguments.
func several(t *rapid.T, from []string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(t, "args")
}

// drawSet draws a SET with options, some of which make no sense.
func drawSet(t *rapid.T) []string {
	args := []string{"SET", pick(t, someKeys), pick(t, someValues)}
	for range rapid.IntRange(0, 2).Draw(t, "options") {
		switch option := pick(t, []string{"NX", "XX", "GET", "KEEPTTL", "EX", "PX", "EXAT", "PXAT", "px", "Nx", "keepttl", "KEEP"}); option {
		case "PX", "px":
			args = append(args, option, pick(t, someTimes))
		case "EX":
			args = append(args, option, pick(t, someSecs))
		case "PXAT":
			args = append(args, option, instant(t))
		case "EXAT":
			args = append(args, option, second(t))
		default:
			args = append(args, option)
		}
	}
	return args
}

// drawCommand draws a command with as many arguments as it takes, mostly.
func drawCommand(t *rapid.T) []string {
	key := pick(t, someKeys)
	switch name := pick(t, commandNames); name {
	case "SET":
		return drawSet(t)
	case "SETNX", "GETSET":
		return []string{name, key, pick(t, someValues)}
	case "SETEX":
		return []string{name, key, pick(t, someSecs), pick(t, someValues)}
	case "PSETEX":
		return []string{name, key, pick(t, someTimes), pick(t, someValues)}
	case "GETRANGE":
		return []string{name, key, pick(t, someIndex), pick(t, someIndex)}
	case "MSET", "MSETNX":
		args := []string{name, key, pick(t, someValues)}
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			args = append(args, pick(t, someKeys), pick(t, someValues))
		}
		return args
	case "KEYS":
		return []string{name, pick(t, somePatterns)}
	case "INCRBY", "DECRBY":
		return []string{name, key, pick(t, someValues)}
	case "DEL", "UNLINK", "EXISTS", "MGET":
		return append([]string{name}, several(t, someKeys)...)
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		from := map[string]string{"EXPIRE": pick(t, someSecs), "PEXPIRE": pick(t, someTimes), "EXPIREAT": second(t), "PEXPIREAT": instant(t)}
		args := []string{name, key, from[name]}
		for range rapid.IntRange(-3, 2).Draw(t, "options") {
			args = append(args, pick(t, someWhen))
		}
		return args
	case "HSET":
		args := []string{name, key}
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			args = append(args, pick(t, someFields), pick(t, someValues))
		}
		return args
	case "HGET", "HEXISTS":
		return []string{name, key, pick(t, someFields)}
	case "HDEL", "HMGET":
		return append([]string{name, key}, several(t, someFields)...)
	case "HINCRBY":
		return []string{name, key, pick(t, someFields), pick(t, someValues)}
	case "RPUSH", "LPUSH":
		return append([]string{name, key}, several(t, someValues)...)
	case "LRANGE", "LTRIM":
		return []string{name, key, pick(t, someIndex), pick(t, someIndex)}
	case "PUBLISH":
		return []string{name, "channel", "message"}
	case "PUBSUB":
		return append([]string{name, "NUMSUB"}, several(t, someKeys)...)
	case "FLUSHALL", "PING", "TIME":
		return []string{name}
	case "WAIT":
		return []string{name, pick(t, []string{"0", "x"}), pick(t, []string{"0", "-1", "x"})}
	default: // one key
		return []string{name, key}
	}
}

// commandNames are what is drawn; those that make the state are drawn more
// often, and what needs no keys less.
var commandNames = []string{
	"SET", "SET", "SET", "SET", "SETNX", "SETEX", "PSETEX", "MSET", "MSETNX", "GET", "GET", "MGET", "GETSET", "GETDEL", "GETRANGE", "INCR", "INCRBY", "DECR", "DECRBY",
	"DEL", "UNLINK", "EXISTS", "TYPE", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "KEYS",
	"HSET", "HSET", "HGET", "HMGET", "HDEL", "HEXISTS", "HINCRBY", "HLEN", "HGETALL", "RPUSH", "LPUSH", "LRANGE", "LTRIM", "LLEN",
	"PUBLISH", "PUBSUB", "FLUSHALL", "PING", "TIME", "WAIT",
}

// drawJump draws a step of the clock.
func drawJump(t *rapid.T, back bool) step {
	seconds := rapid.IntRange(1, 6).Draw(t, "jump")
	if back && rapid.Bool().Draw(t, "back") {
		seconds = -seconds
	}
	return step{jump: time.Duration(seconds) * time.Second}
}

// look are steps that look at all that is there in the end.
func look(keys []string) []step {
	var steps []step
	for _, key := range keys {
		for _, name := range []string{"TYPE", "PTTL", "PEXPIRETIME", "GET", "HGETALL"} {
			steps = append(steps, step{args: []string{name, key}})
		}
		steps = append(steps, step{args: []string{"LRANGE", key, "0", "-1"}})
	}
	return steps
}

func drawSteps(t *rapid.T, back bool) []step {
	var steps []step
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		if rapid.IntRange(0, 7).Draw(t, "what") == 0 {
			steps = append(steps, drawJump(t, back))
			continue
		}
		args := drawCommand(t)
		if rapid.IntRange(0, 40).Draw(t, "short") == 0 {
			args = args[:rapid.IntRange(1, len(args)).Draw(t, "length")]
		}
		steps = append(steps, step{args: args})
	}
	return append(steps, look(someKeys)...)
}

// The model answers any sequence of commands as a real server does, whatever
// the keys hold and however odd the arguments are, while time passes, and when
// the clock goes back.
func TestCommands(t *testing.T) {
	real := startReal(t)
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSteps(t, true)
		base, seen := observe(t, real, steps)
		same(t, "the model", modelSubject{New(Options{})}, base, steps, seen, false)
	})
}

// Every command that the model has is drawn.
func TestCommandsAreDrawn(t *testing.T) {
	// These are in tests of their own; DBSIZE counts what has expired, until the
	// server finds it.
	drawn := map[string]bool{"SCRIPT": true, "EVAL": true, "EVALSHA": true, "DBSIZE": true, "INFO": true}
	for _, name := range commandNames {
		drawn[name] = true
	}
	for name := range commands {
		if !drawn[name] {
			t.Errorf("%s is never compared with a real server", name)
		}
	}
	if len(drawn) != len(commands) {
		t.Errorf("%d commands are drawn, the model has %d", len(drawn), len(commands))
	}
}

// The model counts arguments as a real server does, for all commands and any
// number of them.
func TestArity(t *testing.T) {
	real := startReal(t)
	for name := range commands {
		if name == "SCRIPT" || name == "EVAL" || name == "EVALSHA" || name == "INFO" {
			continue
		}
		for n := range 8 {
			s := step{args: append([]string{name}, []string{"k", "NX", "x", "x", "x", "x", "x"}[:n]...)}
			if name == "PUBSUB" && n > 0 {
				s.args[1] = "NUMSUB"
			}
			real.do(t, "FLUSHALL")
			want := real.do(t, s.args...)
			got := New(Options{}).Do(microseconds(real.do(t, "TIME")), s.args...)
			if (name == "TIME" || name == "INFO") && n == 0 {
				continue // its reply is compared elsewhere
			}
			if !s.equal(got, want, 0, false) {
				t.Errorf("%v: the model says %v, the server %v", s, got, want)
			}
		}
	}
}

// Who looks for a server's run in what INFO says finds the name of one, in letters
// and digits, as in a real server, and another one after a restart.
func TestInfo(t *testing.T) {
	run := func(section string, ask func(args ...string) Reply) string {
		t.Helper()
		found := regexp.MustCompile(`(?m)^run_id:(\w+)\r$`).FindStringSubmatch(ask("INFO", section).Text)
		if found == nil {
			t.Fatalf("INFO %s names no run", section)
		}
		return found[1]
	}
	s := New(Options{Name: "server1"})
	ask := func(args ...string) Reply { return s.Do(time.Hour, args...) }
	real := startReal(t)
	for _, section := range []string{"server", "Everything"} {
		run(section, func(args ...string) Reply { return real.do(t, args...) })
		if got := run(section, ask); got != s.RunID() {
			t.Errorf("INFO %s names the run %s, want %s", section, got, s.RunID())
		}
	}
	before := run("server", ask)
	s.Crash()
	s.Restart(time.Hour, true)
	if after := run("server", ask); after == before {
		t.Errorf("the run is called %s before and after a restart", after)
	}
}

// Each condition under which EXPIRE does something is as in a real server, with
// times before, at and after the one that the key has.
func TestExpireOptions(t *testing.T) {
	var steps []step
	for _, key := range [][]string{{"DEL", "k"}, {"SET", "k", "v"}, {"SET", "k", "v", "PXAT", nowMS + "5000"}} {
		for _, options := range [][]string{nil, {"NX"}, {"XX"}, {"GT"}, {"LT"}, {"XX", "GT"}, {"XX", "LT"}, {"NX", "XX"}, {"NX", "GT"}, {"NX", "LT"}, {"GT", "LT"}} {
			for _, at := range []string{"4999", "5000", "5001", "-1"} {
				steps = append(steps, step{args: key}, step{args: append([]string{"PEXPIREAT", "k", nowMS + at}, options...)}, step{args: []string{"PTTL", "k"}})
			}
		}
	}
	real := startReal(t)
	base, seen := observe(t, real, steps)
	same(t, "the model", modelSubject{New(Options{})}, base, steps, seen, false)
}

// A hash that loses its last field is gone.
func TestEmptied(t *testing.T) {
	steps := []step{
		{args: []string{"HSET", "h", "f", "1", "g", "2"}}, {args: []string{"HDEL", "h", "f"}}, {args: []string{"HLEN", "h"}},
		{args: []string{"HDEL", "h", "x", "g", "f"}}, {args: []string{"TYPE", "h"}}, {args: []string{"RPUSH", "h", "1"}},
	}
	base, seen := observe(t, startReal(t), steps)
	same(t, "the model", modelSubject{New(Options{})}, base, steps, seen, false)
}
