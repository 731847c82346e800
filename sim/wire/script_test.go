package wire_test

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

// The lock holds JSON, and scripts look into it; so they do in other keys.
func TestScriptsLookIntoValues(t *testing.T) {
	const give = `local v = redis.call('GET', KEYS[1])
if v and cjson.decode(v).id == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	const keep = `local v = redis.call('GET', KEYS[1])
if not v then return 0 end
local lease = cjson.decode(v)
if lease.id ~= ARGV[1] then return 0 end
redis.call('HMGET', KEYS[2], 'a', 'b') redis.call('ZINCRBY', KEYS[2], 1, redis.sha1hex(lease.id))
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
	p := newTape(wire.Options{})
	for _, step := range []struct {
		node  string
		args  []string
		reply wire.Value
		want  string
	}{
		{"n1", []string{"SET", "lock", `{"id":"n1"}`, "NX", "PX", "2000"}, wire.Value{Kind: wire.Status, Text: "OK"}, "n1 acquire ok 2s"},
		{"n2", []string{"SET", "lock", `{"id":"n2"}`, "NX", "PX", "2000"}, wire.Value{}, "n2 acquire fail 2s"},
		{"n1", []string{"EVAL", keep, "2", "lock", "seen", "n1", "3000"}, number(1), "n1 renew ok 3s"},
		{"n2", []string{"EVAL", keep, "2", "lock", "seen", "n2", "3000"}, number(0), "n2 renew fail 3s"},
		{"n2", []string{"EVAL", give, "1", "lock", "n2"}, number(0), "n2 release fail"},
		{"n1", []string{"EVAL", give, "1", "lock", "n1"}, number(1), "n1 release ok"},
	} {
		p.conn(step.node).Send(step.args).Answer(step.reply)
		if got := p.ends(); got != step.want {
			t.Errorf("%s %.30q: %s, want %s", step.node, step.args, got, step.want)
		}
	}
	if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
		t.Error(e.Text)
	}
}

