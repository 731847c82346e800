package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// resignCause is the Failover.Cause of a leader that gave up on purpose.
const resignCause = "resign"

// checkFailoverBound decides whether every failover's excess (what is left
// after the part that no elector may skip) is within the bound: that of the
// header, or the derived one. A failover during which the machine stalled is
// not judged: nobody knows how long it would have taken.
func checkFailoverBound(r *run, all []Failover, t *tally) *Finding {
	bound := r.failoverBound()
	for i := range all {
		f := &all[i]
		t.failovers++
		if f.Excess > bound && r.stalled(f.At, f.At+f.Total) {
			continue
		}
		t.bounded++
		if t.worst == nil || f.Excess > t.worst.Excess {
			t.worst = f
		}
	}
	if t.worst == nil || t.worst.Excess <= bound {
		return nil
	}
	f := fail(FailoverBound, fmt.Sprintf("the failover from %s to %s at %s (%s) took %s longer than it had to; the bound is %s",
		t.worst.From, t.worst.To, moment(t.worst.At), t.worst.Cause, span(t.worst.Excess), span(bound)), t.worst.Evidence...)
	return &f
}

// stalled tells whether the machine held up the run at some time in the window.
func (r *run) stalled(from, to time.Duration) bool {
	return slices.ContainsFunc(r.stalls(), func(f *fault) bool { return f.from <= to && from <= f.to })
}

// failovers lists the ways from one leader to the next one. A failover runs
// from the moment in which the old leader could no longer act (its crash, its
// cut, its resignation) to the first accepted write of a later term, or, in a
// history without writes, to that term's election.
//
//	At        the earliest of: a fault on the leader after which none of its
//	          renewals succeeded, its graceful end, the end of its process. If there is none of them the term
//	          ended on its own account: At is the end of the belief and Cause
//	          what hit the store then, or else the reason it gave.
//	Wait      until the lease can be over at the earliest: TTL after the call of
//	          the last acquire or renew that took effect, less what faults
//	          shortened, and no longer than to a release; and on while every
//	          other candidate or the store itself was cut off. 0 after a
//	          resignation.
//	Detect    until the request is sent that is granted.
//	Acquire   until its reply.
//	Announce  until the first accepted write of the new term.
//
// A request may be sent before the lease is over and answered after it: then
// Detect is 0 and Acquire counts from the end of Wait. A fault that heals
// before the lease ends gives no failover, and a leader that comes back as its
// own successor, after its lease was lost, does.
func failovers(r *run) []Failover {
	var out []Failover
	for _, e := range r.elections {
		writes := len(e.writes) > 0
		i := e.past.leader(e.beliefs)
		for j := i + 1; j < len(e.beliefs); j++ {
			first, at := e.serves(e.beliefs[j], writes)
			if first == 0 {
				continue // it never acted: its successor ends the failover
			}
			if f, ok := r.failover(e, e.beliefs[i], e.beliefs[j], first, at); ok {
				out = append(out, f)
			}
			i = j
		}
	}
	return out
}

// serves finds the event with which a term begins to act: its first accepted
// write, or its election if the history has no writes.
func (e *election) serves(b *belief, writes bool) (seq int64, at time.Duration) {
	if !writes {
		return b.term.Begin, b.term.From
	}
	var first *op
	e.writesByTerm().of(&b.term, func(o *op) {
		if o.token == 0 && (o.from < b.term.From || o.from > b.term.To) {
			return
		}
		if first == nil || o.to < first.to {
			first = o
		}
	})
	if first == nil {
		return 0, 0
	}
	return first.completed, first.to
}

// failover measures one failover. It is none if the old leader still led when
// the new one began and nothing had happened to it.
func (r *run) failover(e *election, old, next *belief, servedSeq int64, served time.Duration) (Failover, bool) {
	grant := e.grantOf(next)
	begin := next.term.From
	if grant != nil {
		begin = min(begin, grant.to)
	}
	c, ok := r.causeOf(e, old, begin)
	if !ok {
		return Failover{}, false
	}
	sent, replied := begin, begin
	evidence := []int64{c.seq, servedSeq}
	if grant != nil {
		sent, replied = grant.from, grant.to
		evidence = append(evidence, grant.completed)
	}
	over := c.at
	if c.name != resignCause {
		over = max(over, r.leaseEnd(e, old, c.at))
		over = r.unblocked(old.term.Node, over, sent)
	}
	over = min(over, max(replied, c.at))
	sent = max(sent, over)
	replied = max(replied, sent)
	served = max(served, replied)
	return Failover{
		Election: e.name, Cause: c.name, From: old.term.Node, To: next.term.Node, At: c.at,
		Wait: over - c.at, Detect: sent - over, Acquire: replied - sent, Announce: served - replied,
		Total: served - c.at, Excess: served - over, Evidence: sorted(evidence),
	}, true
}

// cause is why a leader could no longer act, and since when.
type cause struct {
	name string
	at   time.Duration
	seq  int64
}

