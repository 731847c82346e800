package bubble

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// redisOptions name a server that nobody connects to.
var redisOptions = redis.UniversalOptions{Addrs: []string{"store:6379"}}

// keys are the keys of the run's election.
type keys struct{ lease, counter, guard, audit string }

// store is the run's store: its primary, and what faults have done to it.
type store struct {
	run     *run
	keys    keys
	server  *redisserver.Server
	servers int // that there have been

	old    *redisserver.Server // an isolated primary of before; nil if there is none
	aside  map[string]bool     // the nodes that it serves
	before tamper.Content      // of the old one when it was isolated
}

// close lets what waits for a frozen server go on.
func (s *store) close() {
	s.server.Thaw()
	if s.old != nil {
		s.old.Thaw()
	}
}

// audit records what the server has noted about a command, at once: so nothing of
// it is lost with a store that loses its data, or comes again.
func (s *store) audit(db *redismodel.Server, command string) {
	if command != "EVALSHA" && command != "EVAL" {
		return
	}
	now := time.Duration(time.Now().UnixNano())
	lines := db.Do(now, "LRANGE", s.keys.audit, "0", "-1").Items
	if len(lines) == 0 {
		return
	}
	for _, line := range lines {
		entry, err := redisstore.ParseAudit(line.Text)
		if err != nil {
			panic("bubble: " + err.Error())
		}
		s.run.recorder.Stamp(history.Event{
			Kind: history.Audit, Call: history.Call(entry.Call), Nonce: entry.Nonce, Try: entry.Request,
			Token: entry.Token, Applied: history.Bool(entry.Applied),
		})
	}
	db.Do(now, "DEL", s.keys.audit)
}

// of calls what with the election's data in a server.
func (s *store) of(server *redisserver.Server, what func(tamper.Election)) {
	server.With(func(dbs []*redismodel.Server, now time.Duration) {
		do := func(args ...string) redismodel.Reply { return dbs[0].Do(now, args...) }
		what(tamper.Election{Do: do, Lease: s.keys.lease, Counter: s.keys.counter, Guard: s.keys.guard})
	})
}

// content is what a server has of the election.
func (s *store) content(server *redisserver.Server) (c tamper.Content) {
	s.of(server, func(e tamper.Election) { c = e.Content() })
	return c
}

// errDown is what a fault learns that has come too late for the store.
var errDown = faults.NoEffect("the store is down already")

// tampers does something to the data of a store that is up.
func (s *store) tampers(what func(tamper.Election) (string, error)) (evidence string, err error) {
	if !s.server.Open() {
		return "", errDown
	}
	s.of(s.server, func(e tamper.Election) { evidence, err = what(e) })
	return evidence, err
}

// crash ends the store's server, or tells that it is down already.
func (s *store) crash() bool {
	if !s.server.Crash() {
		return false
	}
	if s.old != nil {
		s.old.Crash()
		s.old = nil
	}
	for _, n := range s.run.nodes {
		n.link.Break()
	}
	return true
}

// fork is a replica of the store that gets nothing any more from now on.
func (s *store) fork() *redisserver.Server {
	s.servers++
	return s.server.Fork(fmt.Sprintf("server%d", s.servers))
}

// lead makes the ways of all candidates lead to the store's server, but for those
// that an isolated one serves.
func (s *store) lead() {
	for _, n := range s.run.nodes {
		if s.old == nil || !s.aside[n.name] {
			n.link.Retarget(s.server)
		}
	}
}
