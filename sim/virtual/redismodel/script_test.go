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
		told("EVALSHA", unlock.SHA(), "1", "k", "v"),
		told("SCRIPT", "EXISTS", unlock.SHA(), "x"),
		told("SCRIPT", "LOAD", unlock.Source),
		told("SCRIPT", "EXISTS", unlock.SHA(), "x", everything.SHA()),
		told("SET", "k", "v"),
		told("EVALSHA", unlock.SHA(), "1", "k", "w"),
		told("EVALSHA", unlock.SHA(), "1", "k", "v"),
		told("EXISTS", "k"),
		told("EVALSHA", everything.SHA(), "0"),
		told("EVAL", everything.Source, "0"), // its last command fails
		told("EVALSHA", everything.SHA(), "0"),
		told("GET", "c"), told("LLEN", "l"), told("TYPE", "a"), told("EXISTS", "b"),
		told("EVALSHA", unlock.SHA(), "x", "k"), told("EVALSHA", unlock.SHA(), "-1", "k"), told("EVALSHA", unlock.SHA(), "2", "k"), told("EVALSHA", unlock.SHA()),
		told("SCRIPT", "FLUSH", "x"), told("SCRIPT", "LOAD"), told("SCRIPT", "EXISTS"), told("SCRIPT", "FLUSH", "x", "y"), told("SCRIPT", "nonsense"), told("SCRIPT"),
		told("PUBSUB", "nonsense"), told("PUBSUB", "NUMSUB"), told("PING", "x"), told("PING", "x", "y"), told("FLUSHALL", "x"), told("FLUSHALL", "async"), told("DBSIZE"),
		told("SCRIPT", "FLUSH", "sync"),
		told("EVALSHA", unlock.SHA(), "1", "k", "v"),
		told("NONSENSE"), told("NONSENSE", "a", "b"), told("GET"), told("TIME", "x"),
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
		told("SET", "k", "v"), told("SET", "k", "v", "PX", "x"), told("SETNX", "k", "v"), told("GETSET", "k", "v"), told("INCR", "k"), told("DECRBY", "k", "1"), told("HSET", "h", "f", "v"), told("HINCRBY", "h", "f", "1"),
		told("RPUSH", "l", "v"), told("LPUSH", "l", "v"), told("SETEX", "k", "1", "v"), told("PSETEX", "k", "1", "v"), told("GET", leaseKey), told("PTTL", leaseKey), told("GETDEL", "k"), told("HDEL", "h", "f"),
		told("PERSIST", leaseKey), told("EXPIRE", "k", "1"), told("PUBLISH", "c", "m"), told("SCRIPT", "FLUSH"),
		whoLeads, renewOf("r1 1 x n1"), renewOf("r1 1 x n2"), acquireBy("n2", "y", "0", "0"), acquireBy("n1", "x", "0", "0"), releaseOf("r1 1 x n1"), acquireBy("n2", "y", "0", "0"), told("FLUSHALL"),
	} {
		want := real.do(t, s.command(t, s.args)...)
		if got := full.step(t, benchNow, s, s.args); !s.equal(got, want, 0, false) {
			t.Errorf("%v: the model says %v, the server %v", s, got, want)
		}
	}
}
