package checker

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// Rolling checks a history that is too long to be kept: event by event, in
// memory that does not grow with its length. It finds what Check finds.
//
// It collects a piece of the history, judges it as Check judges a whole one,
// and forgets it, but for the little that still matters: who leads, since when
// and with which token, the lease that the store keeps and when it was last
// written, the largest token, the last write, the last term of every node. The
// next piece begins with that.
//
// A piece ends only at a moment that is certainly calm: no fault is on, nor was
// within two leases and the bound of LeaderReturns; nothing is under way; in
// every election exactly one node believes that it leads, has done so to some
// effect, and certainly holds the lease under a token; every change has its
// entry in the store's own record. If there is no such moment for long, the
// piece grows, and so does the memory. There is never one
//
//   - while a fault is on, or an operation of a living process does not
//     complete;
//   - in an election whose elector names no tokens but records requests;
//   - after a request of unknown outcome where the store keeps no record of its
//     own: it may take effect at any later time;
//   - among the first 16,384 events, where requests are recorded and no such
//     record is seen: it may be read late.
//
// Cutting makes no false alarm. What it may miss rests on what is long past: of
// an election Rolling knows the last term of every node, 1024 terms besides, and
// the last 256 requests of unknown outcome, and of the history the ids of the
// last 1024 faults; what older ones would contradict it takes as said. A
// violation of one promise may make other numbers than those of Check, as
// between terms that share a token. Where Check is lenient with a whole history
// because leases may have vanished from the store once, Rolling is so with the
// piece in which they may.
//
// A Rolling must not be used by several goroutines at a time.
type Rolling struct {
	run     *run
	options Options
	found   findings

	least   int // events of a piece
	next    int // events of this piece at which to look for its end
	pieces  int
	longest int
	writes  WriteCounts
	faults  []FaultCount
	leader  time.Duration // without one, in the pieces that are judged
	excess  histogram
	total   histogram
}

// Summary is what Rolling found out about a history: a Result without the
// lists that grow with its length.
type Summary struct {
	// Verdict, Asked and Measured are those of a Result. Of several
	// violations of one promise the first one is reported, of FailoverBound
	// the worst.
	Verdict  Verdict
	Asked    []Finding
	Measured []Finding
	Lease    LeaseChecks

	Faults    []FaultCount // ordered by name
	Ops       OpCounts
	Writes    WriteCounts
	Terms     int
	Failovers FailoverSummary

	DualBelief   time.Duration // time in which more than one candidate believed, summed
	Leaderless   time.Duration // time in which nobody believed, from the first term to the end
	Availability float64       // share of that time in which exactly one or more believed
	End          time.Duration // time of the last event

	Events  int // how many there were
	Pieces  int // in how many pieces they were judged
	Longest int // events of the longest piece: what the memory was needed for
}

// FailoverSummary describes failovers that are not listed.
type FailoverSummary struct {
	Count  int
	Excess Quantiles // what no elector has to take; see Failover
	Total  Quantiles
}

// leastPiece is how many events a piece has at least. What a piece costs
// besides its events is small beside so many.
const leastPiece = 1024

// recordless is after how many pieces of the least size it is believed that the
// store keeps no record of its own, if none has been seen.
const recordless = 16

// NewRolling returns a Rolling for a history with the header. The options are
// those of Check; PorcupineCap bounds the search through one piece.
func NewRolling(h history.Header, o Options) *Rolling {
	r := &Rolling{run: newRun(&h), options: o}
	r.look(leastPiece)
	return r
}

// look sets how many events a piece has at least.
func (r *Rolling) look(least int) {
	r.least, r.next, r.run.shy = least, least, recordless*least
}

// Add takes in the next events. They must come in order, numbered from 1 on
// without a gap, as in a History. The slice may be used again after the call,
// but not what its elements point to.
func (r *Rolling) Add(events []history.Event) {
	for i := range events {
		if r.run.broken != nil {
			return // nothing more can be judged
		}
		if e := &events[i]; r.run.events >= r.next && r.run.quiet(e.At) {
			r.cut()
		}
		r.run.event(&events[i])
	}
}

// Result judges the history as if it ended here. More events may be added
// afterwards. The result of a history that is not well-formed is about the
// events up to the first that shows it.
func (r *Rolling) Result() *Summary {
	v, x := r.judge()
	w := r.run
	s := &Summary{
		Ops: w.counted, End: w.end, Writes: r.writes, Faults: countFaults(w, slices.Clone(r.faults)),
		Terms: x.tally.terms, DualBelief: x.tally.dual, Leaderless: r.leader + v.Leaderless,
		Events: x.tally.events, Pieces: r.pieces + 1, Longest: max(r.longest, w.events),
	}
	s.Writes.add(v.Writes)
	excess, total := r.excess, r.total
	for i := range v.Failovers {
		excess.add(v.Failovers[i].Excess)
		total.add(v.Failovers[i].Total)
	}
	s.Failovers = FailoverSummary{Count: excess.n, Excess: excess.quantiles(), Total: total.quantiles()}
	s.Availability = share(s.Leaderless, x.tally.led)
	s.Asked, s.Measured, s.Lease = x.sorted(w)
	s.Verdict = overall(s.Asked)
	return s
}

// judge judges the piece that is open. The findings include those of the
// pieces before.
func (r *Rolling) judge() (*Result, *findings) {
	w, v, x := r.run, &Result{}, r.found.clone()
	w.finish()
	if w.healed != nil && w.healed.at > w.since { // what was owed after an earlier healing is owed no more
		delete(x.bad, LeaderReturns)
		x.tally.wait = 0
	}
	x.add(WellFormed, checkWellFormed(w, &x.tally))
	if x.judgeable() {
		judge(w, r.options, v, x)
	}
	return v, x
}

// cut ends the piece, if the moment turns out to be calm.
func (r *Rolling) cut() {
	v, x := r.judge()
	w := r.run
	left, calm := w.settle()
	if !calm {
		r.next = w.events + w.events/2
		return
	}
	r.found = *x
	r.pieces, r.longest = r.pieces+1, max(r.longest, w.events)
	r.writes.add(v.Writes)
	r.faults = countFaults(w, r.faults)
	r.leader += v.Leaderless
	for i := range v.Failovers {
		r.excess.add(v.Failovers[i].Excess)
		r.total.add(v.Failovers[i].Total)
	}
	w.advance(left)
	r.next = max(r.least, 4*w.burden())
}

func (n *WriteCounts) add(m WriteCounts) {
	n.Accepted += m.Accepted
	n.Refused += m.Refused
	n.StaleAccepted += m.StaleAccepted
}

// clone is a copy to which findings may be added.
func (x *findings) clone() *findings {
	c := *x
	c.bad = make(map[Promise]*complaint, len(x.bad))
	for p, f := range x.bad { // any order: it is a copy
		copied := *f
		c.bad[p] = &copied
	}
	return &c
}
