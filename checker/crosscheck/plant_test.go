package crosscheck

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// plant adds to the history of a right store one answer that is certainly
// wrong, whatever became of the operations of unknown outcome: it is about a
// lease that was certainly held, because its holder had the answer, its time to
// live had not passed, and nobody had asked to release it. It tells what it
// planted; "" if there was no occasion.
func plant(h *history.History, r *rand.Rand) (planted string) {
	held := certainlyHeld(h)
	if len(held) == 0 {
		return ""
	}
	x := held[r.IntN(len(held))]
	x.from += time.Duration(r.Int64N(int64(x.to - x.from)))
	p := planting{h: h, held: x, at: x.from, until: min(x.to, x.from+time.Duration(r.Int64N(int64(ms))))}
	p.other = "n1"
	if x.node == p.other {
		p.other = "n2"
	}
	for i := range h.Events {
		p.token = max(p.token, h.Events[i].Token)
		p.op = max(p.op, h.Events[i].Op)
		p.try = max(p.try, h.Events[i].Try)
	}
	s := seeds[r.IntN(len(seeds))]
	s.sow(&p)
	return s.name
}

// holding is a time in which a lease certainly was held.
type holding struct {
	election, node, nonce string
	token                 uint64
	ttl                   time.Duration
	from, to              time.Duration
}

type planting struct {
	h         *history.History
	held      holding
	at, until time.Duration
	other     string // a node that does not hold the lease
	token     uint64 // the largest one
	op        int64
	try       uint64
}

// seeds are answers that contradict a lease that is held.
var seeds = []struct {
	name string
	sow  func(p *planting)
}{
	{"somebody else is granted it", func(p *planting) {
		p.add(history.Acquire, p.other, history.Event{Nonce: "planted", TTL: p.held.ttl}, history.Event{Kind: history.Ok, Token: p.token + 1})
	}},
	{"nobody is said to lead", func(p *planting) {
		p.add(history.Observe, p.other, history.Event{}, history.Event{Kind: history.Ok})
	}},
	{"somebody else is said to lead", func(p *planting) {
		p.add(history.Observe, p.other, history.Event{}, history.Event{Kind: history.Ok, Holder: p.other, Token: p.token + 1})
	}},
	{"its holder may not renew it", func(p *planting) {
		p.add(history.Renew, p.held.node, history.Event{Nonce: p.held.nonce, Token: p.held.token, TTL: p.held.ttl}, history.Event{Kind: history.Fail})
	}},
	{"somebody else renews it", func(p *planting) {
		p.add(history.Renew, p.other, history.Event{Nonce: "planted", Token: p.held.token, TTL: p.held.ttl}, history.Event{Kind: history.Ok})
	}},
	{"somebody else releases it", func(p *planting) {
		p.add(history.Release, p.other, history.Event{Nonce: "planted", Token: p.held.token}, history.Event{Kind: history.Ok})
	}},
	{"somebody is refused in favour of another", func(p *planting) {
		p.add(history.Acquire, p.other, history.Event{Nonce: "planted", TTL: p.held.ttl}, history.Event{Kind: history.Fail, Holder: "n9", Token: p.token + 1})
	}},
}

// add puts an operation into the history, with an entry in the store's own
// record if it keeps one.
func (p *planting) add(call history.Call, node string, in, out history.Event) {
	in.Kind, in.At, in.Try = history.Invoke, p.at, p.try+1
	out.At = p.until
	for _, e := range []*history.Event{&in, &out} {
		e.Op, e.Call, e.Node, e.Election = p.op+1, call, node, p.held.election
	}
	events := append(slices.Clone(p.h.Events), in, out)
	if recorded(p.h) && call != history.Observe {
		token := max(in.Token, out.Token)
		events = append(events, history.Event{
			Kind: history.Audit, At: p.until, Node: node, Election: p.held.election, Call: call, Nonce: in.Nonce, Try: in.Try, Token: token,
			Applied: history.Bool(out.Kind == history.Ok),
		})
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return int(a.At - b.At) })
	for i := range events {
		events[i].Seq = int64(i) + 1
	}
	p.h.Events = events
}

// certainlyHeld are the times in which a lease was certainly held. It wants
// tokens, nonces, and no fault.
func certainlyHeld(h *history.History) []holding {
	all, _ := elections(h, false)
	var names []string // in the order of elections
	for i := range h.Events {
		if e := &h.Events[i]; e.Op != 0 && !slices.Contains(names, e.Election) {
			names = append(names, e.Election)
		}
	}
	tolerated := int64(2*ms) + 2*int64(h.Header.ClockError) + int64(h.Header.Lease)/10_000
	var out []holding
	for g, items := range all {
		for i := range items {
			w := &items[i]
			token := max(w.token, w.got)
			if w.kind != history.Ok || w.call != history.Acquire && w.call != history.Renew || token == 0 || w.nonce == "" {
				continue
			}
			from, to := w.hi+int64(h.Header.ClockError)+1, w.lo+w.ttl-tolerated-int64(h.Header.ClockError)-int64(ms)/10
			for j := range items {
				if x := &items[j]; x.call == history.Release && x.node == w.node && (x.token == token || x.token == 0) {
					to = min(to, x.lo-int64(h.Header.ClockError)-1)
				}
				if x := &items[j]; (x.call == history.Acquire || x.call == history.Renew) && x.ttl < w.ttl {
					to = from // a shorter lease
				}
			}
			if to-from > int64(ms) {
				out = append(out, holding{names[g], w.node, w.nonce, token, time.Duration(w.ttl), time.Duration(from), time.Duration(to)})
			}
		}
	}
	return out
}
