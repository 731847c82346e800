package redismodel

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lockScripts are what lock libraries and documented electors run.
var lockScripts = map[string]string{
	"compare and delete": unlock.Source,
	"compare and expire": `
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('expire', KEYS[1], ARGV[2])
else
    return 0
end`,
	"compare and pexpire": `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`,
	"compare and set": `
local current = redis.call('GET', KEYS[1])
if current == ARGV[1] then
  return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return current`,
	"set, and a larger number": `
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', tonumber(ARGV[2])) then
  return {1, redis.call('incr', KEYS[2]), redis.call('pttl', KEYS[1])}
end
return {0, redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])}`,
	"redislock's obtain": `
local function pexpire(ttl)
	for _, key in ipairs(KEYS) do
		redis.call("pexpire", key, ttl)
	end
end
local function canOverrideKeys()
	local offset = tonumber(ARGV[3])
	for _, key in ipairs(KEYS) do
		if redis.call("getrange", key, 0, offset-1) ~= string.sub(ARGV[1], 1, offset) then
			return false
		end
	end
	return true
end
local setArgs = {}
for _, key in ipairs(KEYS) do
	table.insert(setArgs, key)
	table.insert(setArgs, ARGV[1])
end
if redis.call("msetnx", unpack(setArgs)) ~= 1 then
	if canOverrideKeys() == false then
		return false
	end
	redis.call("mset", unpack(setArgs))
end
pexpire(ARGV[2])
return redis.status_reply("OK")`,
	"a lock that one can take again": `
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[1]) == 1) then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return nil
end
return redis.call('pttl', KEYS[1])`,
	"whatever fails": `
local reply = redis.pcall('hget', KEYS[1], 'f')
if type(reply) == 'table' and reply.err then
  return {'it says', reply.err, redis.call('set', KEYS[2], #KEYS .. ' keys').ok}
end
return redis.call('incr', KEYS[1])`,
}

func evalOf(text string, keys []string, args ...string) step {
	return step{args: append(append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...), args...)}
}

// drawTexts draws calls of lock scripts, and what others do to their keys.
func drawTexts(t *rapid.T, back bool) []step {
	names := make([]string, 0, len(lockScripts))
	for name := range lockScripts {
		names = append(names, name)
	}
	var steps []step
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 7).Draw(t, "what") {
		case 0:
			steps = append(steps, drawJump(t, back))
		case 1:
			steps = append(steps, step{args: drawSet(t)})
		case 2:
			steps = append(steps, sent(pick(t, []string{"DEL", "INCR", "PERSIST"}), pick(t, someKeys)), sent("HSET", pick(t, someKeys), "f", "3"))
		default:
			keys := []string{pick(t, []string{"a", "b"}), "c"}
			steps = append(steps, evalOf(lockScripts[rapid.SampledFrom(names).Draw(t, "script")], keys,
				pick(t, []string{"n1", "n2", "n1+1"}), pick(t, []string{"1500", "3000", "7", "-1", "x", "1.5"}), pick(t, []string{"2", "0"})))
		}
	}
	return append(steps, look(someKeys)...)
}

// The texts of lock scripts do in the model what they do on a real server, in
// any order, whatever they find.
func TestLockScripts(t *testing.T) {
	real := startReal(t)
	rapid.Check(t, func(t *rapid.T) {
		steps := drawTexts(t, true)
		base, seen := observe(t, real, steps)
		same(t, "the model", modelSubject{New(Options{})}, base, steps, seen, false)
	})
}

// A port of a script and its text do the same.
func TestPortsAndTexts(t *testing.T) {
	for _, script := range []*Script{unlock, everything} {
		ported, text := New(Options{Scripts: []*Script{script}}), New(Options{})
		for _, s := range []step{sent("SET", "k", "v"), evalOf(script.Source, []string{"k"}, "v"), evalOf(script.Source, []string{"k"}, "v"), sent("KEYS", "*")} {
			want := ported.Do(benchNow, s.args...).String()
			if got := text.Do(benchNow, s.args...).String(); got != want {
				t.Errorf("%s, %v: the text says %s, the port %s", script.Name, s, got, want)
			}
		}
	}
}

