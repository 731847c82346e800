package virtual

import (
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

// foreignCandidates is what a run knows of candidates of which nothing is known but what they
// do.
type foreignCandidates struct {
	used     bool // a candidate has sent something to the store
	believes bool // a candidate reported a belief
	beliefs  *wire.Beliefs
	inferred []history.Event
	unknown  map[string]bool // what was noted that the model does not know
}

// reads records what was read of the commands of a program, and follows who must believe
// to lead: faults that are meant for the leader have to know at once.
func (r *run) reads(e history.Event) {
	r.add(e)
	r.infer(e)
}

func (r *run) infer(e history.Event) {
	if r.believes || r.subject.Program == nil {
		return
	}
	if r.beliefs == nil {
		r.beliefs = wire.NewBeliefs()
	}
	e.At = r.now
	if belief, follows := r.beliefs.See(e); follows {
		r.inferred = append(r.inferred, belief)
		if r.leaders.See(&belief) {
			r.changed.fire()
		}
	}
}

// executed notes commands that the model does not know, each once.
func (r *run) executed(_ *redismodel.Server, args []string, reply redismodel.Reply) {
	if reply.Kind != redismodel.Error {
		return
	}
	text := sim.Unknown(args[0], reply.Text)
	if text == "" || r.unknown[text] {
		return
	}
	if r.unknown == nil {
		r.unknown = map[string]bool{}
	}
	r.unknown[text] = true
	r.add(history.Event{Kind: history.Note, Text: text})
}

// conclude adds to the history what is known of foreign candidates when the run is over.
func (r *run) conclude() {
	if r.lock == nil {
		return
	}
	if r.subject.Program != nil && !r.used {
		r.add(history.Event{Kind: history.Note, Text: sim.NothingRead})
		return
	}
	r.add(r.lock.Understanding())
	if r.believes || len(r.inferred) == 0 {
		return
	}
	r.add(history.Event{Kind: history.Note, Text: wire.InferredNote + r.lock.Key()})
	for _, e := range r.inferred {
		r.insert(e)
	}
}

// leaseKey is the key that the candidates use as the lease.
func (s *serverStore) leaseKey() string {
	if s.run.subject.Program != nil && s.run.lock.Key() != "" {
		return s.run.lock.Key()
	}
	return s.keys.lease
}
