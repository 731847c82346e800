package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Server is what its sessions share. It is not safe for concurrent use.
type Server struct {
	// Databases are those of the server, at least one.
	Databases []*redismodel.Server
	// Now is what the server's wall clock shows: the time since the Unix epoch.
	Now func() time.Duration
	// Executed, if not nil, is called after each command that a client sent to a
	// database, its name first. It must not keep the arguments.
	Executed func(db *redismodel.Server, args []string, reply redismodel.Reply)
	// Refuse, if not nil, is asked before each command, its name first, and tells with
	// which error the server answers in place of carrying it out; "": with none. The
	// database is that of the session.
	Refuse func(db *redismodel.Server, args []string) string
	// Password is what a connection must name before anything else; "": nothing.
	Password string
	// Users are those whose rights are limited: which commands each may not execute, in
	// upper case. SUBSCRIBE with a word after it is forbidden for channels with that word
	// in them. They have the server's password. A client that names no user, or another
	// one, may execute everything.
	Users map[string][]string

	channels map[string][]*Session // who listens, in the order of their coming
	clients  int64

	_ struct{}
}

// Open begins a connection. push sends it what nobody asked for.
func (s *Server) Open(push func(out []byte)) *Session { return &Session{server: s, push: push} }

// Published sends a message to those who listen. The OnPublish of the databases calls
// it, in the middle of a command.
func (s *Server) Published(channel, message string) {
	for _, c := range s.channels[channel] {
		c.push(c.pushed("message", channel, message))
	}
}

// Forget forgets who listens, as a server does that crashes.
func (s *Server) Forget() { s.channels = nil }

// Session is one connection.
type Session struct {
	server  *Server
	push    func(out []byte)
	out     []byte
	db      int
	id      int64
	named   bool     // it has named the password
	denied  []string // commands that its user may not execute
	resp3   bool     // it has asked for the new protocol
	subs    []string // channels that it listens on
	queues  bool     // between MULTI and EXEC
	spoiled bool     // a command was refused meanwhile
	queue   [][]string
	watched []watched
}

// watched is a key, and how often it had changed when it was looked at.
type watched struct {
	db      *redismodel.Server
	key     string
	version uint64
}

// Database is the one that the connection has chosen.
func (c *Session) Database() *redismodel.Server { return c.server.Databases[c.db] }

// Queues reports whether what is sent becomes part of a transaction.
func (c *Session) Queues() bool { return c.queues }

// Leave ends all subscriptions: the connection is gone.
func (c *Session) Leave() {
	for len(c.subs) > 0 {
		c.unsubscribe(c.subs[0])
	}
}

// What a connection may say while it listens.
var whileListening = []string{"SUBSCRIBE", "UNSUBSCRIBE", "PING", "QUIT"}

