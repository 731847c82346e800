package virtual

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/session"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// What a candidate learns of a call without an answer.
var (
	errTimeout  = errors.New("no answer within the time-out")
	errBroken   = errors.New("the connection broke")
	errNoScript = errors.New("NOSCRIPT")

	errUnconfirmed = errors.New("too few replicas have confirmed it")
)

const (
	// storeEpoch is what the server's wall clock shows at the start of a run:
	// some time in 2025.
	storeEpoch = 1_750_000_000 * time.Second
)

// Scripts are what the candidates of a subject run on the store.
type Scripts struct {
	Acquire, Renew, Release, Withdraw, Leader, Candidates *redismodel.Script
}

// server is one process of Redis.
type server struct {
	model    *redismodel.Server
	watchers []*subscription // who listens to hints, in the order of their coming
	sessions session.Server  // the connections of programs
}

// store is the store, or one of several that know nothing of each other: its
// primary, which is a model of Redis, and what faults have done to it.
type serverStore struct {
	run   *run
	index int
	name  string // for evidence
	alone bool   // it is the whole store
	lost  string // the lease that it had when it was killed
	*server
	old     *server        // an isolated primary of before; nil if there is none
	aside   []bool         // by node: it reaches the old one
	lags    bool           // the replica that will be promoted gets nothing now
	before  tamper.Content // of the old one when it was isolated
	scripts Scripts
	protect string // as the scripts take it
	servers int    // that there have been
	paused  bool
	down    bool
	queue   []queued      // arrived while it was frozen
	frozen  []func()      // likewise, of programs
	free    time.Duration // when it has served what it has got

	rows *rows // what there is instead of Redis; nil: there is Redis

	keys    keys
	channel string
	args    []string // of the script's call in the making

	passed history.Event // what the release under way notes of whom it granted the lease to
}

// keys are the keys that the scripts get.
type keys struct {
	lease, counter, guard, candidatesKey, witness         string
	acquire, renew, release, withdraw, leader, candidates []string
}

func electionKeys(prefix string) keys {
	k := keys{lease: prefix + "lease", counter: prefix + "token", guard: prefix + "guard", candidatesKey: prefix + "candidates", witness: "recount:witness"}
	terms := prefix + "terms"
	k.acquire = []string{k.lease, k.counter, k.guard, k.candidatesKey, terms, k.witness}
	k.renew = []string{k.lease, k.guard, k.witness}
	k.release = []string{k.lease, k.guard, k.candidatesKey, terms, k.counter, k.witness}
	k.withdraw = []string{k.lease, k.candidatesKey}
	k.leader = []string{k.lease, k.guard}
	k.candidates = []string{k.candidatesKey, k.guard, k.witness}
	return k
}

// queued is what has arrived at a server that is frozen.
type queued struct {
	k       *call
	station uint64
}

func newStores(r *run, subject Subject) []*serverStore {
	stores := make([]*serverStore, r.spec.Topology.Independent())
	for i := range stores {
		stores[i] = newStore(r, subject, i, len(stores))
	}
	return stores
}

func newStore(r *run, subject Subject, index, of int) *serverStore {
	s := &serverStore{run: r, index: index, name: "the store", alone: of == 1, scripts: subject.scripts(r.texts), protect: "1", keys: electionKeys("recount:{e1}:")}
	if !s.alone {
		s.name = faults.StoreNode(index + 1).String()
	}
	switch {
	case subject.Unprotected:
		s.protect = "0"
	case of > 1:
		s.protect = "2"
	}
	s.channel = "recount:{e1}:wake"
	s.server = s.newServer()
	s.do("SET", s.keys.counter, decimal(r.spec.Tokens))
	known, _ := s.model.History() // as Vouch of the production elector's store
	s.do("HSET", s.keys.witness, "history", known, "since", "0")
	return s
}

func (s *serverStore) newServer() *server {
	v := &server{}
	s.servers++
	v.model = redismodel.New(redismodel.Options{
		Name:        "store" + strconv.Itoa(s.index) + "server" + strconv.Itoa(s.servers),
		Interpreter: s.run.lua,
		Persistence: redismodel.Always,
		Replicated:  true,
		OnPublish: func(channel, message string) {
			s.published(v, message)
			v.sessions.Published(channel, message)
		},
	})
	v.sessions.Databases, v.sessions.Now, v.sessions.Executed = []*redismodel.Server{v.model}, s.now, s.run.executed
	return v
}

// of is the server that serves the node.
func (s *serverStore) of(n *node) *server {
	if s.old != nil && s.aside[n.index] {
		return s.old
	}
	return s.server
}

