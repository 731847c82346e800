package wire_test

import (
	"testing"

	"github.com/recount-io/recount/sim/wire"
)

// The lock holds MessagePack or a struct of C, which scripts make and look into.
func TestScriptsLookIntoPackedValues(t *testing.T) {
	const (
		keepPacked = `local v = redis.call('GET', KEYS[1])
if not v or cmsgpack.unpack(v)[1] ~= ARGV[1] then return 0 end return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
		keepFirst = `local v = redis.call('GET', KEYS[1])
if not v then return 0 end local at, lease = cmsgpack.unpack_one(v)
if at ~= -1 or lease[1] ~= ARGV[1] then return 0 end return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
		keepStruct = `local v = redis.call('GET', KEYS[1])
if not v or struct.unpack('>Bc0', v) ~= ARGV[1] then return 0 end return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
		packed  = `cmsgpack.pack({ARGV[1], bit.band(ARGV[2], 7)})`
		structs = `struct.pack('>Bc0i4', #ARGV[1], ARGV[1], bit.tobit(ARGV[2]))`
	)
	take := func(value string) string {
		return `if redis.call('SET', KEYS[1], ` + value + `, 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	}
	give := func(value string) string {
		return `if redis.call('GET', KEYS[1]) == ` + value + ` then return redis.call('DEL', KEYS[1]) end return 0`
	}
	for name, scripts := range map[string][3]string{
		"MessagePack":            {take(packed), keepPacked, give(packed)},
		"the first of it":        {take(packed), keepFirst, give(packed)},
		"a struct, kept as such": {take(structs), keepStruct, give(structs)},
	} {
		call := func(node string, of int, answer int64, want string) said {
			return said{node, []string{"EVAL", scripts[of], "1", "lock", node, "3000"}, number(answer), want}
		}
		p := say(t, name, wire.Options{}, []said{
			call("n1", 0, 1, "n1 acquire ok 3s"), call("n2", 0, 0, "n2 acquire fail 3s"), call("n1", 1, 1, "n1 renew ok 3s"), call("n2", 1, 0, "n2 renew fail 3s"),
			call("n2", 2, 0, "n2 release fail"), call("n1", 2, 1, "n1 release ok"), call("n2", 0, 1, "n2 acquire ok 3s"), call("n1", 1, 0, "n1 renew fail 3s"),
		})
		if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations || p.lock.Key() != "lock" {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}