// Answer carries out a command and returns what answers it, valid until the next call,
// and whether the connection goes on.
func (c *Session) Answer(args []string) (out []byte, goesOn bool) {
	c.out = c.out[:0]
	name := strings.ToUpper(args[0])
	if len(c.subs) > 0 && !c.resp3 && !slices.Contains(whileListening, name) {
		c.fail("ERR Can't execute '" + strings.ToLower(name) + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
		return c.out, true
	}
	if refuse := c.server.Refuse; refuse != nil {
		if text := refuse(c.Database(), args); text != "" {
			c.fail(text)
			return c.out, true
		}
	}
	if c.locked() && name != "HELLO" && name != "AUTH" && name != "QUIT" {
		c.fail("NOAUTH Authentication required.")
		return c.out, true
	}
	if name == "QUIT" {
		c.out = append(c.out, "+OK\r\n"...)
		return c.out, false
	}
	if slices.Contains(c.denied, name) {
		c.fail("NOPERM this user has no permissions to run the '" + strings.ToLower(name) + "' command")
		return c.out, true
	}
	if name == "SUBSCRIBE" && slices.ContainsFunc(c.denied, func(d string) bool {
		word, limited := strings.CutPrefix(d, "SUBSCRIBE ")
		return limited && slices.ContainsFunc(args[1:], func(channel string) bool { return strings.Contains(channel, word) })
	}) {
		c.fail("NOPERM this user has no permissions to access one of the channels used as arguments")
		return c.out, true
	}
	if c.transaction(name, args) {
		return c.out, true
	}
	c.command(name, args)
	return c.out, true
}

// fail answers with an error.
func (c *Session) fail(text string) {
	c.spoiled = c.spoiled || c.queues
	c.out = appendError(c.out, text)
}

// command carries out one that is no part of a transaction, or whose turn has come.
func (c *Session) command(name string, args []string) {
	switch name {
	case "HELLO":
		c.hello(args)
	case "AUTH":
		c.auth(args[1:])
	case "CLIENT":
		c.client(args)
	case "SELECT":
		c.choose(args)
	case "SUBSCRIBE":
		c.subscribe(args[1:])
	case "UNSUBSCRIBE":
		c.unsubscribeAll(args[1:])
	case "PING":
		if len(c.subs) > 0 && !c.resp3 {
			c.out = appendBulk(appendBulk(appendHead(c.out, '*', 2), "pong"), strings.Join(args[1:], " "))
			return
		}
		c.ask(name, args)
	default:
		c.ask(name, args)
	}
}

// ask has the command executed by the connection's database.
func (c *Session) ask(name string, args []string) {
	s, db := c.server, c.Database()
	args[0] = name
	db.Deny(c.denied)
	reply := db.Do(s.Now(), args...)
	db.Deny(nil)
	c.out = AppendReply(c.out, reply)
	if s.Executed != nil {
		s.Executed(db, args, reply)
	}
}

// hello answers in the protocol that it is asked for. In the new one messages are pushed
// and this answer is a map; all other answers are as in the old one, which clients accept.
func (c *Session) hello(args []string) {
	if len(args) > 1 && args[1] != "2" && args[1] != "3" {
		c.fail("NOPROTO unsupported protocol version")
		return
	}
	if len(args) > 4 && strings.EqualFold(args[2], "AUTH") && !c.identify(args[3:4], args[4]) {
		return
	}
	if c.locked() {
		c.fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	proto := int64(2)
	if len(args) > 1 {
		c.resp3 = args[1] == "3"
	}
	if c.resp3 {
		proto, c.out = 3, appendHead(c.out, '%', 7)
	} else {
		c.out = appendHead(c.out, '*', 14)
	}
	for _, pair := range [][2]string{{"server", "redis"}, {"version", redismodel.Version}} {
		c.out = appendBulk(appendBulk(c.out, pair[0]), pair[1])
	}
	c.out = appendHead(appendBulk(c.out, "proto"), ':', proto)
	c.out = appendHead(appendBulk(c.out, "id"), ':', c.number())
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.out = appendBulk(appendBulk(c.out, pair[0]), pair[1])
	}
	c.out = appendHead(appendBulk(c.out, "modules"), '*', 0)
}

// locked reports whether the connection must name the password first.
func (c *Session) locked() bool { return c.server.Password != "" && !c.named }

// identify takes in a user, if one is named, and a password. It answers with an error if
// that is a wrong one.
func (c *Session) identify(user []string, password string) bool {
	if c.server.Password != "" && password != c.server.Password {
		c.fail("WRONGPASS invalid username-password pair or user is disabled.")
		return false
	}
	c.named, c.denied = true, c.server.Users[strings.Join(user, "")]
	return true
}

// auth takes a password, or a user and a password.
func (c *Session) auth(args []string) {
	switch {
	case len(args) == 0 || len(args) > 2:
		c.fail("ERR wrong number of arguments for 'auth' command")
	case len(args) == 1 && c.server.Password == "":
		c.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case c.identify(args[:len(args)-1], args[len(args)-1]):
		c.out = append(c.out, "+OK\r\n"...)
	}
}

// client is what clients say of themselves when they connect. Of the rest of
// CLIENT only the list of replicas is known.
func (c *Session) client(args []string) {
	sub := ""
	if len(args) > 1 {
		sub = strings.ToUpper(args[1])
	}
	switch {
	case sub == "ID" && len(args) == 2:
		c.out = appendHead(c.out, ':', c.number())
	case sub == "SETNAME" && len(args) == 3, sub == "NO-EVICT" && len(args) == 3, sub == "NO-TOUCH" && len(args) == 3:
		c.out = append(c.out, "+OK\r\n"...)
	case sub == "LIST" && len(args) == 4 && strings.EqualFold(args[2], "TYPE") && strings.EqualFold(args[3], "REPLICA"):
		c.out = appendBulk(c.out, c.Database().Followers(c.server.Now()))
	default: // SETINFO among them, which came with version 7.2
		c.fail("ERR unknown subcommand '" + strings.ToLower(sub) + "'. Try CLIENT HELP.")
	}
}

// number is the client's number.
func (c *Session) number() int64 {
	if c.id == 0 {
		c.server.clients++
		c.id = c.server.clients
	}
	return c.id
}

// choose changes the database.
func (c *Session) choose(args []string) {
	if len(args) != 2 {
		c.fail("ERR wrong number of arguments for 'select' command")
		return
	}
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		c.fail("ERR invalid DB index")
	case n < 0 || n >= len(c.server.Databases):
		c.fail("ERR DB index is out of range")
	default:
		c.db = n
		c.out = append(c.out, "+OK\r\n"...)
	}
}