// now is what the server's wall clock shows.
func (s *serverStore) now() time.Duration { return storeEpoch + s.run.now }

// turn is how long it takes until the command at hand has had its turn.
func (s *serverStore) turn() time.Duration {
	s.free = max(s.free, s.run.now) + Service
	return s.free - s.run.now
}

// receive takes in what has reached the server.
func (s *serverStore) receive(k *call, station uint64) {
	switch {
	case k.orphan && s.down:
		k.recycle()
	case !k.client.node.link.passes(up):
		k.lose() // the bytes were swallowed on their way
	case s.down:
		k.breaks()
	case s.paused:
		k.queued, k.toStore = true, true
		s.queue = append(s.queue, queued{k, station})
		if !k.orphan {
			k.hang()
		}
	default:
		s.serve(k, station)
	}
}

// serve answers a greeting or carries out a request.
func (s *serverStore) serve(k *call, station uint64) {
	next := uint64(welcomed)
	if station == arrived {
		s.execute(k)
		next = answered
	}
	if k.orphan {
		k.recycle()
		return
	}
	k.send(next)
}

// resume lets a frozen server work off what has arrived meanwhile.
func (s *serverStore) resume() {
	s.paused = false
	queue := s.queue
	s.queue = nil
	for _, q := range queue {
		q.k.queued, q.k.toStore = false, false
		s.serve(q.k, q.station)
	}
	frozen := s.frozen
	s.frozen = nil
	for _, serve := range frozen {
		serve()
	}
}

// execute does what the call asks for and keeps the answer in it.
func (s *serverStore) execute(k *call) {
	c := &k.command
	if s.rows != nil {
		k.outcome.input = s.rows.execute(s.now(), c)
		return
	}
	s.args = s.args[:0]
	switch c.call {
	case history.Acquire:
		s.args = append(s.args, c.id, c.nonce, milliseconds(c.ttl), decimal(c.floor), s.channel, decimal(c.try), s.protect, "0", milliseconds(max(c.longest, c.ttl)), "", c.beacon)
		k.outcome.input = granted(s.call(k, s.scripts.Acquire, s.keys.acquire), c.beacon)
		s.audit(k, max(k.outcome.input.Token, 0))
		s.confirm(k)
	case history.Renew:
		s.args = append(s.args, c.value, milliseconds(c.ttl), c.nonce, decimal(c.try), decimal(c.token), c.protect)
		k.outcome.input = changed(s.call(k, s.scripts.Renew, s.keys.renew))
		s.audit(k, c.token)
		s.confirm(k)
	case history.Release:
		s.args = append(s.args, c.value, s.channel, c.nonce, decimal(c.try), decimal(c.token), c.to, milliseconds(c.reserve), c.id, milliseconds(c.ttl), "0", milliseconds(max(c.longest, c.ttl)), s.protect)
		s.passed = history.Event{}
		k.outcome.input = changed(s.call(k, s.scripts.Release, s.keys.release))
		s.audit(k, c.token)
		if s.passed.Kind != "" && s.audits(k) {
			s.run.add(s.passed)
		}
	case withdraw:
		s.args = append(s.args, c.id, c.nonce)
		k.outcome.input = withdrawn(s.call(k, s.scripts.Withdraw, s.keys.withdraw))
	case history.Observe:
		k.outcome.input = observed(s.call(k, s.scripts.Leader, s.keys.leader))
	case listCandidates:
		k.outcome.value, k.outcome.input = listed(s.call(k, s.scripts.Candidates, s.keys.candidates))
	default:
		reply := s.of(k.client.node).model.Do(s.now(), c.args...)
		k.outcome.value, k.outcome.input = plain(reply)
		if s.run.lock != nil {
			k.outcome.reply = wired(reply)
		}
	}
}

// confirm lets the candidate not know of a grant or renewal that the replicas do
// not confirm, where they have to: those of an old primary that is isolated, and
// whatever the replica lacks that will be promoted. The time until the server
// gives up waiting for them is left out.
func (s *serverStore) confirm(k *call) {
	if s.run.spec.Replicas == 0 || k.outcome.input.Result != machine.Done {
		return
	}
	n := k.client.node
	if s.lags || s.of(n) == s.old {
		k.outcome.input = machine.Input{Err: errUnconfirmed}
	}
}

// call runs a script by its name, or by its text if the client sends it.
func (s *serverStore) call(k *call, script *redismodel.Script, keys []string) redismodel.Reply {
	model := s.of(k.client.node).model
	run := model.Run
	if k.whole {
		run = model.Eval
	}
	return s.run.effects.executed(s, model, script, run(s.now(), script, keys, s.args))
}