// Scripts as they are written for leases.
const (
	releaseOwn  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	renewOwn    = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
	rewriteOwn  = `if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end return 0`
	swapOwn     = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end return 0`
	takeOrRenew = `local h = redis.call('GET', KEYS[1])
if h == false or h == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`
	takeWithToken = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0`
	takeOrHolder  = `if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return {1, ARGV[1]} end
return {0, redis.call('GET', KEYS[1])}`
	endless         = `while true do end`
	reaches         = `if redis.call('BITOP', 'AND', KEYS[1], KEYS[1]) == 1 then return 1 end return 0`
	who             = `return redis.call('GET', KEYS[1])`
	releaseOrError  = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return redis.error_reply('-NOTOWNER of the lock')`
	errorWithHolder = `local v = redis.call('GET', KEYS[1]) if v then return redis.error_reply('HELD by ' .. v) end return 0`
	caught          = `local ok = pcall(function() redis.call('BITFIELD', KEYS[1]) end) return 0`
)

func sha(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func list(items ...wire.Value) wire.Value { return wire.Value{Kind: wire.Array, Items: items} }

// What a script did is found from its text, its arguments and its reply.
func TestScriptsAreOperations(t *testing.T) {
	tests := []struct {
		script string
		args   []string // keys, "", arguments
		reply  wire.Value
		want   string
	}{
		{releaseOwn, []string{"lock", "", "mine"}, number(1), "n1 release ok"},
		{releaseOwn, []string{"lock", "", "mine"}, number(0), "n1 release fail"},
		{renewOwn, []string{"lock", "", "mine", "2000"}, number(1), "n1 renew ok 2s"},
		{renewOwn, []string{"lock", "", "mine", "2000"}, number(0), "n1 renew fail 2s"},
		{renewOwn, []string{"lock", "", "not mine", "2000"}, number(0), "n1 renew fail 2s: nothing was written"},
		{rewriteOwn, []string{"lock", "", "mine", "2000"}, number(1), "n1 renew ok 2s"},
		{rewriteOwn, []string{"lock", "", "mine", "2000"}, number(0), "n1 renew fail 2s"},
		{takeOrRenew, []string{"lock", "", "mine", "2000"}, number(1), "n1 acquire ok 2s"},
		{takeOrRenew, []string{"lock", "", "mine", "2000"}, number(0), "n1 acquire fail 2s"},
		{takeWithToken, []string{"lock", "token", "", "mine", "2000"}, number(42), "n1 acquire ok 2s"},
		{takeWithToken, []string{"lock", "token", "", "mine", "2000"}, number(0), "n1 acquire fail 2s"},
		{takeOrHolder, []string{"lock", "", "mine", "2000"}, list(number(1), bulk("mine")), "n1 acquire ok 2s"},
		{takeOrHolder, []string{"lock", "", "mine", "2000"}, list(number(0), bulk("theirs")), "n1 acquire fail holder n2 2s"},
		{who, []string{"lock", ""}, bulk("theirs"), "n1 observe ok holder n2"},
		{who, []string{"lock", ""}, wire.Value{}, "n1 observe ok"},
		{who, []string{"else", ""}, wire.Value{}, ""},
		{endless, []string{"lock", ""}, number(0), "n1 acquire info 240h0m0s: the reply has several explanations\n" +
			"n1 release info: the reply has several explanations"},
		{releaseOwn, []string{"lock", "", "mine"}, failure("NOSCRIPT No matching script."), "n1 release fail: the store answered with an error: NOSCRIPT No matching script."},
		{releaseOwn, []string{"lock", "", "mine"}, failure("ERR odd"), "n1 release info: the reply has several explanations"},
		{releaseOrError, []string{"lock", "", "mine"}, number(1), "n1 release ok"},
		{releaseOrError, []string{"lock", "", "mine"}, failure("ERR NOTOWNER of the lock"), "n1 release fail"},
		{releaseOrError, []string{"lock", "", "mine"}, failure("OOM command not allowed"), "n1 release info: the reply has several explanations"},
		{errorWithHolder, []string{"lock", ""}, failure("HELD by theirs"), "n1 observe info: who holds the lock is not known"},
	}
	for _, test := range tests {
		for _, loaded := range []bool{false, true} {
			p := newTape(wire.Options{Key: "lock"})
			p.do("n2", "SET lock theirs NX PX 1", okay)
			p.do("n1", "SET lock mine NX PX 1", okay)
			args := []string{"EVAL", test.script}
			if loaded {
				p.conn("n2").Send([]string{"SCRIPT", "LOAD", test.script}).Answer(bulk(sha(test.script)))
				args = []string{"evalsha", strings.ToUpper(sha(test.script))}
			}
			keys := 0
			for test.args[keys] != "" {
				keys++
			}
			args = append(args, string(rune('0'+keys)))
			args = append(append(args, test.args[:keys]...), test.args[keys+1:]...)
			p.ends()
			p.conn("n1").Send(args).Answer(test.reply)
			if got := p.ends(); got != test.want {
				t.Errorf("%s %q -> %v:\n%s, want\n%s", args[0], args[1:], test.reply, got, test.want)
			}
		}
	}
}

// A script that does what nobody can foresee is an operation of unknown
// outcome, with one note, whatever it makes of the error.
func TestScriptsThatNobodyUnderstands(t *testing.T) {
	for _, text := range []string{endless, reaches, caught, "if", "return os.clock()"} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n1", "SET lock mine NX PX 1", okay)
		for range 2 {
			p.conn("n1").Send([]string{"EVAL", text, "1", "lock"}).Answer(number(0))
		}
		notes := 0
		for _, e := range p.events {
			if e.Kind == history.Note {
				notes++
			}
		}
		if got := p.ends(); notes != 1 || strings.Count(got, "info") != 4 {
			t.Errorf("%s: %d notes, reported\n%s", text, notes, got)
		}
	}
}

// The lock is the key that somebody takes if nobody has it: a heartbeat is
// none, nor is what a script does to other keys.
func TestLockIsFound(t *testing.T) {
	tests := []struct {
		name  string
		sends [][]string
		want  string
	}{
		{"set nx", [][]string{{"SETEX", "heartbeat:n1", "5", "x"}, {"GET", "lock"}, {"SET", "lock", "a", "NX", "EX", "5"}}, "lock"},
		{"setnx", [][]string{{"SET", "config", "x"}, {"SETNX", "lock", "a"}, {"SETNX", "other", "a"}}, "lock"},
		{"script with nx", [][]string{{"EVAL", takeWithToken, "2", "lock", "token", "a", "100"}}, "lock"},
		{"script that looks first", [][]string{{"EVAL", takeOrRenew, "1", "lock", "a", "100"}}, "lock"},
		{"scripts that take nothing", [][]string{{"EVAL", renewOwn, "1", "lock", "a", "100"}, {"EVAL", releaseOwn, "1", "lock", "a"}}, ""},
	}
	for _, test := range tests {
		p := newTape(wire.Options{})
		for _, args := range test.sends {
			p.conn("n1").Send(args)
		}
		if got := p.lock.Key(); got != test.want {
			t.Errorf("%s: the lock is %q, want %q", test.name, got, test.want)
		}
		if test.want != "" && !strings.Contains(p.events[0].Text, `"lock"`) {
			t.Errorf("%s: no note says which key and why: %+v", test.name, p.events[0])
		}
	}
}

// A script that another run loaded is known by its name.
func TestScriptsOfEarlierRuns(t *testing.T) {
	shared := wire.NewScripts()
	newTape(wire.Options{Key: "lock", Scripts: shared}).conn("n1").Send([]string{"SCRIPT", "LOAD", releaseOwn})
	p := newTape(wire.Options{Key: "lock", Scripts: shared})
	p.do("n1", "SET lock mine NX PX 1", okay)
	p.ends()
	p.do("n1", "EVALSHA "+sha(releaseOwn)+" 1 lock mine", number(1))
	if got := p.ends(); got != "n1 release ok" {
		t.Error(got)
	}
}

// Scripts of well-known libraries, which name the time at which the lease ends,
// compare a part of its value, or answer with a status.
func TestScriptsOfLibraries(t *testing.T) {
	const now = 1_763_780_000_000
	tests := []struct{ name, script, second, third string }{
		{
			"rueidislock", `local r = redis.call("SET",KEYS[1],ARGV[1],"NX","PXAT",ARGV[2]);redis.call("GET",KEYS[1]);return r`,
			strconv.Itoa(now + 2000), "",
		}, {
			"redislock", `
if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[3]) then return redis.status_reply("OK") end
local offset = tonumber(ARGV[2])
if redis.call("getrange", KEYS[1], 0, offset-1) == string.sub(ARGV[1], 1, offset) then return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[3]) end`,
			"2", "2000",
		},
	}
	for _, test := range tests {
		clock := time.UnixMilli(now - 1)
		p := newTape(wire.Options{Wall: func() time.Time { // it goes on while the answer is under way
			clock = clock.Add(time.Millisecond)
			return clock
		}})
		call := func(node, value string, reply wire.Value) {
			p.conn(node).Send([]string{"EVAL", test.script, "1", "lock", value, test.second, test.third}).Answer(reply)
		}
		call("n1", "v1", okay)
		call("n2", "v2", wire.Value{})
		if got, want := strings.ReplaceAll(p.ends(), "1.999s", "2s"), "n1 acquire ok 2s\nn2 acquire fail 2s"; got != want || p.lock.Key() != "lock" {
			t.Errorf("%s: the lock is %q, and there was\n%s\nwant\n%s", test.name, p.lock.Key(), got, want)
		}
	}
}

// Scripts that are given all keys of a lock at once, as a well-known library has them: it
// may have several, and reads them by MGET.
func TestScriptsThatReadSeveralKeys(t *testing.T) {
	const (
		compare = `