// causeOf finds why a term ended before its successor got the lease.
func (r *run) causeOf(e *election, old *belief, begin time.Duration) (cause, bool) {
	t := &old.term
	found := []cause{}
	if t.graceful() && t.To <= begin {
		found = append(found, cause{resignCause, t.To, t.End})
	}
	renewed := r.lastRenewal(e, old)
	for _, f := range r.faults {
		if !f.hits(t.Node) || f.name == resignCause {
			continue // a resignation begins when the leader has ended its work
		}
		at := f.on
		if renewed >= at { // it takes effect later than it is put on
			at = f.since
		}
		if renewed < at && at >= t.From && at <= min(t.To, begin) {
			found = append(found, cause{f.name, at, f.onSeq})
		}
	}
	if t.Why == exitWhy && t.To <= begin { // after the faults: one of them may be why, in the same moment
		found = append(found, cause{exitWhy, t.To, t.End})
	}
	if len(found) == 0 {
		if t.To > begin || t.leads() {
			return cause{}, false
		}
		c := cause{t.Why, t.To, t.End}
		for _, f := range r.faults {
			if f.hits(history.StoreTarget) && f.on <= t.To && t.To <= f.off+r.returnBound() && renewed < f.off {
				c.name, c.seq = f.name, f.onSeq
			}
		}
		return c, true
	}
	return slices.MinFunc(found, func(a, b cause) int { return cmp.Compare(a.at, b.at) }), true
}

// lastRenewal is the call of the last renewal of the term that succeeded, or,
// where only its beliefs were recorded, its last extension.
func (r *run) lastRenewal(e *election, b *belief) time.Duration {
	last := -forever
	e.changes(&b.term, func(o *op) {
		if o.call == history.Renew && o.kind == history.Ok && (o.token != 0 || o.to <= b.term.To) {
			last = max(last, o.from)
		}
	})
	if len(e.ops) == 0 {
		last = b.extended
	}
	return last
}

// grantOf is the acquire that gave the term its lease; nil if none was
// recorded.
func (e *election) grantOf(b *belief) *op {
	var named, grant *op
	e.terms().of(&b.term, func(o *op) {
		switch {
		case o.call != history.Acquire || o.kind != history.Ok || named != nil:
		case b.term.Token != 0 && o.got != 0:
			named = o
		case o.to <= b.term.From+lateReport && (grant == nil || o.to > grant.to):
			grant = o
		}
	})
	return cmp.Or(named, grant)
}

// lateReport is how late an elector without tokens may report what it was granted.
const lateReport = 100 * time.Millisecond

// possibleRenewal is when the term's last renewal of unknown outcome was sent,
// where no audit tells whether it took effect: nobody may be blamed for waiting
// for the end of a lease that may have gone on.
func (e *election) possibleRenewal(t *Term) time.Duration {
	last := -forever
	if e.audited() {
		return last
	}
	for _, o := range e.ops {
		if o.call == history.Renew && o.kind == history.Info && o.node == t.Node && o.token == t.Token && o.from <= t.To {
			last = max(last, o.from)
		}
	}
	return last
}

// leaseEnd is when the lease of the term can be over at the earliest, as far as
// the history tells. Of a leader that told neither its requests nor until when
// it believes, nobody knows when it renewed the lease: it may have done so just
// before it could no longer act.
func (r *run) leaseEnd(e *election, b *belief, acted time.Duration) time.Duration {
	written, ttl := -forever, r.header.Lease
	released := forever
	e.changes(&b.term, func(o *op) {
		if o.token == 0 && o.got == 0 && o.from > b.term.To {
			return
		}
		switch o.call {
		case history.Acquire, history.Renew:
			if at := max(o.from, o.after); at+o.ttl > written+ttl {
				written, ttl = at, o.ttl
			}
		case history.Release:
			released = min(released, o.from)
		}
	})
	if written == -forever { // only the beliefs are known
		written = max(b.term.From, b.extended)
		if b.endless && b.extended == -forever {
			written = max(written, acted)
		}
	}
	if at := e.possibleRenewal(&b.term); at > written {
		written = at
	}
	end := written + ttl
	for _, f := range r.faults {
		if f.to < written || f.from >= end {
			continue
		}
		if f.void {
			end = f.from
		} else if f.shorten != 0 {
			end = max(f.from, end-f.shorten)
		}
	}
	return min(end, released)
}

// unblocked is the first time from t on at which somebody else than the old
// leader could reach the store, but not after the request that was granted was
// sent.
func (r *run) unblocked(old string, t, sent time.Duration) time.Duration {
	for range r.faults {
		blocked := t
		open := false
		for _, node := range r.header.Nodes {
			if node == old {
				continue
			}
			until := t
			for _, f := range r.faults {
				if (f.hits(node) || f.hits(history.StoreTarget)) && f.shorten == 0 && f.on <= t && t < f.off && f.off != forever {
					until = max(until, f.off)
				}
			}
			if until == t {
				open = true
				break
			}
			if blocked == t || until < blocked {
				blocked = until
			}
		}
		if open || blocked == t || blocked > sent {
			return t
		}
		t = blocked
	}
	return t
}
