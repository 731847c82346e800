package live

import (
	"strings"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/wire"
)

// taps read off the wire what the candidates of a run do to the lease.
type taps struct {
	*wire.Reading
	lock    *wire.Lock
	steered bool // the candidates tell their beliefs
	named   bool // the user said which key is the lock
	advise  func(text string)
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
	options := wire.Options{Wall: time.Now, Scripts: r.session.scripts, Prefix: r.election, Lease: r.plan.Timings.Lease, Drift: r.plan.Drift,
		Written: func(_ int, key string) { r.world.leftovers.add(key) }}
	switch {
	case !command:
		options.Key = r.world.key("lease")
	case r.session.options.LockKey != "":
		options.Match = wire.Pattern(r.session.options.LockKey)
	}
	follow := func(belief history.Event) { r.leaders.See(belief) }
	if !command {
		follow = nil
	}
	lock := wire.NewLock(options)
	return &taps{
		Reading: wire.NewReading(lock, r.recorder, follow), lock: lock, steered: !command, named: r.session.options.LockKey != "",
		advise: func(text string) { r.session.options.Progress(Progress{Scenario: r.plan.Scenario, Advice: text}) },
	}
}

// tap puts a relay before the way to upstream and returns its address.
func (t *taps) tap(node, upstream string) (addr string, undo func() error, err error) {
	relay, err := wire.NewTap(wire.TapOptions{
		Upstream: upstream,
		Conn:     func() *wire.Conn { return t.Conn(node) },
		Note:     func(text string) { t.Note(node, text) },
	})
	if err != nil {
		return "", nil, err
	}
	return relay.Addr(), relay.Close, nil
}

// record adds to the history what was read. No tap is open any more.
func (t *taps) record() {
	if t == nil {
		return
	}
	note := t.Record("nothing was read from the wire: no candidate connected to RECOUNT_REDIS_URL")
	if note.Wire != nil && note.Wire.Understood == 0 && !t.steered {
		t.advise(strings.ToUpper(note.Text[:1]) + note.Text[1:] + ". " + whatToDo(note.Wire.Lock, t.named))
	}
}

// whatToDo says what helps a user whose lock was not understood, and perhaps was
// named.
func whatToDo(lock string, named bool) string {
	const tell = "let the candidates print what they believe (elected, deposed) and ask (invoke, ok, fail), see docs/candidate-protocol.md"
	switch {
	case lock == "" && named:
		return "Name another key with --lock-key, or " + tell
	case lock == "":
		return "Name the key with --lock-key, or " + tell
	case named:
		return strings.ToUpper(tell[:1]) + tell[1:]
	default:
		return "If another key is the lock, name it with --lock-key; or " + tell
	}
}

// unread reports whether nothing can be learned from going on: the candidates share
// a key, nothing is understood of what they do to it, and they tell nothing
// themselves.
func (t *taps) unread() bool {
	if t == nil || t.steered {
		return false
	}
	return !t.Reported() && t.lock.Puzzled()
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