local held = redis.call('mget', unpack(KEYS))
for i = 1, #KEYS do if held[i] ~= ARGV[1] then return false end end `
		take = `
local set = {}
for i, key in ipairs(KEYS) do set[2 * i - 1] = key set[2 * i] = ARGV[1] end
if redis.call('msetnx', unpack(set)) == 0 then
  for i, key in ipairs(KEYS) do if redis.call('getrange', key, 0, #ARGV[1] - 1) ~= ARGV[1] then return false end end
  redis.call('mset', unpack(set))
end
for i, key in ipairs(KEYS) do redis.call('pexpire', key, ARGV[2]) end
return redis.status_reply('OK')`
		keep = compare + `for i = 1, #KEYS do redis.call('pexpire', KEYS[i], ARGV[2]) end return redis.status_reply('OK')`
		give = compare + `redis.call('del', unpack(KEYS)) return redis.status_reply('OK')`
		look = `return redis.call('mget', KEYS[1], KEYS[2])`
	)
	p := newTape(wire.Options{})
	for i, step := range []struct {
		node  string
		args  []string
		reply wire.Value
		want  string
	}{
		{"n1", []string{take, "1", "lock", "v1", "2000"}, okay, "n1 acquire ok 2s"},
		{"n2", []string{take, "1", "lock", "v2", "2000"}, nothing, "n2 acquire fail 2s"},
		{"n1", []string{keep, "1", "lock", "v1", "3000"}, okay, "n1 renew ok 3s"},
		{"n2", []string{keep, "1", "lock", "v2", "3000"}, nothing, "n2 renew fail 3s"},
		{"n1", []string{keep, "2", "lock", "other", "v1", "3000"}, okay, "n1 renew ok 3s"},
		{"n2", []string{look, "2", "other", "lock"}, list(nothing, bulk("v1")), "n2 observe ok holder n1"},
		{"n2", []string{give, "1", "lock", "v2"}, nothing, "n2 release fail"},
		{"n1", []string{give, "1", "lock", "v1"}, okay, "n1 release ok"},
		{"n1", []string{keep, "1", "lock", "v1", "3000"}, nothing, "n1 renew fail 3s"},
	} {
		p.conn(step.node).Send(append([]string{"EVAL"}, step.args...)).Answer(step.reply)
		if got := p.ends(); got != step.want {
			t.Errorf("step %d: %s, want %s", i+1, got, step.want)
		}
	}
	p.do("n2", "MGET other lock", list(nothing, nothing))
	if got := p.ends(); got != "n2 observe ok" {
		t.Errorf("MGET: %s", got)
	}
	if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
		t.Error(e.Text)
	}
	const again = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('mget', unpack(KEYS))[1] == ARGV[1] then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`
	many := append(append([]string{again, "9", "lock"}, strings.Fields("b c d e f g h i")...), "v1", "3000")
	p.conn("n1").Send(append([]string{"EVAL"}, many...)).Answer(nothing)
	if got := p.ends(); got != unforeseen {
		t.Errorf("too many keys: %s", got)
	}
}
