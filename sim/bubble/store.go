package bubble

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// redisOptions name a server that nobody connects to.
var redisOptions = redis.UniversalOptions{Addrs: []string{"store:6379"}}

// keys are the keys of the run's election.
type keys struct{ lease, counter, guard, candidates, audit string }

// store is the run's store, or one of several that know nothing of each other: a
// primary, its replicas, and what faults have done to them.
type store struct {
	run     *run
	index   int
	name    string
	alone   bool // it is the whole store
	keys    keys
	members []Server // all that there are, but those that are lost
	server  Server   // the primary, as far as candidates know it
	servers int      // that there have been
	keeps   bool     // a replica is there at any time, not only for a fault

	successor Server          // that will be promoted; nil if none will
	old       Server          // an isolated primary of before; nil if there is none
	aside     map[string]bool // the nodes that it serves
	before    tamper.Content  // of the old one when it was isolated
	lost      string          // the lease that it had when it was killed
}

// addr is where candidates look for the store.
func (s *store) addr() string { return s.name + ":6379" }

func (s *store) url() string { return "redis://" + s.addr() + "/0" }

// urls are those of several stores that know nothing of each other.
func (r *run) urls() (all []string) {
	for _, s := range r.stores {
		if !s.alone {
			all = append(all, s.url())
		}
	}
	return all
}

// shape is how many stores a plan has that know nothing of each other, and how many
// servers each of them is.
func shape(plan sim.Plan) (stores, servers int) {
	switch plan.Topology {
	case sim.Quorum:
		return cmp.Or(plan.Servers, plan.Topology.Independent()), 1
	case sim.Sentinel:
		return 1, 3
	case sim.Cluster:
		return 1, 2
	default:
		return 1, cmp.Or(plan.Servers, 1+plan.Replicas)
	}
}

// build makes the stores of a run.
func (w *World) build(r *run) {
	stores, servers := shape(r.plan)
	for i := range stores {
		s := &store{run: r, index: i, name: "store", alone: stores == 1, keys: keysOf(), keeps: servers > 1, aside: map[string]bool{}}
		if !s.alone {
			s.name = faults.StoreNode(i + 1).String()
		}
		if w.Launch != nil {
			s.server = w.Launch(i)
		} else {
			s.server = modelled(i, s.audit, r.unknown)
		}
		s.members, s.servers = []Server{s.server}, 1
		for range servers - 1 {
			s.enlist().Follow(s.server)
		}
		s.vouch()
		r.stores = append(r.stores, s)
	}
	r.store = r.stores[0]
}

// enlist adds a server to the store.
func (s *store) enlist() Server {
	s.servers++
	one := s.server.Beside(serverName(s.index, s.servers))
	s.members = append(s.members, one)
	return one
}

// dismiss forgets a server that is lost.
func (s *store) dismiss(one Server) {
	s.members = slices.DeleteFunc(s.members, func(m Server) bool { return m == one })
}

// vouch says that the server is new: its first leader need not be waited for.
func (s *store) vouch() {
	var replicas []string
	for _, found := range replicaNumber.FindAllStringSubmatch(s.server.Followers(), -1) {
		replicas = append(replicas, found[1])
	}
	s.server.With(func(do Do) {
		do("EVAL", scripts.Vouch(), "3", s.keys.lease, s.keys.counter, prefix+"witness", strings.Join(replicas, ","))
	})
}

// replicaNumber is the number of a replica's connection, in CLIENT LIST.
var replicaNumber = regexp.MustCompile(`(?m)^id=(\d+) `)

// keysOf are the run's keys, by the names that the production elector's store has
// for them.
func keysOf() keys {
	named, err := redisstore.New(&redisOptions, redisstore.Options{Prefix: prefix, Audit: true})
	if err != nil {
		panic("bubble: " + err.Error()) // the options are constants
	}
	defer func() { _ = named.Close() }() // it was never connected
	var k keys
	for _, key := range named.Keys(election) {
		switch key[strings.LastIndexByte(key, ':')+1:] {
		case "lease":
			k.lease = key
		case "token":
			k.counter = key
		case "guard":
			k.guard = key
		case "candidates":
			k.candidates = key
		case "audit":
			k.audit = key
		}
	}
	return k
}

// close lets what waits for a frozen server go on.
func (s *store) close() {
	for _, m := range s.members {
		m.Thaw()
	}
}

// audit records what a server has noted about a command, at once: so nothing of
// it is lost with a store that loses its data, or comes again. Of several stores
// none has an order that is that of the whole; and where replicas have to confirm,
// nobody believes in what an isolated primary alone has noted.
func (s *store) audit(of Server, do Do) {
	lines := do("LRANGE", s.keys.audit, "0", "-1").Items
	if len(lines) == 0 {
		return
	}
	for _, line := range lines {
		entry, err := redisstore.ParseAudit(line.Text)
		if err != nil {
			panic("bubble: " + err.Error())
		}
		if !s.alone || s.run.plan.Topology == sim.Replicated || s.run.plan.Replicas > 0 && of == s.old {
			continue
		}
		s.run.recorder.Stamp(history.Event{
			Kind: history.Audit, Call: history.Call(entry.Call), Nonce: entry.Nonce, Try: entry.Request,
			Token: entry.Token, Applied: history.Bool(entry.Applied),
		})
	}
	do("DEL", s.keys.audit)
}

// of calls what with the election's data in a server.
func (s *store) of(server Server, what func(tamper.Election)) {
	server.With(func(do Do) {
		what(tamper.Election{Do: do, Lease: s.leaseKey(), Counter: s.keys.counter, Guard: s.keys.guard, Witness: prefix + "witness"})
	})
}

// content is what a server has of the election.
func (s *store) content(server Server) (c tamper.Content) {
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

// crash ends the store's server, and an isolated one with it.
func (s *store) crash() {
	s.server.Crash()
	if s.old != nil {
		s.old.Crash()
		s.dismiss(s.old)
		s.old = nil
	}
	s.breakWays(func(string) bool { return true })
}

// wayOf is a node's way to the store.
func (s *store) wayOf(n *node) *network.Link { return n.links[s.index] }

// breakWays ends the connections of those nodes to the store.
func (s *store) breakWays(of func(node string) bool) {
	for _, n := range s.run.nodes {
		if of(n.name) {
			s.wayOf(n).Break()
		}
	}
}

// replica is one that gets nothing any more from now on.
func (s *store) replica() Server {
	var successor Server
	for _, m := range s.members {
		if m == s.server || m == s.old || !m.Open() {
			continue
		}
		m.Sever()
		if successor == nil {
			successor = m
		}
	}
	if successor == nil {
		successor = s.enlist()
		successor.Follow(s.server)
		successor.Sever()
	}
	return successor
}

// succeed makes a replica the primary, and the others follow it.
func (s *store) succeed(successor Server) {
	s.server = successor
	successor.Mend()
	successor.Promote()
	for _, m := range s.members {
		if m != successor && m != s.old && m.Open() {
			m.Follow(successor)
			m.Mend()
		}
	}
}

// lead makes the ways of all candidates lead to the store's server, but for those
// that an isolated one serves.
func (s *store) lead() {
	for _, n := range s.run.nodes {
		if s.old == nil || !s.aside[n.name] {
			s.wayOf(n).Retarget(s.server)
		}
	}
}