// What scripts return, what they are refused and how they fail is as on a real
// server.
func TestLua(t *testing.T) {
	real := startReal(t)
	model := modelSubject{New(Options{})}
	for _, text := range []string{
		"return 1", "return 3.99", "return -3.99", "return 'x'", "return true", "return false", "return nil", "return", "return {}", "return {1, 'x', {2}, false, nil, 3}",
		"return {ok='fine'}", "return {err='CODE bad'}", "return redis.error_reply('bad')", "return redis.error_reply('MY bad thing')", "return redis.error_reply('-MY bad')", "return redis.status_reply('fine')",
		"return redis.sha1hex('')", "return #ARGV", "return ARGV[1] .. KEYS[1]", "return tostring(ARGV[9])", "return redis.call('ping')", "return {redis.call('set', 'k', 7), redis.call('get', 'k')}",
		"return redis.call('set', 'n', 1.5) and redis.call('get', 'n')", "return redis.call('set', 'n', 1e20) and redis.call('get', 'n')", "return redis.call('set', 'n', 0.1) and redis.call('get', 'n')",
		"return redis.call('nonsense')", "return redis.call('get')", "return redis.call()", "return redis.call('get', {})", "return redis.call('get', true)", "return redis.call('eval', 'return 1', 0)",
		"return redis.pcall('nonsense')", "return redis.pcall('incr', 'h')", "redis.call('hset', 'h', 'f', 1) return redis.call('incr', 'h')", "local ok, e = pcall(redis.call, 'lpush', 'n', 1) return {tostring(ok), type(e), e.err}",
		"error('it stops')", "error({err='MY stop'})", "x = 1", "return y", "string.x = 1", "redis.call = nil", "return ('x'):rep(3)", "return string.format('%05d %s', 42, 'x')", "return table.concat({1, 2}, ',')",
		"return math.floor(2.5)", "return tonumber('0x10')", "return 10 % 3", "return 2^53", "return unpack({7, 8})", "return type(print)", "return redis.call('keys', 'h*')", "setmetatable(_G, {})", "return setmetatable({}, {__index = function() return 4 end}).x", "return getmetatable({})", "local t = {3, 1, 2} table.sort(t) return t",
		"return nonsense(", "local a = nil; return a.b", "return redis.replicate_commands()", "redis.log(redis.LOG_NOTICE, 'x')", "return tostring(redis.call('get', 'absent'))", "#!lua\nreturn 1",
	} {
		s := evalOf(text, []string{"k"}, "a", "b")
		want := real.do(t, s.args...)
		got := model.step(t, benchNow, s, s.args)
		loose := got.Kind == Error && (strings.Contains(text, "nonsense(") || strings.Contains(text, "a.b")) // compilers differ in their words
		if !s.equal(got, want, 0, loose) {
			t.Errorf("%s: the model says %v, the server %v", text, got, want)
		}
	}
}

// A script leaves nothing behind for the next one but what it stores, and a
// crashed server has forgotten it.
func TestLuaForgets(t *testing.T) {
	s := New(Options{})
	for _, text := range []string{"x = 1", "KEYS[1] = 'y'", "rawset(_G, 'x', 1)", "getmetatable('').x = 1", "string.len = nil"} {
		s.Do(benchNow, "EVAL", text, "1", "k")
	}
	if got := s.Do(benchNow, "EVAL", "return {KEYS[1], pcall(function() return x end) and 'there' or 'gone', string.len('abc'), ('').x and 'there' or 'gone'}", "1", "k").String(); got != `["k" "gone" 3 "gone"]` && got != `["k" "gone" (integer) 3 "gone"]` {
		t.Errorf("the next script sees %s", got)
	}
	sha := digest("return 1")
	s.Do(benchNow, "EVAL", "return 1", "0")
	if got := s.Do(benchNow, "EVALSHA", sha, "0"); got.Int != 1 {
		t.Errorf("a script that was run is not known: %v", got)
	}
	s.FlushScripts()
	if got := s.Do(benchNow, "EVALSHA", sha, "0"); got.Text != errNoScript {
		t.Errorf("a script that was flushed says %v", got)
	}
}

// BenchmarkLua is what a script costs that has no port.
func BenchmarkLua(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		s.Do(benchNow, "EVAL", unlock.Source, "1", "k", "v")
	}
}

// A script that was compiled once runs on any server, and servers may share what
// runs it; what one leaves behind, another does not find.
func TestSharedInterpreter(t *testing.T) {
	script, err := Compile("named", "local v = redis.call('GET', KEYS[1])\nreturn {tostring(v), redis.call('INFO', 'server')}")
	if err != nil || script.Name != "named" {
		t.Fatal(script, err)
	}
	var in Interpreter
	a, b := New(Options{Name: "a", Interpreter: &in}), New(Options{Name: "b", Interpreter: &in})
	a.Do(benchNow, "SET", "k", "v")
	for range 2 {
		for server, want := range map[*Server][2]string{a: {"v", "run_id:arun0\r\n"}, b: {"false", "run_id:brun0\r\n"}} {
			r := server.Eval(benchNow, script, []string{"k"}, nil)
			if r.Kind != Array || r.Items[0].Text != want[0] || !strings.HasSuffix(r.Items[1].Text, want[1]) {
				t.Errorf("%v, want %q", r, want)
			}
		}
	}
	if _, err := Compile("broken", "return ("); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

// INFO tells the server's run in its own section, alone or among others, and
// each run has another name of letters and digits.
func TestInfoSections(t *testing.T) {
	s := New(Options{Name: "s", Persistence: Always})
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"INFO"}, "run_id:srun0"}, {[]string{"INFO", "server"}, "run_id:srun0"}, {[]string{"INFO", "memory", "SERVER"}, "run_id:srun0"},
		{[]string{"INFO", "all"}, "run_id:srun0"}, {[]string{"INFO", "memory"}, ""}, {[]string{"INFO", "nonsense"}, ""},
	} {
		if r := s.Do(benchNow, test.args...); r.Kind != Bulk || (test.want == "") != (r.Text == "") || !strings.Contains(r.Text, test.want) {
			t.Errorf("%v: %v, want %q", test.args, r, test.want)
		}
	}
	s.Crash()
	s.Restart(benchNow, true)
	if r := s.Do(benchNow, "INFO", "server"); !strings.Contains(r.Text, "run_id:srun1\r\n") {
		t.Error(r)
	}
}
