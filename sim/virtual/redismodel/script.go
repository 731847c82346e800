package redismodel

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Script is the meaning of a Lua script, in Go. One of which only the Lua text is
// known is interpreted, which takes longer. A port is no more than the
// script: it reads and writes by the methods of [Call] only, in the script's
// order, and is tested against the Lua text on a real server.
type Script struct {
	Name string

	// Source is the Lua text, which is what SCRIPT LOAD and EVALSHA know the
	// script by. Scripts that are only run by [Server.Run] and [Server.Eval]
	// may go without.
	Source string

	// Run executes the script and returns its reply. Lua's conversions apply:
	// a number is an integer, false and nil are the nil reply, {} is an empty
	// array.
	Run func(c *Call) Reply
}

// SHA is by what EVALSHA names the script: the SHA-1 of its source.
func (s *Script) SHA() string { return digest(s.Source) }

func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Run executes the script as EVALSHA does: it is one command, in which no time
// passes. A server that does not know the script answers NOSCRIPT; one starts
// without any script, and loses them in a crash.
func (s *Server) Run(now time.Duration, script *Script, keys, args []string) Reply {
	s.begin(now)
	if !s.scripts[script] {
		return Fail(errNoScript)
	}
	return s.run(script, keys, args)
}

// Eval executes the script as EVAL does, after which the server knows it.
func (s *Server) Eval(now time.Duration, script *Script, keys, args []string) Reply {
	s.Load(script)
	return s.Run(now, script, keys, args)
}

// Load makes the script known, as SCRIPT LOAD does.
func (s *Server) Load(script *Script) { s.scripts[script] = true }

// FlushScripts makes the server forget all scripts, as SCRIPT FLUSH does.
func (s *Server) FlushScripts() { s.scripts = map[*Script]bool{} }

func (s *Server) run(script *Script, keys, args []string) Reply {
	c := &s.call
	*c = Call{Keys: keys, Args: args, s: s, full: s.full()}
	reply := script.Run(c)
	if c.failure != "" {
		return Fail(c.failure)
	}
	return reply
}

// Call is one execution of a script: its arguments, and the commands that it
// may use. They are as those of [Server.Do]. A command that fails ends the
// script, as redis.call does: what the script did so far stays, the rest of its
// commands do nothing and answer nothing, and the error is its reply. So a port
// needs to look at [Call.Failed] only where it would not end otherwise.
type Call struct {
	Keys, Args []string

	s       *Server
	failure string
	full    bool // there was no memory left when the script began
	wrote   bool
}

// Failed reports whether a command has failed.
func (c *Call) Failed() bool { return c.failure != "" }

// fail ends the script with an error, if none has ended it yet.
func (c *Call) fail(reply Reply) {
	if c.failure == "" {
		c.failure = reply.Text
	}
}

// pcall does what may fail: then the script goes on, as after redis.pcall.
func (c *Call) pcall(f func()) {
	if c.failure == "" {
		f()
		c.failure = ""
	}
}

// writes reports whether the script may write: it has not failed, and the server
// lets it. What has begun to write may go on even if memory is short.
func (c *Call) writes(grows bool) bool {
	switch {
	case c.failure != "":
	case c.s.unfit != "":
		c.failure = c.s.unfit
	case c.s.primary != nil:
		c.failure = errReadOnly
	case grows && c.full && !c.wrote:
		c.failure = errMemory
	default:
		c.wrote = true
		return true
	}
	return false
}

// Int reads an argument that a command wants to be an integer. The script
// fails if it is none.
func (c *Call) Int(arg string) int64 {
	n, fine := parseInt(arg)
	if !fine {
		c.fail(Fail(errNotInteger))
	}
	return n
}

// Get returns the string that the key holds, and whether there is one.
func (c *Call) Get(key string) (string, bool) {
	if c.failure != "" {
		return "", false
	}
	reply := c.s.get(key)
	if reply.Kind == Error {
		c.fail(reply)
	}
	return reply.Text, reply.Kind == Bulk
}

