package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/session"
)

// What a connection says, and what it is answered, by real servers, too.
func TestSession(t *testing.T) {
	var now time.Duration
	db := redismodel.New(redismodel.Options{Name: "server1"})
	server := &session.Server{Databases: []*redismodel.Server{db}, Now: func() time.Duration { return now }}
	connections := map[string]*session.Session{}
	for _, name := range []string{"a", "b"} {
		connections[name] = server.Open(func([]byte) {})
	}
	for _, step := range []struct{ who, says, gets string }{
		{"a", "MULTI", "+OK"},
		{"a", "MULTI", "-ERR MULTI calls can not be nested"},
		{"a", "set k 1 PX 100", "+QUEUED"},
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
		{"a", "UNWATCH", "+OK"},
		{"b", "SET k 5 PX 100", "+OK"},
		{"a", "MULTI", "+OK"},
		{"a", "EXEC", "*0"},
		{"a", "WATCH k", "+OK"},
		{"a", "later", ""}, // it expires, which is a change
		{"a", "MULTI", "+OK"},
		{"a", "EXEC", "*-1"},
		{"a", "CLIENT ID", ":1"},
		{"b", "CLIENT SETNAME me", "+OK"},
		{"a", "HELLO 3", "-NOPROTO unsupported protocol version"},
		{"a", "SELECT 1", "-ERR DB index is out of range"},
		{"a", `EVAL return(cjson.decode(ARGV[1]).id) 0 {"id":"n1"}`, "$2 n1"},
	} {
		if step.says == "later" {
			now += time.Second
			continue
		}
		out, _ := connections[step.who].Answer(strings.Fields(step.says))
		if got := strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", " ")); got != step.gets {
			t.Errorf("%s: %s: %q, want %q", step.who, step.says, got, step.gets)
		}
	}
}
