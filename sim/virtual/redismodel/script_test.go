package redismodel

import "testing"

// unlock is what many lock libraries release with.
var unlock = &Script{
	Name:   "unlock",
	Source: `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
	Run: func(c *Call) Reply {
		if value, found := c.Get(c.Keys[0]); !found || value != c.Args[0] {
			return Integer(0)
		}
		return Integer(c.Del(c.Keys[0]))
	},
}

// everything uses each of the commands that a port may use.
var everything = &Script{
	Name: "everything",
	Source: `
redis.call('SET', 'a', 'x')
local there = redis.call('PEXPIRE', 'a', 5000)
local left = redis.call('PTTL', 'a')
redis.call('SET', 'b', 'y', 'PX', 7000)
local n = redis.call('INCR', 'c')
local m = redis.call('RPUSH', 'l', 'i')
local fields = redis.call('HSET', 'h', 'f', 'v')
local heard = redis.call('PUBLISH', 'nobody', 'x')
local gone = redis.call('DEL', 'a', 'a', 'b')
return {there, left, n, m, fields, heard, gone, redis.call('GET', 'a'), redis.call('HGET', 'h', 'f'), redis.call('INCR', 'l')}`,
	Run: func(c *Call) Reply {
		c.Set("a", "x")
		there := c.PExpire("a", 5000)
		left := c.PTTL("a")
		c.SetPX("b", "y", 7000)
		n, m := c.Incr("c"), c.RPush("l", "i")
		fields := c.Do("HSET", "h", "f", "v")
		heard := c.Publish("nobody", "x")
		gone := c.Del("a", "a", "b")
		_, found := c.Get("a")
		field := c.Do("HGET", "h", "f")
		c.Incr("l")
		return c.Array(truth(there), Integer(left), Integer(n), Integer(m), fields, Integer(heard), Integer(gone), truth(found), field)
	},
}

// A port is found by its text and by the text's SHA-1, as a real server finds
// the text, and wrong arguments get the same errors.
func TestScriptCommands(t *testing.T) {
	real := startReal(t)
	model := modelSubject{New(Options{Scripts: []*Script{unlock, everything}})}
	for _, s := range []step{
		sent("EVALSHA", unlock.SHA(), "1", "k", "v"),
		sent("SCRIPT", "EXISTS", unlock.SHA(), "x"),
		sent("SCRIPT", "LOAD", unlock.Source),
		sent("SCRIPT", "EXISTS", unlock.SHA(), "x", everything.SHA()),
		sent("SET", "k", "v"),
		sent("EVALSHA", unlock.SHA(), "1", "k", "w"),
		sent("EVALSHA", unlock.SHA(), "1", "k", "v"),
		sent("EXISTS", "k"),
		sent("EVALSHA", everything.SHA(), "0"),
		sent("EVAL", everything.Source, "0"), // its last command fails
		sent("EVALSHA", everything.SHA(), "0"),
		sent("GET", "c"), sent("LLEN", "l"), sent("TYPE", "a"), sent("EXISTS", "b"),
		sent("EVALSHA", unlock.SHA(), "x", "k"), sent("EVALSHA", unlock.SHA(), "-1", "k"), sent("EVALSHA", unlock.SHA(), "2", "k"), sent("EVALSHA", unlock.SHA()),
		sent("SCRIPT", "FLUSH", "x"), sent("SCRIPT", "LOAD"), sent("SCRIPT", "EXISTS"), sent("SCRIPT", "FLUSH", "x", "y"), sent("SCRIPT", "nonsense"), sent("SCRIPT"),
		sent("PUBSUB", "nonsense"), sent("PUBSUB", "NUMSUB"), sent("PING", "x"), sent("PING", "x", "y"), sent("FLUSHALL", "x"), sent("FLUSHALL", "async"), sent("DBSIZE"),
		sent("SCRIPT", "FLUSH", "sync"),
		sent("EVALSHA", unlock.SHA(), "1", "k", "v"),
		sent("NONSENSE"), sent("NONSENSE", "a", "b"), sent("GET"), sent("TIME", "x"),
	} {
		want := real.do(t, s.args...)
		if got := model.step(t, benchNow, s, s.args); !(step{script: unlock}).equal(got, want, 0, false) {
			t.Errorf("%v: the model says %v, the server %v", s, got, want)
		}
	}
}

// The first command that fails ends a script: what it did before stays, and
// nothing comes after it.
func TestScriptFails(t *testing.T) {
	script := &Script{Name: "fails", Run: func(c *Call) Reply {
		c.Set("before", "1")
		c.Int("x")
		c.Set("after", "1")
		c.SetPX("after", "1", 1)
		c.PExpire("before", 1)
		c.Do("SET", "after", "1")
		if _, found := c.Get("before"); found || !c.Failed() || c.Incr("after")+c.RPush("list", "x")+c.Del("before")+c.Publish(channel, "")+c.Subscribers(channel) != 0 || c.PTTL("before") != -2 {
			t.Error("a script goes on after an error")
		}
		return Integer(1)
	}}
	s := New(Options{OnPublish: func(string, string) { t.Error("it published") }})
	s.Subscribe(channel)
	if got := s.Eval(benchNow, script, nil, nil); got.Text != errNotInteger {
		t.Errorf("the script says %v", got)
	}
	if got := s.Do(benchNow, "DBSIZE"); got.Int != 1 || s.got(benchNow, "before") != `"1"` {
		t.Errorf("there are %v keys, want the one from before", got)
	}
}

// A full server answers as a real one that may use no memory at all.
func TestNoMemoryAsReal(t *testing.T) {
	real := startReal(t)
	real.do(t, "SET", leaseKey, "r1 1 x n1")
	real.do(t, "CONFIG", "SET", "maxmemory", "1")
	t.Cleanup(func() { real.do(t, "CONFIG", "SET", "maxmemory", "0") })
	model := New(Options{MaxKeys: 1})
	model.Do(benchNow, "SET", leaseKey, "r1 1 x n1")
	for _, key := range []string{"x", "y", "z"} {
		model.Do(benchNow, "HSET", key, "f", "v") // they are never looked at
	}
	full := modelSubject{model}
	for _, s := range []step{
		sent("SET", "k", "v"), sent("SET", "k", "v", "PX", "x"), sent("SETNX", "k", "v"), sent("GETSET", "k", "v"), sent("INCR", "k"), sent("DECRBY", "k", "1"), sent("HSET", "h", "f", "v"), sent("HINCRBY", "h", "f", "1"),
		sent("RPUSH", "l", "v"), sent("LPUSH", "l", "v"), sent("SETEX", "k", "1", "v"), sent("PSETEX", "k", "1", "v"), sent("GET", leaseKey), sent("PTTL", leaseKey), sent("GETDEL", "k"), sent("HDEL", "h", "f"),
		sent("PERSIST", leaseKey), sent("EXPIRE", "k", "1"), sent("PUBLISH", "c", "m"), sent("SCRIPT", "FLUSH"),
		whoLeads, renewOf("r1 1 x n1"), renewOf("r1 1 x n2"), acquireBy("n2", "y", "0", "0"), acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n1"), acquireBy("n2", "y", "0", "0"), sent("FLUSHALL"),
	} {
		want := real.do(t, s.command(t, s.args)...)
		if got := full.step(t, benchNow, s, s.args); !s.equal(got, want, 0, false) {
			t.Errorf("%v: the model says %v, the server %v", s, got, want)
		}
	}
}
