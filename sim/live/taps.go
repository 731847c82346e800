package live

import (
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
	"github.com/recount-io/recount/sim/wire"
)

// taps read off the wire what the candidates of a run do to the lease. What
// they read is held back until the run is over: a program may still turn out to
// tell by itself what it does, and then what it says counts and nothing is
// counted twice.
type taps struct {
	lock     *wire.Lock
	recorder *history.Recorder
	leaders  *stage.Leadership
	steered  bool // the candidates tell their beliefs
	advise   func(text string)

	mu       sync.Mutex
	events   []history.Event // operations and notes
	beliefs  *wire.Beliefs
	inferred []history.Event
	operates bool // a candidate told an operation on the lease
	believes bool // a candidate told a belief
	used     bool // a candidate connected
}

// newTaps returns the run's taps, nil if nothing is to be read, or can be: then
// a note says why.
func (r *run) newTaps() *taps {
	command := r.session.options.strange()
	if !command && (r.session.options.Tapped == nil || !r.session.options.Tapped(r.plan.Subject)) {
		return nil
	}
	_, arranged := r.servers[0].(redisserver.Arranged)
	why := ""
	switch {
	case r.servers[0].Options().TLSConfig != nil:
		why = "it is encrypted"
	case arranged || len(r.servers) > 1:
		why = "the store is several servers"
	}
	if why != "" {
		r.recorder.Stamp(history.Event{Kind: history.Note, Text: "nothing is read from the wire: " + why})
		return nil
	}
	// The servers' wall clock is this machine's: the private ones run on it, and
	// that of another machine is not known better.
	options := wire.Options{Wall: time.Now, Scripts: r.session.scripts, Prefix: r.election,
		Written: func(_ int, key string) { r.world.leftovers.add(key) }}
	switch {
	case !command:
		options.Key = r.world.key("lease")
	case r.session.options.LockKey != "":
		options.Match = wire.Pattern(r.session.options.LockKey)
	}
	t := &taps{
		lock: wire.NewLock(options), recorder: r.recorder, leaders: r.leaders, steered: !command, beliefs: wire.NewBeliefs(),
		advise: func(text string) { r.session.options.Progress(Progress{Scenario: r.plan.Scenario, Advice: text}) },
	}
	r.recorder.Observe(t.observe)
	return t
}

// tap puts a relay before the way to upstream and returns its address.
func (t *taps) tap(node, upstream string) (addr string, undo func() error, err error) {
	relay, err := wire.NewTap(wire.TapOptions{
		Upstream: upstream,
		Conn:     func() *wire.Conn { return t.conn(node) },
		Note: func(text string) {
			t.tell(history.Event{Kind: history.Note, Node: node, Text: text})
		},
	})
	if err != nil {
		return "", nil, err
	}
	return relay.Addr(), relay.Close, nil
}

func (t *taps) conn(node string) *wire.Conn {
	t.mu.Lock()
	t.used = true
	t.mu.Unlock()
	return t.lock.Conn(node, t.tell, t.recorder.NextOp)
}

// tell takes in what was read.
func (t *taps) tell(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.At = t.recorder.Now()
	t.events = append(t.events, e)
	t.infer(e)
}

// observe takes in what the candidates told.
func (t *taps) observe(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case history.Exit:
		t.infer(e)
	case history.Elected, history.Extended:
		t.believes = true
	case history.Invoke:
		t.operates = t.operates || e.Call.OnLease()
	}
}

// infer follows who must believe to lead. Faults that are meant for the leader
// have to know at once.
func (t *taps) infer(e history.Event) {
	if t.steered || t.believes {
		return
	}
	if belief, follows := t.beliefs.See(e); follows {
		t.inferred = append(t.inferred, belief)
		t.leaders.See(belief)
	}
}

// record adds to the history what was read and is not told by the candidates
// themselves. No tap is open any more.
func (t *taps) record() {
	if t == nil {
		return
	}
	t.mu.Lock()
	events, inferred := t.events, t.inferred
	operates, believes := t.operates, t.believes || t.steered
	t.mu.Unlock()
	note := func(text string) { t.recorder.Stamp(history.Event{Kind: history.Note, Text: text}) }
	switch {
	case operates:
		note("the candidates tell what they ask of the lease: what was read from the wire is left out")
	case !t.used && !t.steered:
		note("nothing was read from the wire: no candidate connected to RECOUNT_REDIS_URL")
	case t.used:
		told := t.lock.Understanding()
		t.recorder.Stamp(told)
		if told.Wire.Understood == 0 && !t.steered {
			t.advise(strings.ToUpper(told.Text[:1]) + told.Text[1:] + ". " + whatToDo(told.Wire.Lock))
		}
	}
	for _, e := range events {
		if !operates || e.Kind == history.Note {
			t.recorder.Record(e)
		}
	}
	if believes || len(inferred) == 0 {
		return
	}
	note("the candidates do not tell when they believe to lead: their beliefs are inferred from what they asked of the lock " + t.lock.Key())
	for _, e := range inferred {
		t.recorder.Record(e)
	}
}

// whatToDo says what helps a user whose lock was not understood.
func whatToDo(lock string) string {
	tell := "let the candidates print what they believe (elected, deposed) and ask (invoke, ok, fail), see docs/candidate-protocol.md"
	if lock == "" {
		return "Name the key with --lock-key, or " + tell
	}
	return "If another key is the lock, name it with --lock-key; or " + tell
}

// unread tells whether nothing can be learned from going on: the candidates share
// a key, nothing is understood of what they do to it, and they tell nothing
// themselves.
func (t *taps) unread() bool {
	if t == nil || t.steered {
		return false
	}
	t.mu.Lock()
	told := t.operates || t.believes
	t.mu.Unlock()
	return !told && t.lock.Puzzled() // the lock tells of what it reads while it is held: see tell
}

// lockKey is the key that the candidates use as the lease, empty if that is not
// known.
func (t *taps) lockKey() string {
	if t == nil {
		return ""
	}
	return t.lock.Key()
}

// reach is where the candidate reaches the store that the link leads to.
func (r *run) reach(node string, to way) (string, error) {
	if r.taps == nil {
		return to.Addr(), nil
	}
	addr, undo, err := r.taps.tap(node, to.Addr())
	if err == nil {
		r.close = append(r.close, undo)
	}
	return addr, err
}