// audit records what the server did, in its own order. Where replicas have to
// confirm, the record of an isolated primary is lost with it. Several stores have
// no order that is that of the whole.
func (s *serverStore) audit(k *call, token uint64) {
	if !s.audits(k) {
		return
	}
	applied := &no
	switch k.outcome.input.Result {
	case machine.Done:
		applied = &yes
	case machine.Held, machine.NotHeld:
	default:
		return // an error: nothing was executed
	}
	s.run.add(history.Event{
		Kind: history.Audit, Call: k.command.call, Nonce: k.command.nonce, Try: k.command.try, Token: token, Applied: applied,
	})
}

// audits reports whether the record of the server that executes the call is kept.
func (s *serverStore) audits(k *call) bool {
	return s.alone && (s.run.spec.Replicas == 0 || s.of(k.client.node) != s.old)
}

var yes, no = true, false

// granted reads the answer of acquire.
func granted(r redismodel.Reply, beacon string) machine.Input {
	switch {
	case r.Kind == redismodel.Array && len(r.Items) == 5 && r.Items[0].Int == 1:
		return machine.Input{
			Result: machine.Done, Token: token(r.Items[1]), Waiters: int(r.Items[2].Int), Longest: time.Duration(r.Items[4].Int) * time.Millisecond,
		}
	case r.Kind == redismodel.Array && len(r.Items) == 7:
		return machine.Input{
			Result: machine.Held, Token: token(r.Items[1]), Holder: r.Items[2].Text,
			Remaining: time.Duration(r.Items[3].Int) * time.Millisecond, Waiters: int(r.Items[4].Int), Longest: time.Duration(r.Items[6].Int) * time.Millisecond,
			Stands: beacon != "" && r.Items[5].Int == 0 && token(r.Items[1]) != 0,
		}
	default:
		return failed(r)
	}
}

// changed reads the answer of renew and release.
func changed(r redismodel.Reply) machine.Input {
	switch {
	case r.Kind == redismodel.Int && r.Int == 1:
		return machine.Input{Result: machine.Done}
	case r.Kind == redismodel.Int:
		return machine.Input{Result: machine.NotHeld}
	default:
		return failed(r)
	}
}

// withdrawn reads the answer of withdraw.
func withdrawn(r redismodel.Reply) machine.Input {
	switch {
	case r.Kind == redismodel.Bulk && r.Text == "0":
		return machine.Input{Result: machine.NotHeld}
	case r.Kind == redismodel.Bulk:
		return machine.Input{Result: machine.Held, Token: token(r)}
	default:
		return failed(r)
	}
}

// observed reads the answer of leader.
func observed(r redismodel.Reply) machine.Input {
	switch {
	case r.Kind == redismodel.Array && len(r.Items) == 0:
		return machine.Input{Result: machine.Done}
	case r.Kind == redismodel.Array && len(r.Items) == 5:
		return machine.Input{Result: machine.Done, Token: token(r.Items[0]), Holder: r.Items[1].Text}
	default:
		return failed(r)
	}
}

// failed reads an error: the outcome is unknown, or another try is due.
func failed(r redismodel.Reply) machine.Input {
	if r.Kind == redismodel.Error && strings.HasPrefix(r.Text, "NOSCRIPT") {
		return machine.Input{Err: errNoScript}
	}
	return machine.Input{Err: errors.New(r.String())}
}

// plain is the answer to a bare command, in the terms of Go's Redis clients.
func plain(r redismodel.Reply) (any, machine.Input) {
	if r.Kind == redismodel.Error {
		return nil, machine.Input{Err: errors.New(r.Text)}
	}
	return value(r), machine.Input{Result: machine.Done}
}

func value(r redismodel.Reply) any {
	switch r.Kind {
	case redismodel.Int:
		return r.Int
	case redismodel.Bulk, redismodel.Status:
		return r.Text
	case redismodel.Array:
		all := make([]any, len(r.Items))
		for i, item := range r.Items {
			all[i] = value(item)
		}
		return all
	default:
		return nil
	}
}

func token(r redismodel.Reply) uint64 {
	n, err := strconv.ParseUint(r.Text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("virtual: a script answered %v for a token", r))
	}
	return n
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// leaseValue is the lease as the scripts write it.
func leaseValue(token uint64, nonce, id string) string {
	return "r1 " + decimal(token) + " " + nonce + " " + id
}
