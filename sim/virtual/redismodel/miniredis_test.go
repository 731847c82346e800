package redismodel

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// deviations are where miniredis does not do as a real server does.
var deviations = []struct {
	what    string
	matches func(s step) bool
	example []step // the last one shows it
}{
	{
		"it reads integers as Go does: with a plus, leading zeros, and as what it makes of a value that is out of range",
		func(s step) bool { return s.has("+1", "01", "007") },
		[]step{{args: []string{"INCRBY", "a", "+1"}}},
	},
	{
		"it rounds seconds that are left down",
		func(s step) bool { return s.is("TTL", "EXPIRETIME") },
		[]step{{args: []string{"SET", "a", "1", "PX", "1600"}}, {args: []string{"TTL", "a"}}},
	},
	{
		"SET takes NX together with XX",
		func(s step) bool { return s.is("SET") && s.has("NX") && s.has("XX") },
		[]step{{args: []string{"SET", "a", "1", "NX", "XX"}}},
	},
	{
		"SET refuses a time that is given twice",
		func(s step) bool { return s.is("SET") && len(s.args) > 6 },
		[]step{{args: []string{"SET", "a", "1", "EX", "60", "EX", "2"}}},
	},
	{
		"the least number overflows when it is subtracted",
		func(s step) bool { return s.is("DECRBY") && s.has("-9223372036854775808") },
		[]step{{args: []string{"DECRBY", "a", "-9223372036854775808"}}},
	},
	{
		"what is SET with an absolute time that is over leaves that time behind, for the key's next value",
		func(s step) bool {
			return s.is("SET") && s.has("EXAT", "PXAT") && s.has(nowS+"-1", nowS+"-5", nowMS+"-1", nowMS+"-5000", "1")
		},
		[]step{{args: []string{"SET", "a", "x", "PXAT", nowMS + "-5000"}}, {args: []string{"SETNX", "a", "y"}}, {args: []string{"PTTL", "a"}}},
	},
	{
		"GETRANGE from the end finds the first byte where the range is the wrong way round and begins before it",
		func(s step) bool {
			return s.is("GETRANGE") && len(s.args) == 4 && strings.HasPrefix(s.args[2], "-") && strings.HasPrefix(s.args[3], "-")
		},
		[]step{{args: []string{"SET", "a", "1"}}, {args: []string{"GETRANGE", "a", "-1", "-100"}}},
	},
	{
		"HGETALL sorts the fields",
		func(s step) bool { return s.is("HGETALL") },
		[]step{{args: []string{"HSET", "a", "g", "1", "f", "2"}}, {args: []string{"HGETALL", "a"}}},
	},
	{
		"KEYS takes sets and escapes that are odd for something else, and panics at some",
		func(s step) bool { return s.is("KEYS") && strings.ContainsAny(strings.Join(s.args, ""), "[\\") },
		[]step{{args: []string{"SET", `a\`, "1"}}, {args: []string{"KEYS", `a\`}}},
	},
	{
		"LT takes an equal time",
		func(s step) bool { return s.is("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT") && s.has("LT") },
		[]step{
			{args: []string{"PEXPIRE", "b", "1000", "LT"}},
			{args: []string{"EVAL", "redis.call('PSETEX', KEYS[1], 1000, 'x') return redis.call('PEXPIRE', KEYS[1], 1000, 'LT')", "1", "a"}}, // in which no time passes
		},
	},
	{
		"times to live overflow",
		func(s step) bool {
			return s.is("SET", "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT") && s.has("9223372036854775807", "-9223372036854775807", "-9223372036854775808")
		},
		[]step{{args: []string{"SET", "a", "1"}}, {args: []string{"EXPIRE", "a", "-9223372036854775807"}}},
	},
	{
		"it has no history, so nobody sees that it is another server's",
		func(s step) bool {
			return s.is("HSET") && len(s.args) > 2 && s.args[1] == witnessKey && s.args[2] == "history"
		},
		[]step{sent("HSET", witnessKey, "history", "other", "since", "1"), acquireBy("n1", "x", "0", "1")},
	},
	{
		"SET takes KEEPTTL together with a time",
		func(s step) bool { return s.is("SET") && s.has("KEEPTTL") && len(s.args) > 5 },
		[]step{{args: []string{"SET", "a", "1", "PX", "100", "KEEPTTL"}}},
	},
}

func (s step) is(names ...string) bool {
	return s.script == nil && s.jump == 0 && slices.Contains(names, s.args[0])
}

func (s step) has(args ...string) bool {
	return slices.ContainsFunc(s.args, func(arg string) bool {
		return slices.ContainsFunc(args, func(wanted string) bool { return strings.EqualFold(arg, wanted) })
	})
}

// deviates reports whether miniredis is known to answer the step otherwise.
func deviates(s step) bool {
	for _, d := range deviations {
		if d.matches(s) {
			return true
		}
	}
	return false
}

// miniredis answers as the model and a real server do, but for the deviations,
// and when the clock goes back, for it counts down the time that is left.
func TestMiniredis(t *testing.T) {
	real, mini := startReal(t), startMini(t)
	for name, draw := range map[string]func(*rapid.T, bool) []step{"commands": drawSteps, "scripts": drawScripts, "texts": drawTexts} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			steps := slices.DeleteFunc(draw(t, false), deviates)
			base, seen := observe(t, real, steps)
			mini.server.FlushAll()
			same(t, "miniredis", mini, base, steps, seen, true)
		}))
	}
}

// miniredis still deviates: a deviation that is gone is to be removed.
func TestDeviations(t *testing.T) {
	real, mini := startReal(t), startMini(t)
	for _, d := range deviations {
		base, seen := observe(t, real, d.example)
		mini.server.FlushAll()
		last := len(d.example) - 1
		if !slices.ContainsFunc(d.example, d.matches) {
			t.Errorf("%s: its own example does not match", d.what)
		}
		var got Reply
		for i, s := range d.example {
			got = mini.step(t, seen[i].at, s, resolve(s.args, base))
		}
		if d.example[last].equal(got, seen[last].reply, 0, true) {
			t.Errorf("%s: no longer: both say %v", d.what, got)
		}
	}
}