// Set makes the key hold the value, without a time to live.
func (c *Call) Set(key, value string) {
	if c.writes(true) {
		c.s.set(key, value, setting{expires: never})
	}
}

// SetPX makes the key hold the value for so many milliseconds.
func (c *Call) SetPX(key, value string, ms int64) {
	if ms <= 0 && c.writes(true) {
		c.fail(badExpiry("set"))
		return
	}
	c.SetPXAt(key, value, c.s.ms+ms)
}

// SetPXAt sets the key, to end at a moment of the server's time in milliseconds.
func (c *Call) SetPXAt(key, value string, ends int64) {
	if !c.writes(true) {
		return
	}
	if ends <= 0 {
		c.fail(badExpiry("set"))
		return
	}
	c.s.set(key, value, setting{expires: ends})
}

// PExpire makes the key last for so many milliseconds, and deletes it if they
// are none. It reports whether the key was there.
func (c *Call) PExpire(key string, ms int64) bool {
	if !c.writes(false) {
		return false
	}
	if ms > 0 && ms+c.s.ms < 0 {
		c.fail(badExpiry("pexpire"))
		return false
	}
	e := c.s.lookup(key)
	if e != nil {
		c.s.expireAt(e, key, c.s.ms+ms)
	}
	return e != nil
}

// PTTL returns the milliseconds that the key has left: -2 if it is not there,
// -1 if it has no time to live.
func (c *Call) PTTL(key string) int64 {
	if c.failure != "" {
		return -2
	}
	return c.s.left(key, c.s.ms)
}

// Incr adds one to the decimal number that the key holds, 0 if it holds none,
// and returns the sum.
func (c *Call) Incr(key string) int64 {
	if !c.writes(true) {
		return 0
	}
	reply := c.s.incr(key, 1)
	if reply.Kind == Error {
		c.fail(reply)
	}
	return reply.Int
}

// Del deletes the keys and returns how many there were.
func (c *Call) Del(keys ...string) int64 {
	if !c.writes(false) {
		return 0
	}
	return c.s.del(keys)
}

// Time returns the server's wall clock: seconds since the epoch, and
// microseconds. It stands still while the script runs.
func (c *Call) Time() (sec, micros int64) { return c.s.clock() }

// History names what the server remembers; see [Server.History].
func (c *Call) History() (name string, primary bool) { return c.s.History() }

// HGet returns a field of the hash that the key holds, and whether there is
// one.
func (c *Call) HGet(key, field string) (string, bool) {
	if c.failure != "" {
		return "", false
	}
	e, bad := c.s.lookupKind(key, aHash)
	if bad {
		c.fail(Fail(errWrongType))
	}
	if bad || e == nil {
		return "", false
	}
	i := e.field(field)
	if i < 0 {
		return "", false
	}
	return e.items[i+1], true
}

// HSet sets fields of the hash that the key holds: field, value, ...
func (c *Call) HSet(key string, pairs ...string) {
	if !c.writes(true) {
		return
	}
	e, bad := c.s.lookupKind(key, aHash)
	if bad {
		c.fail(Fail(errWrongType))
		return
	}
	c.s.hset(e, key, pairs)
}

// HDel deletes fields of the hash that the key holds.
func (c *Call) HDel(key string, fields ...string) {
	if !c.writes(false) {
		return
	}
	e, bad := c.s.lookupKind(key, aHash)
	switch {
	case bad:
		c.fail(Fail(errWrongType))
	case e != nil:
		c.s.hdel(e, key, fields)
	}
}

// PExpireAt makes the key last until then, in milliseconds of the server's
// clock, and deletes it if that is past. It reports whether the key was there.
func (c *Call) PExpireAt(key string, at int64) bool {
	if !c.writes(false) {
		return false
	}
	e := c.s.lookup(key)
	if e != nil {
		c.s.expireAt(e, key, at)
	}
	return e != nil
}

