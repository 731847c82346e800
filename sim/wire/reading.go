package wire

import (
	"sync"

	"github.com/recount-io/recount/history"
)

// Reading is what was read off the wire of one run. It is held back until the run is
// over: a program may still turn out to tell by itself what it does, and then what it
// says counts and nothing is counted twice. Its methods may be called from several
// goroutines.
type Reading struct {
	lock     *Lock
	recorder *history.Recorder
	follow   func(belief history.Event)

	mu       sync.Mutex      // never held while anything waits
	events   []history.Event // operations and notes
	beliefs  *Beliefs
	inferred []history.Event
	operates bool // a candidate reported an operation on the lease
	believes bool // a candidate reported a belief
	used     bool // a candidate connected
}

// InferredNote begins the text of the note that names the lock from which beliefs are
// inferred.
const InferredNote = "the candidates do not tell when they believe to lead: their beliefs are inferred from what they asked of the lock "

// NewReading returns what nothing was read into yet. It observes what the recorder
// records, to know what the candidates tell. Follow is called with each belief that
// follows from what is read, at once: a fault that is meant for the leader has to know. It
// must not call the reading. Where it is nil the candidates are known to tell what they
// believe, and nothing is inferred.
func NewReading(lock *Lock, recorder *history.Recorder, follow func(belief history.Event)) *Reading {
	r := &Reading{lock: lock, recorder: recorder, follow: follow, beliefs: NewBeliefs()}
	recorder.Observe(r.observe)
	return r
}

// Conn is a connection of the node that is read from now on.
func (r *Reading) Conn(node string) *Conn {
	r.mu.Lock()
	r.used = true
	r.mu.Unlock()
	return r.lock.Conn(node, r.tell, r.recorder.NextOp)
}

// Note tells what is worth knowing of the node's connections.
func (r *Reading) Note(node, text string) {
	r.tell(history.Event{Kind: history.Note, Node: node, Text: text})
}

// Reported reports whether a candidate itself has reported an operation or a belief.
func (r *Reading) Reported() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operates || r.believes
}

// tell takes in what was read.
func (r *Reading) tell(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = r.recorder.Now()
	r.events = append(r.events, e)
	r.infer(e)
}

// observe takes in what was recorded.
func (r *Reading) observe(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case history.Exit:
		r.infer(e)
	case history.Elected, history.Extended:
		r.believes = true
	case history.Invoke:
		r.operates = r.operates || e.Call.OnLease()
	}
}

// infer follows who must believe to lead.
func (r *Reading) infer(e history.Event) {
	if r.follow == nil || r.believes {
		return
	}
	if belief, follows := r.beliefs.See(e); follows {
		r.inferred = append(r.inferred, belief)
		r.follow(belief)
	}
}

// Record adds to the history what was read and candidates did not report themselves,
// once nothing is read any more. Nothing is the text of the note where none of them has
// connected and none tells anything. It returns the note of what was understood; the zero
// event if nothing was read or all was reported.
func (r *Reading) Record(nothing string) (understood history.Event) {
	r.mu.Lock()
	events, inferred := r.events, r.inferred
	operates, believes, used := r.operates, r.believes, r.used
	r.mu.Unlock() // the recorder has observe see what is recorded
	note := func(text string) { r.recorder.Stamp(history.Event{Kind: history.Note, Text: text}) }
	switch {
	case operates:
		note("the candidates tell what they ask of the lease: what was read from the wire is left out")
	case used:
		understood = r.recorder.Stamp(r.lock.Understanding())
	case r.follow != nil:
		note(nothing)
	}
	for _, e := range events {
		if !operates || e.Kind == history.Note {
			r.recorder.Record(e)
		}
	}
	if believes || len(inferred) == 0 {
		return understood
	}
	note(InferredNote + r.lock.Key())
	for _, e := range inferred {
		r.recorder.Record(e)
	}
	return understood
}
