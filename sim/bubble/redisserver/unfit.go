package redisserver

import (
	"slices"
	"strings"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Unfitness is what a server answers that cannot serve for the time being.
type Unfitness struct {
	Text   string
	Writes bool // it answers so only to commands that write; else to everything but the greeting
}

// Unfit is what servers and proxies answer that cannot serve: a primary that was demoted
// or cut off, one without room or with a disk that fails, and a proxy that has lost it.
var Unfit = []Unfitness{
	{"NOREPLICAS Not enough good replicas to write.", true},
	{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", true},
	{"OOM command not allowed when used memory > 'maxmemory'.", true},
	{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false},
	{"LOADING Redis is loading the dataset in memory", false},
	{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", false},
	{"ERR proxy: the backend is not available", false},
}

// Refuse makes the server answer so from now on; an empty text ends that.
func (s *Server) Refuse(u Unfitness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	s.unfit = ""
	writes := ""
	if u.Writes {
		writes = u.Text
	} else {
		s.unfit = u.Text
	}
	for _, db := range s.databases {
		db.RefuseWrites(writes)
	}
}

// refusal is what the server answers to a command in place of carrying it out.
func (s *Server) refusal(db *redismodel.Server, args []string) string {
	if s.unfit != "" && !slices.Contains(greeting, strings.ToUpper(args[0])) {
		return s.unfit
	}
	if s.o.Refuse != nil {
		return s.o.Refuse(db, args)
	}
	return ""
}