// Publish sends the message to who listens on the channel, and returns how
// many do. It does not fail.
func (c *Call) Publish(channel, message string) int64 {
	if c.failure != "" {
		return 0
	}
	return c.s.publish(channel, message)
}

// Subscribers returns how many connections listen on the channel. It does not
// fail.
func (c *Call) Subscribers(channel string) int64 {
	if c.failure != "" {
		return 0
	}
	return int64(c.s.channels[channel])
}

// RPush appends the item to the list and returns how many it has then.
func (c *Call) RPush(key, item string) int64 {
	if !c.writes(true) {
		return 0
	}
	e, bad := c.s.lookupKind(key, aList)
	if bad {
		c.fail(Fail(errWrongType))
		return 0
	}
	return c.s.pushOne(e, key, item, opRPush)
}

// Do is any other command, args[0] in upper case.
func (c *Call) Do(args ...string) Reply {
	if c.failure != "" {
		return absent
	}
	def, known := commands[args[0]]
	var reply Reply
	switch {
	case !known:
		reply = unknown(args)
	case int(def.arity) != len(args) && (def.arity > 0 || len(args) < -int(def.arity)):
		reply = wrongNumber(args[0])
	case slices.Contains(c.s.denied, args[0]):
		reply = Fail("ERR ACL failure in script: the user has no permissions to run the '" + strings.ToLower(args[0]) + "' command")
	case (def.writes || def.grows) && !c.writes(def.grows):
		return absent
	default:
		reply = c.s.execute(def, args)
	}
	if reply.Kind == Error {
		c.fail(reply)
	}
	return reply
}

// Array makes the reply of a script that returns a table.
func (c *Call) Array(items ...Reply) Reply { return c.s.array(items...) }

func (s *Server) doScript(args []string) Reply {
	switch what := upper(args[1]); {
	case what == "LOAD" && len(args) == 3:
		script, fault := s.scriptOf(args[2])
		if fault != nil {
			return *fault
		}
		s.Load(script)
		return Text(digest(args[2]))
	case what == "EXISTS" && len(args) > 2:
		s.items = s.items[:0]
		for _, sha := range args[2:] {
			s.items = append(s.items, truth(s.known(sha) != nil))
		}
		return Reply{Kind: Array, Items: s.items}
	case what == "FLUSH" && (len(args) == 2 || len(args) == 3 && (upper(args[2]) == "SYNC" || upper(args[2]) == "ASYNC")):
		s.FlushScripts()
		return okay
	case what == "FLUSH":
		return Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	case what == "LOAD" || what == "EXISTS":
		return wrongNumber("script|" + what)
	default:
		return Fail("ERR unknown subcommand '" + args[1] + "'. Try SCRIPT HELP.")
	}
}

// scriptOf is the port of a text, or else the text itself, compiled once.
func (s *Server) scriptOf(text string) (*Script, *Reply) {
	sha := digest(text)
	if script := s.ports[sha]; script != nil {
		return script, nil
	}
	script, fault := s.compile(text)
	if fault == nil {
		s.ports[sha] = script
	}
	return script, fault
}

// known is the script of that SHA-1, nil if the server does not know it.
func (s *Server) known(sha string) *Script {
	script := s.ports[strings.ToLower(sha)]
	if script == nil || !s.scripts[script] {
		return nil
	}
	return script
}

func (s *Server) doEval(args []string, text bool) Reply {
	n, fine := parseInt(args[2])
	switch {
	case !fine:
		return Fail(errNotInteger)
	case n > int64(len(args)-3):
		return Fail("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return Fail("ERR Number of keys can't be negative")
	}
	script := s.known(args[1])
	if text {
		var fault *Reply
		if script, fault = s.scriptOf(args[1]); fault != nil {
			return *fault
		}
		s.Load(script)
	}
	if script == nil {
		return Fail(errNoScript)
	}
	// A copy, or the arguments of all commands would be put on the heap.
	rest := slices.Clone(args[3:])
	return s.run(script, rest[:n], rest[n:])
}
