package redisserver

import (
	"bufio"
	"cmp"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/session"
)

// Options change what New makes.
type Options struct {
	// Name tells the server from others: letters and digits, as in the names that
	// Redis makes up. "server1" by default.
	Name string
	// Clock is the server's wall clock: the time since the Unix epoch.
	Clock func() time.Duration
	// Databases is how many there are; 0: one.
	Databases int
	// Executed, if not nil, is called after each command that a client sent to a
	// database of a server, its name first, before its reply is sent, and before
	// anybody else's command. It must not block, nor keep the arguments.
	Executed func(s *Server, db *redismodel.Server, args []string, reply redismodel.Reply)
	// Refuse, if not nil, is asked before each command of a client, and tells with
	// which error the server answers in place of carrying it out; "": with none. It
	// must not block.
	Refuse func(db *redismodel.Server, args []string) string
	// Password is what a connection must name before anything else; "": nothing.
	Password string
	// Users are those whose rights are limited, as session.Server has them.
	Users map[string][]string

	_ struct{}
}

// Server is a Redis server. It is safe for concurrent use.
type Server struct {
	*group
	o         Options
	databases []*redismodel.Server
	sessions  session.Server
	down      bool
	thawed    chan struct{} // not nil while the server is frozen; closed then
	ahead     time.Duration // of its clock
	primary   *Server       // nil for a primary
	severed   bool          // the way to its primary is cut
	turned    int           // how often its place has changed
	unfit     string        // what it answers to everything; "": it answers
}

// group are servers that may replicate each other.
type group struct {
	mu      sync.Mutex // held for one command; never while anything waits
	members []*Server
}

// New returns a server without any key.
func New(o Options) *Server { return newServer(cmp.Or(o.Name, "server1"), o, &group{}) }

func newServer(name string, o Options, g *group) *Server {
	s := &Server{group: g, o: o}
	for range max(o.Databases, 1) {
		s.databases = append(s.databases, s.model(name))
	}
	s.sessions.Databases, s.sessions.Now, s.sessions.Refuse = s.databases, s.now, s.refusal
	s.sessions.Password, s.sessions.Users = o.Password, o.Users
	if executed := o.Executed; executed != nil {
		s.sessions.Executed = func(db *redismodel.Server, args []string, reply redismodel.Reply) { executed(s, db, args, reply) }
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, s)
	return s
}

// model makes a database of the server of that name.
func (s *Server) model(name string) *redismodel.Server {
	return redismodel.New(redismodel.Options{Name: name, Persistence: redismodel.Always, Replicated: true, OnPublish: s.sessions.Published})
}

// Open reports whether the server accepts connections.
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
	s.receive()
	f(s.databases, s.now())
}

// Freeze makes the server answer nothing until Thaw. It reports whether it was
// answering.
func (s *Server) Freeze() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.thawed != nil {
		return false
	}
	s.receive()
	s.thawed = make(chan struct{})
	for _, db := range s.databases {
		db.Sever() // what reaches it now, it gets when it goes on
	}
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
// calls Restart. It reports whether the server was up.
func (s *Server) Crash() bool {
	s.Thaw()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false
	}
	s.down = true
	s.turned++
	s.sessions.Forget()
	for _, db := range s.databases {
		db.Crash()
	}
	return true
}

// Restart starts a server that crashed, with or without the data that it had. It
// reports whether it was down.
func (s *Server) Restart(keepData bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return false
	}
	s.down = false
	s.primary = nil
	for _, db := range s.databases {
		db.Restart(s.now(), keepData)
	}
	return true
}

// connection is one of the server's.
type connection struct {
	*session.Session
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	text   []byte // of the command that is read
	ends   []int  // of its arguments, in text

	written int64 // how much its server had written after its last command
}

// Serve serves a connection until it ends, and closes it.
func (s *Server) Serve(conn net.Conn) {
	c := &connection{server: s, conn: conn, in: bufio.NewReaderSize(conn, 4096)}
	c.Session = s.sessions.Open(c.send)
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
		if strings.EqualFold(args[0], "WAIT") && !c.Queues() {
			if !c.wait(args) {
				return
			}
			continue
		}
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
func (c *connection) end() {
	c.server.mu.Lock()
	c.Leave()
	c.server.mu.Unlock()
	_ = c.conn.Close() // it may be closed already
}

// execute executes a command and sends what answers it. It reports whether the
// connection goes on.
func (c *connection) execute(args []string) bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false
	}
	s.receive()
	out, goesOn := c.Answer(args)
	c.written = c.Database().Offset()
	if len(out) > 0 {
		c.send(out)
	}
	return goesOn
}

// send sends something to the client. Who is gone needs no answer.
func (c *connection) send(out []byte) { _, _ = c.conn.Write(out) }
