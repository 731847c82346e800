// Package redisserver is a Redis server in memory: the Redis of package
// redismodel, which runs scripts from their Lua text, behind connections that
// speak its protocol. It is for programs in a bubble of fake time: it has no
// goroutine but those of its connections, and nobody waits for a lock of its for
// longer than a command takes.
package redisserver

import (
	"bufio"
	"net"
	"sync"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Options change what New makes.
type Options struct {
	// Clock is the server's wall clock: the time since the Unix epoch.
	Clock func() time.Duration
	// Databases is how many there are; 0: one.
	Databases int
	// Executed, if not nil, is called after each command that a client sent to a
	// database, before its reply is sent, and before anybody else's command. It
	// must not block.
	Executed func(db *redismodel.Server, command string)

	_ struct{}
}

// Server is a Redis server. It is safe for concurrent use.
type Server struct {
	o Options

	mu        sync.Mutex // held for one command; never while anything waits
	databases []*redismodel.Server
	channels  map[string][]*session // who listens, in the order of their coming
	down      bool
	thawed    chan struct{} // not nil while the server is frozen; closed then
	clients   int64
}

// New returns a server without any key.
func New(o Options) *Server {
	s := &Server{o: o, channels: map[string][]*session{}}
	for range max(o.Databases, 1) {
		s.databases = append(s.databases, s.model("server1"))
	}
	return s
}

// model makes a database of the server of that name. Names are letters and
// digits, as in Redis: scripts look for those.
func (s *Server) model(name string) *redismodel.Server {
	return redismodel.New(redismodel.Options{Name: name, Persistence: redismodel.Always, OnPublish: s.published})
}

// Open tells whether the server accepts connections.
func (s *Server) Open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.down
}

// With calls f with the server's databases while no command is executed, and
// with what its clock shows.
func (s *Server) With(f func(databases []*redismodel.Server, now time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.databases, s.o.Clock())
}

// Freeze makes the server answer nothing until Thaw. It tells whether it was
// answering.
func (s *Server) Freeze() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.thawed != nil {
		return false
	}
	s.thawed = make(chan struct{})
	return true
}

// Thaw lets the server go on: it works off what has arrived meanwhile.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thawed != nil {
		close(s.thawed)
		s.thawed = nil
	}
}

// Crash ends the server without warning. Its caller breaks the connections, and
// calls Restart. It tells whether the server was up.
func (s *Server) Crash() bool {
	s.Thaw()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false
	}
	s.down = true
	s.channels = map[string][]*session{}
	return true
}

// Restart starts a server that crashed, with or without the data that it had. It
// tells whether it was down.
func (s *Server) Restart(keepData bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return false
	}
	s.down = false
	for _, db := range s.databases {
		db.Crash()
		db.Restart(s.o.Clock(), keepData)
	}
	return true
}

// Fork returns a replica of the server that gets nothing any more from now on.
// It serves nobody until Promote or Restart. Its name is letters and digits, and
// no other server's.
func (s *Server) Fork(name string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	fork := &Server{o: s.o, channels: map[string][]*session{}, down: true}
	for _, db := range s.databases {
		copied := fork.model(name)
		copied.Follow(db, 0)
		copied.Sever()
		fork.databases = append(fork.databases, copied)
	}
	return fork
}

// Promote makes a replica serve, without a restart.
func (s *Server) Promote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
	for _, db := range s.databases {
		db.Promote()
	}
}

// published sends a message to those who listen. A model calls it in the middle
// of a command.
func (s *Server) published(channel, message string) {
	for _, c := range s.channels[channel] {
		c.push("message", channel, message)
	}
}

// session is one connection.
type session struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	text   []byte // of the command that is read
	ends   []int  // of its arguments, in text
	out    []byte
	db     int
	id     int64
	subs   []string // channels that it listens on
}

// Serve serves a connection until it ends, and closes it.
func (s *Server) Serve(conn net.Conn) {
	c := &session{server: s, conn: conn, in: bufio.NewReaderSize(conn, 4096)}
	defer c.end()
	for {
		args, err := c.readCommand()
		if err != nil {
			return
		}
		if len(args) == 0 {
			continue
		}
		s.awaitThaw()
		if !c.execute(args) {
			return
		}
	}
}

// awaitThaw waits while the server is frozen.
func (s *Server) awaitThaw() {
	for {
		s.mu.Lock()
		thawed := s.thawed
		s.mu.Unlock()
		if thawed == nil {
			return
		}
		<-thawed
	}
}

// end forgets the connection.
func (c *session) end() {
	c.server.mu.Lock()
	c.leave()
	c.server.mu.Unlock()
	_ = c.conn.Close() // it may be closed already
}

// leave ends all subscriptions.
func (c *session) leave() {
	for len(c.subs) > 0 {
		c.unsubscribe(c.subs[0])
	}
}

// execute executes a command and sends what answers it. It tells whether the
// connection goes on.
func (c *session) execute(args []string) bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false
	}
	c.out = c.out[:0]
	goesOn := c.answer(args)
	if len(c.out) > 0 {
		_, _ = c.conn.Write(c.out) // who is gone needs no answer
	}
	return goesOn
}

// push sends something that nobody asked for.
func (c *session) push(texts ...string) {
	var out []byte
	out = appendHead(out, '*', int64(len(texts)))
	for _, text := range texts {
		out = appendBulk(out, text)
	}
	_, _ = c.conn.Write(out) // who is gone needs no message
}
