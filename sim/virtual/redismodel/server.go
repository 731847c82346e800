package redismodel

import (
	"strconv"
	"time"
)

// Options change what New makes. The zero value is a server that keeps nothing
// over a crash and has room for any number of keys.
type Options struct {
	// Persistence is what the server has on disk after a crash.
	Persistence Persistence

	// SnapshotEvery is the time between two snapshots, for Snapshots. 60 s by
	// default.
	SnapshotEvery time.Duration

	// Scripts are the ports of scripts that clients send as text, which is how
	// they are found by EVAL, EVALSHA and SCRIPT LOAD. A text without a port is
	// interpreted.
	Scripts []*Script

	// OnPublish is called for each message that is published while somebody is
	// subscribed to the channel. It must not call the server.
	OnPublish func(channel, message string)

	// Name tells this server from others: no two that replicate each other may
	// share one. RunID is what INFO calls its first run: Name's by default. Each
	// restart makes another one of it.
	Name, RunID string

	// Replicated is a server that has had replicas before: it does not begin another
	// history when the first one comes, as one does that never had any.
	Replicated bool

	// Interpreter runs the scripts that have no port. Nil: one of its own.
	Interpreter *Interpreter

	// MaxKeys is the number of keys for which there is room, 0 for any. Redis
	// counts bytes; here it is keys, so that a test can say what is too much.
	MaxKeys int

	// Policy is what the server does when there are more keys than that.
	Policy Policy

	_ struct{}
}

// Server models one Redis server: the data, the scripts that it knows, and how
// many connections listen on which channel. It is not safe for concurrent use.
type Server struct {
	o    Options
	data keyspace
	now  time.Duration // of the command that is executed
	ms   int64         // the same in milliseconds
	down bool
	id   string // what INFO calls this run of it
	runs int    // before this one

	started  bool               // time has begun
	cycled   int64              // when expired keys were last looked for, in ms
	accesses uint64             // counts accesses to keys
	changes  map[string]uint64  // of keys, counted for those that somebody watches; nil: for none
	channels map[string]int     // subscribers
	scripts  map[*Script]bool   // known to the server
	ports    map[string]*Script // by SHA-1, whether known or not
	lua      *Interpreter       // nil until a script has no port
	call     Call
	items    []Reply // of the last reply that is an array

	disk     disk
	stream   stream
	streams  int           // that it has begun
	primary  *Server       // nil for a primary
	lag      time.Duration // of a replica
	replicas []*Server     // that get what it writes
	link     link          // of a replica to its primary
	copies   int           // that replicas have made of its data, and how often
	goneOn   int           // one went on from where it was
	evicted  int64         // how many keys it has given up for lack of memory
	denied   []string      // commands that the user at hand may not execute in scripts
	unfit    string        // with which error it refuses to write; "": it does not
}

// New returns a server without any key.
func New(o Options) *Server {
	if o.SnapshotEvery <= 0 {
		o.SnapshotEvery = time.Minute
	}
	s := &Server{o: o, data: newKeyspace(), channels: map[string]int{}, ports: make(map[string]*Script, len(o.Scripts)), lua: o.Interpreter}
	for _, script := range o.Scripts {
		s.ports[script.SHA()] = script
	}
	s.disk.reset(o.Persistence == EverySecond || o.Persistence == Snapshots, newKeyspace())
	s.FlushScripts()
	if s.id = o.RunID; s.id == "" {
		s.name()
	}
	s.start()
	return s
}

// RunID is what INFO calls this run of the server.
func (s *Server) RunID() string { return s.id }

// name names this run of the server.
func (s *Server) name() { s.id = s.o.Name + "run" + strconv.Itoa(s.runs) }

// Do executes one command at now, which is what the server's own wall clock
// shows: the time since the Unix epoch. The clock may go back. args[0] is the
// command's name in upper case, for which a client may write any case;
// options may come in any case here too. Unknown commands and wrong arguments
// get the errors that Redis gives. A server that is down must not be called.
//
// Commands: SET SETNX SETEX PSETEX MSET MSETNX GET MGET GETSET GETDEL GETRANGE INCR
// INCRBY DECR DECRBY;
// DEL UNLINK EXISTS TYPE EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST TTL PTTL
// EXPIRETIME PEXPIRETIME KEYS; HSET HGET HMGET HDEL HEXISTS HINCRBY HLEN HGETALL;
// RPUSH LPUSH LRANGE LTRIM LLEN; PUBLISH, PUBSUB NUMSUB; SCRIPT LOAD, SCRIPT EXISTS,
// SCRIPT FLUSH, EVAL, EVALSHA; TIME PING DBSIZE FLUSHALL WAIT INFO.
func (s *Server) Do(now time.Duration, args ...string) Reply {
	c, known := commands[args[0]]
	if !known || !c.takes(len(args)) {
		return Misspelt(args[0], args)
	}
	s.begin(now)
	if c.writes || c.grows {
		if fault, bad := s.refuse(c.grows); bad {
			return fault
		}
	}
	return s.execute(c, args)
}

