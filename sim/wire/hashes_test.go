package wire_test

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/sim/wire"
)

// Scripts of Redisson, whose lock is a hash with a field for each holder.
const (
	redissonTake = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);`
	redissonTakeOld = `if (redis.call('exists', KEYS[1]) == 0) then redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
return redis.call('pttl', KEYS[1]);`
	redissonGive = `if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil;end; local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0; else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;`
	redissonKeep = `if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end; return 0;`
	slotTake     = `if redis.call('HSETNX', KEYS[1], 'owner', ARGV[1]) == 0 then return 0 end
local token = redis.call('HINCRBY', KEYS[1], 'token', 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return token`
	slotKeep = `if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
	slotGive = `if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
)

// What is done to a lock that is a hash is found as for any other one.
func TestHashesAreOperations(t *testing.T) {
	eval := func(script string, args ...string) []string { return append([]string{"EVAL", script}, args...) }
	type step struct {
		node  string
		args  []string
		reply wire.Value
		want  string
	}
	for name, steps := range map[string][]step{
		"redisson": {
			{"n1", eval(redissonTake, "1", "lock", "2000", "a:1"), nothing, "n1 acquire ok 2s"},
			{"n2", eval(redissonTake, "1", "lock", "2000", "b:1"), number(1800), "n2 acquire fail 2s"},
			{"n1", eval(redissonKeep, "1", "lock", "2000", "a:1"), number(1), "n1 renew ok 2s"},
			{"n1", eval(redissonTake, "1", "lock", "2000", "a:1"), nothing, "n1 acquire ok 2s"},
			{"n1", eval(redissonGive, "2", "lock", "channel", "0", "3000", "a:1"), number(0), "n1 renew ok 3s\nn1 release fail: the command did something else"},
			{"n2", eval(redissonKeep, "1", "lock", "2000", "b:1"), number(0), "n2 renew fail 2s"},
			{"n2", eval(redissonGive, "2", "lock", "channel", "0", "3000", "b:1"), nothing, "n2 renew fail 3s\nn2 release fail"},
			{"n1", eval(redissonGive, "2", "lock", "channel", "0", "3000", "a:1"), number(1), "n1 renew fail 3s: the command did something else\nn1 release ok"},
			{"n2", eval(redissonTakeOld, "1", "lock", "2000", "b:1"), nothing, "n2 acquire ok 2s"},
		},
		"a slot, in scripts": {
			{"n1", eval(slotTake, "1", "lock", "a", "2000"), number(1), "n1 acquire ok 2s"},
			{"n2", eval(slotTake, "1", "lock", "b", "2000"), number(0), "n2 acquire fail 2s"},
			{"n1", eval(slotKeep, "1", "lock", "a", "2000"), number(1), "n1 renew ok 2s"},
			{"n2", eval(slotKeep, "1", "lock", "b", "2000"), number(0), "n2 renew fail 2s"},
			{"n2", eval(slotGive, "1", "lock", "b"), number(0), "n2 release fail"},
			{"n1", eval(slotGive, "1", "lock", "a"), number(1), "n1 release ok"},
		},
		"a slot, step by step": {
			{"n1", strings.Fields("HSETNX lock owner a"), number(1), "n1 acquire ok 240h0m0s"},
			{"n1", strings.Fields("PEXPIRE lock 2000"), number(1), "n1 renew ok 2s"},
			{"n2", strings.Fields("HSETNX lock owner b"), number(0), "n2 acquire fail 240h0m0s"},
			{"n2", strings.Fields("HGET lock owner"), bulk("a"), "n2 observe ok holder n1"},
			{"n2", strings.Fields("HDEL lock owner"), number(1), "n2 release ok"},
			{"n1", strings.Fields("HGET lock owner"), nothing, "n1 observe ok"},
			{"n1", strings.Fields("HSET lock owner a"), number(1), "n1 acquire ok 240h0m0s"},
		},
		"a holder, step by step": {
			{"n1", strings.Fields("HSETNX lock n1 1"), number(1), "n1 acquire ok 240h0m0s"},
			{"n1", strings.Fields("HEXISTS lock n1"), number(1), "n1 observe ok holder n1"},
			{"n2", strings.Fields("HEXISTS lock n1"), number(1), "n2 observe ok holder n1"},
			{"n2", strings.Fields("HEXISTS lock n2"), number(0), "n2 observe info: who holds the lock is not known"},
			{"n1", strings.Fields("HDEL lock n1"), number(1), "n1 release ok"},
			{"n2", strings.Fields("HSTRLEN lock n2"), number(0), ""},
		},
	} {
		p := newTape(wire.Options{})
		for i, s := range steps {
			p.conn(s.node).Send(s.args).Answer(s.reply)
			if got := p.ends(); got != s.want {
				t.Errorf("%s, step %d: %s\nwant %s", name, i+1, got, s.want)
			}
		}
		if e := p.lock.Understanding(); e.Wire.Lock != "lock" || e.Wire.Understood != e.Wire.Operations {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// A hash that tells when its lease ends is a lock that ends by its value.
func TestHashThatEndsByItsValue(t *testing.T) {
	p := newTape(wire.Options{Key: "lock", Wall: atNoon})
	p.do("n1", "HSET lock owner a expires "+unix(10e9), number(2))
	p.do("n2", "HGET lock owner", bulk("a"))
	p.do("n2", "DEL lock", number(1))
	if got := p.ends(); strings.Contains(got, " ok") {
		t.Error(got)
	}
}
