package session_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/session"
)

// step is what one of two connections says, and what it is answered. The word "later"
// stands for the end of the time to live of k.
type step struct{ who, says, gets string }

// common are steps that a real server answers alike.
var common = []step{
	{"a", "MULTI", "+OK"},
	{"a", "MULTI", "-ERR MULTI calls can not be nested"},
	{"a", "set k 1 PX 60000", "+QUEUED"},
	{"a", "GET k", "+QUEUED"},
	{"a", "WATCH k", "-ERR WATCH inside MULTI is not allowed"},
	{"b", "GET k", "$-1"},
	{"a", "EXEC", "*2 +OK $1 1"},
	{"a", "EXEC", "-ERR EXEC without MULTI"},
	{"a", "DISCARD", "-ERR DISCARD without MULTI"},
	{"a", "MULTI", "+OK"},
	{"a", "NONSENSE", "-ERR unknown command 'NONSENSE', with args beginning with:"},
	{"a", "GET k", "+QUEUED"},
	{"a", "EXEC", "-EXECABORT Transaction discarded because of previous errors."},
	{"a", "MULTI", "+OK"},
	{"a", "SET k 2", "+QUEUED"},
	{"a", "DISCARD", "+OK"},
	{"a", "WATCH k", "+OK"},
	{"b", "SET k 3", "+OK"},
	{"a", "MULTI", "+OK"},
	{"a", "SET k 4", "+QUEUED"},
	{"a", "EXEC", "*-1"},
	{"a", "WATCH k", "+OK"},
	{"b", "SET k 3", "+OK"},
	{"a", "UNWATCH", "+OK"},
	{"b", "SET k 5", "+OK"},
	{"a", "MULTI", "+OK"},
	{"a", "EXEC", "*0"},
	{"b", "CLIENT SETNAME me", "+OK"},
	{"a", `EVAL return(cjson.decode(ARGV[1]).id) 0 {"id":"n1"}`, "$2 n1"},
	{"a", `EVAL return(cjson.encode({id=ARGV[1],n={1,2}})) 0 n/1`, `$23 {"id":"n\/1","n":[1,2]}`},
}

// own are steps that only the model answers so, or where the time is the test's.
var own = []step{
	{"b", "SET k 5 PX 20", "+OK"},
	{"a", "WATCH k", "+OK"},
	{"a", "later", ""},
	{"a", "MULTI", "+OK"},
	{"a", "EXEC", "*-1"},
	{"a", "CLIENT ID", ":1"},
	{"a", "HELLO 4", "-NOPROTO unsupported protocol version"},
	{"a", "SELECT 1", "-ERR DB index is out of range"},
}

// greets are steps on a server with the password "secret", which a real one answers
// alike, but for the end of the answer to HELLO.
var greets = []step{
	{"a", "PING", "-NOAUTH Authentication required."},
	{"a", "HELLO 3", "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"},
	{"a", "AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled."},
	{"a", "AUTH secret", "+OK"},
	{"a", "SUBSCRIBE c", "*3 $9 subscribe $1 c :1"},
	{"a", "GET k", "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"},
	{"b", "HELLO 3 AUTH default wrong", "-WRONGPASS invalid username-password pair or user is disabled."},
	{"b", "HELLO 3 AUTH default secret", "%7 $6 server $5 redis"},
	{"b", "SUBSCRIBE c", ">3 $9 subscribe $1 c :1"},
	{"b", "PING", "+PONG"},
}

// limited are steps on a server with a user "blind" who may not use INFO, in scripts either,
// nor subscribe to channels that have "here:" in their names.
var limited = []step{
	{"a", "AUTH blind any", "+OK"},
	{"a", "INFO", "-NOPERM this user has no permissions to run the 'info' command"},
	{"a", "EVAL return(type(redis.pcall('INFO'))) 0", "$5 table"},
	{"a", "SUBSCRIBE recount:here:x", "-NOPERM this user has no permissions to access one of the channels used as arguments"},
	{"a", "SUBSCRIBE recount:e1", "*3 $9 subscribe $10 recount:e1 :1"},
	{"b", "EVAL return(type(redis.pcall('INFO'))) 0", "$6 string"},
}

func plain(out string) string { return strings.TrimSpace(strings.ReplaceAll(out, "\r\n", " ")) }

// Connections are answered as those of a real server, transactions among them.
func TestSession(t *testing.T) {
	var now time.Duration
	db := redismodel.New(redismodel.Options{Name: "server1"})
	server := &session.Server{Databases: []*redismodel.Server{db}, Now: func() time.Duration { return now }, Users: map[string][]string{"blind": {"INFO", "SUBSCRIBE here:"}}}
	connections := map[string]*session.Session{}
	for _, name := range []string{"a", "b"} {
		connections[name] = server.Open(func([]byte) {})
	}
	for _, s := range slices.Concat(common, own, limited) {
		if s.says == "later" {
			now += time.Second
			continue
		}
		out, _ := connections[s.who].Answer(strings.Fields(s.says))
		if got := plain(string(out)); got != s.gets {
			t.Errorf("%s: %s: %q, want %q", s.who, s.says, got, s.gets)
		}
	}
}

// A connection names the password before anything else, and chooses the protocol.
func TestGreeting(t *testing.T) {
	db := redismodel.New(redismodel.Options{Name: "server1"})
	server := &session.Server{Databases: []*redismodel.Server{db}, Now: func() time.Duration { return 0 }, Password: "secret"}
	connections := map[string]*session.Session{}
	for _, name := range []string{"a", "b"} {
		connections[name] = server.Open(func([]byte) {})
	}
	for _, s := range greets {
		out, _ := connections[s.who].Answer(strings.Fields(s.says))
		if got := plain(string(out)); !strings.HasPrefix(got, s.gets) {
			t.Errorf("%s: %s: %q, want %q", s.who, s.says, got, s.gets)
		}
	}
}

// What is wanted of the model is what a real server says.
func TestRealServer(t *testing.T) {
	addr := topology.Single(t, "--user", "blind", "on", "nopass", "~*", "resetchannels", "&recount:e*", "+@all", "-info").Addr
	type connection struct {
		net.Conn
		in *bufio.Reader
	}
	connections := map[string]connection{}
	for _, name := range []string{"a", "b"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		connections[name] = connection{conn, bufio.NewReader(conn)}
	}
	ask := func(who, says string) string {
		c, text := connections[who], ""
		for _, arg := range strings.Fields(says) {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
		}
		if _, err := fmt.Fprintf(c, "*%d\r\n%s", len(strings.Fields(says)), text); err != nil {
			t.Fatal(err)
		}
		return plain(reply(t, c.in))
	}
	for _, s := range slices.Concat(common, limited) {
		if got := ask(s.who, s.says); got != s.gets {
			t.Errorf("%s: %s: %q, want %q", s.who, s.says, got, s.gets)
		}
	}
}

// reply reads a whole reply.
func reply(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // where it is none, nothing follows
	switch {
	case line[0] == '$' && n >= 0:
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil {
			t.Fatal(err)
		}
		return line + string(text)
	case line[0] == '*':
		for range n {
			line += reply(t, in)
		}
	}
	return line
}
