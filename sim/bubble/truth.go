package bubble

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
)

// A candidate that is told that it has the lease relies on so many servers that hold
// it: of independent ones on a majority, and on one with Options.Replicas besides. One
// that is told that it has it no more relies on the server that said so. Whether it
// was told the truth can be seen in that moment, long before two lead because of it.

// Truth is what somebody may be told that is not so.
type Truth string

// What candidates and those who look on are told.
const (
	OfLease      Truth = "ToldTruly"         // that a candidate has the lease, or has it no more
	OfSilence    Truth = "false alarm"       // that the store is silent
	OfLeader     Truth = "observes"          // who leads
	OfTerms      Truth = "past terms"        // which terms there were
	OfCandidates Truth = "candidates listed" // who competes
)

// milliseconds are what servers round times to, and timers are late by.
const milliseconds = 3 * time.Millisecond

// checkAnswer looks at what a candidate was told of the operation that it asked for.
func (p *process) checkAnswer(asked, e history.Event) {
	r := p.node.run
	since := asked.At
	if asked.Since != nil { // it was refused then, and granted at some time since
		since = *asked.Since
	}
	takenBack := asked.Since != nil && p.needs > 0 // it asked for the lease itself, and gives it back unconfirmed
	if r.untrue == nil || asked.Op == 0 || takenBack || r.touched.Load() >= int64(since) {
		return // a change of the servers meanwhile changes what they hold
	}
	now := r.recorder.Now()
	switch {
	case e.Kind == history.Ok && (e.Call == history.Acquire || e.Call == history.Renew):
		left := asked.TTL - (now - since) - milliseconds
		if left <= 0 {
			return // it may be over by now
		}
		if have, need := p.holders(asked.Nonce, e, left), p.relied(); have < need {
			r.untrue(OfLease, fmt.Sprintf("%s was told %s of token %d, which %d servers have to hold: %d do", e.Node, e.Call, e.Token, need, have))
		}
	case e.Kind == history.Fail && e.Call == history.Renew && len(r.stores) == 1:
		lacks := func(server network.Target) bool { // an open connection may lead to another server than new ones
			return !p.holds(r.store, server.(Server), asked.Nonce, e, milliseconds) //nolint:forcetypeassert // all ways lead to servers
		}
		if !slices.ContainsFunc(r.store.wayOf(p.node).Targets(), lacks) {
			r.untrue(OfLease, fmt.Sprintf("%s was told that it does not have token %d, which the server holds for it", e.Node, e.Token))
		}
	}
}

// alarmed looks at the alarm that no request has succeeded for a lease: where the last one
// was carried out, and too few servers confirmed it, the store is not silent.
func (p *process) alarmed(ev elector.Event) {
	p.mu.Lock()
	lacked := p.lacked && !p.dead
	p.mu.Unlock()
	if r := p.node.run; r.untrue != nil && lacked && ev.Err == nil {
		r.untrue(OfSilence, p.node.name+" was told that the store is silent, which answered, and lacked confirmations")
	}
}

// relied is how many servers have to hold a lease that the candidate believes in.
func (p *process) relied() int {
	if n := len(p.node.run.stores); n > 1 {
		return n/2 + 1
	}
	return 1 + p.needs
}

// holders are the servers that hold the candidate's lease for so long. One that
// cannot be asked may.
func (p *process) holders(nonce string, e history.Event, left time.Duration) (n int) {
	for _, s := range p.node.run.stores {
		for _, m := range s.members {
			if !m.Answers() || p.holds(s, m, nonce, e, left) {
				n++
			}
		}
	}
	return n
}

// holds reports whether a server holds the candidate's lease: of the same grant, with the
// token or, where servers know nothing of each other, a larger one.
func (p *process) holds(s *store, m Server, nonce string, e history.Event, left time.Duration) (holds bool) {
	m.With(func(do Do) {
		parts := strings.SplitN(do("GET", s.keys.lease).Text, " ", 4)
		if len(parts) < 4 || parts[2] != nonce || sim.NodeOf(parts[3]) != e.Node {
			return
		}
		token, err := strconv.ParseUint(parts[1], 10, 64)
		holds = err == nil && token >= e.Token && (token == e.Token || !s.alone) &&
			time.Duration(do("PTTL", s.keys.lease).Int)*time.Millisecond >= left
	})
	return holds
}
