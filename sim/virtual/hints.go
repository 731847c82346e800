package virtual

import (
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
)

// subscription is a candidate's connection for hints: who releases the lease
// and who is granted it. Hints may be lost; nothing depends on them.
type subscription struct {
	node    *node
	store   *serverStore
	life    uint64        // of the process that it belongs to
	stands  *server       // counts it; nil for none
	uses    uint64        // connections so far: what is planned for an older one is stale
	pause   time.Duration // before the next try
	pausing bool          // there is no connection until then
	began   time.Duration
	arrives time.Duration // of the last hint: they keep their order
	lit     string        // the beacon, while it stands
	hints   []hint        // on their way, and those that have arrived
	taken   int           // how many of them have arrived
}

type hint struct {
	input machine.Input
	uses  uint64
}

// The stations of a subscription.
const (
	subscribing = iota // the request has reached the store
	hinted             // the next hint has reached the candidate
	resubscribe        // it is time to try again
	subscriptionStations
)

// subscribe opens the connection.
func (s *subscription) subscribe() {
	r, l := s.node.run, s.node.link
	s.uses++
	s.pausing = false
	s.began = r.now
	if !l.open() || s.store.down {
		s.retry()
		return
	}
	if l.passes(up) && l.passes(down) {
		// The greeting and its answer, and then the request.
		at := r.now + l.travel(up) + l.travel(down) + l.travel(up)
		r.plan(at, s, s.uses*subscriptionStations+subscribing)
		return
	}
	s.retry()
}

// retry plans another try, after a pause that grows as long as it fails at
// once.
func (s *subscription) retry() {
	t := s.node.run.spec.Timings
	if s.node.run.now-s.began > t.Lease || s.pause == 0 {
		s.pause = t.Retry
	}
	s.pausing = true
	s.node.run.plan(s.node.run.now+s.pause, s, s.uses*subscriptionStations+resubscribe)
	s.pause = min(2*s.pause, t.Lease)
}

// act implements actor.
func (s *subscription) act(arg uint64) {
	n := s.node
	if arg%subscriptionStations == hinted {
		s.deliver(arg)
		return
	}
	if arg/subscriptionStations != s.uses || n.subscriptions[s.store.index] != s {
		return
	}
	store := s.store
	switch arg % subscriptionStations {
	case subscribing:
		if store.down || store.paused || !n.link.passes(up) || !n.link.open() {
			s.retry()
			return
		}
		s.stands = store.of(n)
		s.stands.watchers = append(s.stands.watchers, s)
		s.stands.model.Subscribe(store.channel)
		s.stands.model.Subscribe(s.beacon())
		s.tell(machine.Input{Kind: machine.HintListens})
	case resubscribe:
		if !n.defers(s, arg) {
			s.subscribe()
		}
	}
}

// deliver hands the next hint to the candidate.
func (s *subscription) deliver(arg uint64) {
	current := s.node.subscriptions[s.store.index] == s
	if current && s.node.defers(s, arg) {
		return
	}
	h := s.hints[s.taken]
	s.taken++
	if s.taken == len(s.hints) {
		s.hints, s.taken = s.hints[:0], 0
	}
	if current && h.uses == s.uses {
		s.node.heard(s.store.index, h.input)
	}
}

// beacon makes a channel of the connection's own: the number of its listeners shows
// whether the connection lives.
func (s *subscription) beacon() string {
	s.lit = "recount:here:" + s.node.name + ":" + strconv.FormatUint(s.uses, 10)
	return s.lit
}

// bids is the beacon of an attempt that stands if it is refused; empty if nobody would
// hear that it was granted after all.
func (s *subscription) bids() string {
	if s.stands == nil {
		return ""
	}
	return s.lit
}

// close ends the connection, as seen from both sides.
func (s *subscription) close() {
	s.forget()
	s.uses++
	if s.node.majority != nil {
		s.node.majority.announced.Forget(s.store.index)
	}
}

// breaks ends the connection, if there is one; the candidate will open another.
func (s *subscription) breaks() {
	if s.pausing {
		return
	}
	s.close()
	s.retry()
}

// forget makes the server forget the connection.
func (s *subscription) forget() {
	if s.stands == nil {
		return
	}
	s.stands.model.Unsubscribe(s.store.channel)
	s.stands.model.Unsubscribe(s.lit)
	s.stands.watchers = slices.DeleteFunc(s.stands.watchers, func(w *subscription) bool { return w == s })
	s.stands = nil
}

// published sends a hint to everybody who listens at the server.
func (s *serverStore) published(at *server, message string) {
	if len(at.watchers) > 0 {
		s.run.effects.announced(s, message)
	}
	in, ok := parseHint(message)
	if !ok {
		return
	}
	if in.Nonce != "" {
		s.passed = history.Event{Kind: history.Audit, Call: history.Acquire, Nonce: in.Nonce, Try: in.Request, Token: in.Token, Applied: &yes}
	}
	for _, sub := range at.watchers {
		sub.tell(in)
	}
}

// tell sends a hint to who listens there, if the way is open.
func (s *subscription) tell(in machine.Input) {
	r, link := s.node.run, s.node.link
	if !link.passes(down) {
		return
	}
	s.arrives = max(s.arrives, r.now+link.travel(down))
	s.hints = append(s.hints, hint{in, s.uses})
	r.plan(s.arrives, s, hinted)
}

// parseHint reads what the scripts publish.
func parseHint(text string) (machine.Input, bool) {
	a, ours := scripts.ParseAnnouncement(text)
	in := machine.Input{Kind: machine.HintReleased, Token: a.Token, Remaining: a.Remaining, Holder: a.To, Request: a.Request, Nonce: a.Nonce}
	if a.Kind == scripts.Granted {
		in.Kind = machine.HintGranted
	}
	return in, ours && a.Kind != scripts.Published
}