func (s *Server) execute(c command, args []string) Reply {
	switch c.family {
	case ofStrings:
		return s.doString(c.name, args)
	case ofKeys:
		return s.doKey(c.name, args)
	case ofHashes:
		return s.doHash(c.name, args)
	case ofLists:
		return s.doList(c.name, args)
	default:
		return s.doServer(c.name, args)
	}
}

// begin starts a command: time passes.
func (s *Server) begin(now time.Duration) {
	if s.down {
		panic("redismodel: a command for a server that is down")
	}
	s.now, s.ms = now, int64(now/time.Millisecond)
	if s.disk.on {
		s.passSyncs()
	}
	if s.primary != nil {
		return // a replica deletes what its primary tells it to
	}
	if s.ms > s.data.soonest || s.ms < s.cycled || !s.started {
		s.passCycles()
	}
	if s.o.MaxKeys > 0 {
		s.makeRoom()
	}
}

// refuse says why a command that writes cannot be executed.
func (s *Server) refuse(grows bool) (Reply, bool) {
	switch {
	case s.unfit != "":
		return Fail(s.unfit), true
	case s.primary != nil:
		return Fail(errReadOnly), true
	case grows && s.full():
		return Fail(errMemory), true
	default:
		return Reply{}, false
	}
}

// RefuseWrites makes the server answer with that error to every command that writes, in
// scripts, too; "" ends it.
func (s *Server) RefuseWrites(text string) { s.unfit = text }

// Deny sets which commands scripts may not execute from now on, in upper case: those that
// the user lacks whose scripts come next.
func (s *Server) Deny(commands []string) { s.denied = commands }

// Subscribe counts one more connection that listens on the channel.
func (s *Server) Subscribe(channel string) { s.channels[channel]++ }

// Unsubscribe counts one connection less.
func (s *Server) Unsubscribe(channel string) {
	switch n := s.channels[channel]; {
	case n > 1:
		s.channels[channel] = n - 1
	case n == 1:
		delete(s.channels, channel)
	default:
		panic("redismodel: nobody is subscribed to " + channel)
	}
}

// publish gives the message to OnPublish and returns who it reaches.
func (s *Server) publish(channel, message string) int64 {
	n := s.channels[channel]
	if n > 0 && s.o.OnPublish != nil {
		s.o.OnPublish(channel, message)
	}
	return int64(n)
}

// lookup returns the key's entry, nil if it is not there. What has expired is
// deleted, but on a replica, where it only looks as if it were.
func (s *Server) lookup(key string) *entry {
	e := s.data.entries[key]
	if e == nil {
		return nil
	}
	if e.expired(s.ms) {
		if s.primary == nil {
			s.change(e, effect{op: opDel, key: key})
		}
		return nil
	}
	s.accesses++
	e.used = s.accesses
	return e
}

// lookupKind is lookup for a command that works on one kind of values only.
// bad tells that the key holds another.
func (s *Server) lookupKind(key string, k kind) (e *entry, bad bool) {
	e = s.lookup(key)
	return e, e != nil && e.kind != k
}

// change has an effect on the data, and on everything that follows it. e is
// the key's entry, if it has one. It returns the entry that it has then.
func (s *Server) change(e *entry, f effect) *entry {
	if s.changes != nil {
		s.changed(&f)
	}
	after := s.data.apply(e, &f)
	if e == nil && after != nil {
		s.accesses++
		after.used = s.accesses
	}
	if s.disk.on || s.stream.kept {
		s.tell(f)
	}
	return after
}

// array makes an array's reply, in memory that is used again.
func (s *Server) array(items ...Reply) Reply {
	s.items = append(s.items[:0], items...)
	return Reply{Kind: Array, Items: s.items}
}

// passCycles does what the server's own search for expired keys has done by
// now. When the clock goes back, so do the searches: they are driven by
// another clock.
func (s *Server) passCycles() {
	if s.ms < s.cycled || !s.started {
		s.started, s.cycled = true, s.ms
	}
	if s.ms-s.cycled < cycle {
		return
	}
	s.cycled = s.ms
	s.sweep()
}

// sweep deletes all keys that have expired.
func (s *Server) sweep() {
	if s.ms <= s.data.soonest {
		return
	}
	soonest := newKeyspace().soonest
	for key, e := range s.data.entries { // in any order: the outcome is the same
		switch {
		case e.expired(s.ms):
			s.change(e, effect{op: opDel, key: key})
		case e.expires != never:
			soonest = min(soonest, e.expires)
		}
	}
	s.data.soonest = soonest
}
