package explore

import (
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// store is the model of a store: what the scripts of elector/redisstore do with
// one lease, but for the bookkeeping for those who look, and for keys that others
// change.
type store struct {
	holder, nonce string
	until         time.Duration // the lease's end; no later than now if it is free
	token         uint64        // the last one handed out
	to            string        // who alone may get the lease
	reserved      time.Duration // until then
	withheld      time.Duration // until when nobody gets the lease, which a lease may not have outlasted that was forgotten

	bid    bid
	saved  backup
	behind bool   // it may have forgotten what happened last, and has not asked itself yet
	seed   bool   // the count of tokens may be an old one
	handed uint64 // the last token that was ever handed out, where the store may go back
}

// backup is what a store may go back to.
type backup struct {
	kept          bool
	holder, nonce string
	until         time.Duration
	token         uint64
	bid           bid
}

func (b *backup) is(now time.Duration, nonce string, token uint64) bool {
	return b.until > now && b.nonce == nonce && b.token == token
}

func (s *store) save() { s.saved = backup{true, s.holder, s.nonce, s.until, s.token, s.bid} }

// rewind makes the store what it was when it was saved. It notices when it is asked
// for something: see doubt.
func (s *store) rewind() {
	b := s.saved
	*s = store{holder: b.holder, nonce: b.nonce, until: b.until, token: b.token, bid: b.bid, behind: true, handed: s.handed}
}

// doubt withholds the lease for as long as one may last that the store has
// forgotten, from the first time on that it is asked after it went back. It counts
// tokens on by its clock, which is ahead of them all.
func (w *world) doubt() {
	if s := &w.store; s.behind {
		s.behind, s.withheld, s.seed = false, w.now+w.lease()-rounding, true
	}
}

// rounding is how much shorter than asked for a lease may be: the store counts
// whole milliseconds of its own clock. It is taken off each time, which is the
// worst case: a real store takes off less than that.
const rounding = machine.Tick

func (s *store) held(now time.Duration) bool { return s.until > now }

func (s *store) is(now time.Duration, nonce string, token uint64) bool {
	return s.held(now) && s.nonce == nonce && s.token == token
}

// execute lets a request take effect, and makes it its own answer.
func (w *world) execute(r *message) {
	switch r.call {
	case machine.Acquire:
		w.acquire(r)
	case machine.Renew:
		r.result = machine.NotHeld
		if w.store.is(w.now, r.nonce, r.token) {
			r.result = machine.Done
			w.store.until = w.now + w.lease() - rounding
			if w.plant.sure {
				w.store.behind = false
			}
			w.doubt()
		}
	case machine.Release:
		w.release(r)
	case machine.Withdraw:
		w.withdraw(r)
	}
	r.stage = coming
}

func (w *world) lease() time.Duration { return ticks(w.set.Lease) }

func (w *world) acquire(r *message) {
	s := &w.store
	if s.held(w.now) && s.nonce != r.nonce {
		r.result, r.token, r.remaining = machine.Held, s.token, s.until-w.now
		w.stand(r)
		return
	}
	w.doubt()
	switch {
	case s.withheld > w.now:
		r.result, r.token, r.remaining = machine.Held, 0, s.withheld-w.now
	case s.held(w.now):
		s.until = w.now + w.lease() - rounding
		r.result, r.token = machine.Done, s.token
	case s.reserved > w.now && s.to != r.owner:
		r.result, r.token, r.remaining = machine.Held, 0, s.reserved-w.now
	default:
		if s.reserved > w.now {
			w.observations |= SawHandedOver
		}
		if s.seed {
			s.token, s.seed = s.handed, false
		}
		w.grant(r.owner, r.nonce, r.floor)
		r.result, r.token = machine.Done, s.token
		w.announce(hint{kind: machine.HintGranted, token: s.token, remaining: w.lease()})
	}
}

// grant counts the token and gives the lease to somebody.
func (w *world) grant(owner, nonce string, floor uint64) {
	s := &w.store
	s.token = max(s.token, floor) + 1
	s.handed = max(s.handed, s.token)
	s.holder, s.nonce, s.until = owner, nonce, w.now+w.lease()-rounding
	s.to, s.reserved = "", 0
}

func (w *world) release(r *message) {
	s := &w.store
	if !s.is(w.now, r.nonce, r.token) {
		r.result = machine.NotHeld
		return
	}
	r.result = machine.Done
	if w.pass(r) {
		return
	}
	s.until = w.now
	h := hint{kind: machine.HintReleased, token: r.token}
	if r.to != "" {
		s.to, s.reserved = r.to, w.now+w.reserve()
		h.to, h.remaining = r.to, w.reserve()
	}
	w.announce(h)
}

// restart makes the store lose its data. It notices: it withholds the lease for as
// long as one may last that it has forgotten, and counts tokens on by its clock,
// which is ahead of them all.
func (w *world) restart() {
	w.store = store{token: w.store.token, withheld: w.now + w.lease() - rounding}
}

// reserve is for how long a machine asks to keep a lease for its successor.
func (w *world) reserve() time.Duration { return ticks(2*w.set.Timeout + w.set.Retry) }

// announce sends a hint to everybody who listens.
func (w *world) announce(h hint) {
	for i := range w.nodes {
		if n := &w.nodes[i]; n.up {
			n.hint(h, w.set.Hints)
		}
	}
}

// hint sends a hint, unless as many are under way already as may be: of a lease that
// is passed on the candidate hears on a channel of its own.
func (n *node) hint(h hint, most int) {
	for i := range n.hints {
		if (n.hints[i].kind == machine.HintPassed) == (h.kind == machine.HintPassed) {
			most--
		}
	}
	if most > 0 {
		n.hints = append(n.hints, h)
	}
}
