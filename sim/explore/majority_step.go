package explore

import (
	"slices"

	"github.com/recount-io/recount/internal/quorum"
)

// try asks for the lease: with the nonce of the attempt whose outcome is open, if
// there is one.
func (w *majority) try(n *member) {
	if n.nonce == "" {
		w.begun++
		n.nonce = nonceName(w.begun)
	}
	w.begin(n, quorum.BeginAcquire)
}

// giveBack ends a belief, and gives the lease back.
func (w *majority) giveBack(n *member) {
	n.until = w.now
	w.begin(n, quorum.BeginRelease)
}

// begin makes a call.
func (w *majority) begin(n *member, kind quorum.InputKind) {
	n.busy = true
	n.calls++
	n.errands = append(n.errands, errand{n.calls, kind, n.token, w.now})
	w.step(n, quorum.Input{Kind: kind, Call: n.calls, ID: n.id, Nonce: n.nonce, Token: n.token, TTL: w.lease(), Patience: patience})
}

// step gives one input to a member's machine, and does what it asks for.
func (w *majority) step(n *member, in quorum.Input) {
	out := n.m.Step(w.now, in)
	for i := range out.Requests {
		w.request(n, &out.Requests[i])
	}
	if out.Wake <= w.now {
		w.fail("a machine wants to be woken in the past")
	}
	for _, end := range slices.Clone(out.Endings) { // a caller that gets its ending may call at once
		w.ended(n, &end)
	}
}

func (w *majority) request(n *member, r *quorum.Request) {
	p := parcel{ask: r.Ask, store: uint8(r.Node), number: r.Number, nonce: r.Nonce, token: r.Token, floor: r.Floor}
	if r.Ask == quorum.AskBack {
		w.observations |= SawGivenBack
	}
	n.parcels = append(n.parcels, p)
	w.say("%s asks store %d for %s", n.id, r.Node+1, askNames[r.Ask])
}

// ended takes in the outcome of a call.
func (w *majority) ended(n *member, end *quorum.Ending) {
	i := slices.IndexFunc(n.errands, func(e errand) bool { return e.number == end.Call })
	e := n.errands[i]
	n.errands = slices.Delete(n.errands, i, i+1)
	w.say("%s is told: %s", n.id, outcomeNames[end.Outcome])
	switch e.kind {
	case quorum.BeginAcquire:
		w.acquired(n, e, end)
	case quorum.BeginRenew:
		w.renewed(n, e, end.Outcome)
	default:
		w.released(n, e, end.Outcome)
	}
}

func (w *majority) acquired(n *member, e errand, end *quorum.Ending) {
	switch end.Outcome {
	case quorum.Done:
	case quorum.Denied:
		n.nonce = ""
		w.observations |= SawRefused
		return
	default:
		return // the attempt may be repeated
	}
	n.token, n.until = end.Token, e.began+w.usable()
	if n.until <= w.now {
		w.observations |= SawTooLate
		w.giveBack(n)
		return
	}
	if n.token <= w.top {
		w.fail("token %d was elected after token %d", n.token, w.top)
	}
	w.top = max(w.top, n.token)
	w.observations |= SawElected
	w.elected(w.place(n))
	w.say("%s is elected with token %d and believes until t=%d", n.id, n.token, tickOf(n.until))
}

// renewed takes in the outcome of a renewal. One of a term that is being given back
// is nobody's business any more.
func (w *majority) renewed(n *member, e errand, outcome quorum.Outcome) {
	switch {
	case n.token != e.token || n.has(quorum.BeginRelease):
	case outcome == quorum.Done && w.top > e.token:
		w.fail("the term of token %d was renewed after one of token %d had begun", e.token, w.top)
	case outcome == quorum.Done:
		n.until = max(n.until, e.began+w.usable())
		w.observations |= SawRenewed
	case outcome == quorum.Denied:
		if w.backed(n, false) >= quorum.Size(len(w.stores)) {
			w.fail("a renewal was refused though a majority of the stores holds the lease")
		}
		n.token, n.nonce = 0, ""
		w.observations |= SawSuperseded
		w.lost(w.place(n))
	}
}

func (w *majority) released(n *member, e errand, outcome quorum.Outcome) {
	if n.token == e.token {
		n.token, n.nonce = 0, ""
	}
	if outcome == quorum.Done {
		w.observations |= SawReleased
	}
}
