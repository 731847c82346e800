package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// resignCause is the Failover.Cause of a leader that gave up on purpose.
const resignCause = "resign"

// transferCause is the fault that has a leader give up in favour of somebody.
const transferCause = "transfer"

// failoverBound decides whether every failover's excess (what is left
// after the part that no elector may skip) is within the bound: that of the
// header, or the derived one. A failover during which the machine, or the store, was
// not up to the run may take longer, by what that costs at the most: see
// [index.Index.DisturbedFor].
func failoverBound(x *facts) Finding {
	bound := x.FailoverBound()
	judged := 0
	var worst *Failover
	for i := range x.failovers {
		f := &x.failovers[i]
		if f.Excess > bound && f.Excess <= bound+x.DisturbedFor(f.At, f.At+f.Total) {
			continue
		}
		judged++
		if worst == nil || f.Excess > worst.Excess {
			worst = f
		}
	}
	switch {
	case len(x.failovers) == 0:
		return finding.Nothing("no failover happened")
	case judged == 0:
		return finding.Undecided("the machine stalled, or the store was overloaded, during every failover; run it again on a calmer one")
	case worst.Excess > bound:
		return finding.Failed(fmt.Sprintf("the failover from %s to %s at %s (%s) took %s longer than it had to; the bound is %s",
			worst.From, worst.To, finding.Moment(worst.At), worst.Cause, finding.Span(worst.Excess), finding.Span(bound)), worst.Evidence...)
	}
	return finding.Passed(fmt.Sprintf("%s took at most %s longer than needed (bound %s)",
		finding.Count(judged, "failover"), finding.Span(worst.Excess), finding.Span(bound)))
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
//	          other candidate was cut off or not there, or the store itself
//	          was cut off. 0 after a resignation or a transfer
//	          that the leader calls one.
//	Detect    until the request is sent that is granted.
//	Acquire   until its reply.
//	Announce  until the first accepted write of the new term.
//
// A request may be sent before the lease is over and answered after it: then
// Detect is 0 and Acquire counts from the end of Wait. A fault that heals
// before the lease ends gives no failover, and a leader that comes back as its
// own successor, after its lease was lost, does.
func failovers(x *index.Index) []Failover {
	var out []Failover
	for _, e := range x.Elections {
		writes := len(e.Writes) > 0
		i := 0
		for j := i + 1; j < len(e.Terms); j++ {
			first, at := serves(e, e.Terms[j], writes)
			if first == 0 {
				continue // it never acted: its successor ends the failover
			}
			if f, ok := failover(x, e, e.Terms[i], e.Terms[j], first, at); ok {
				out = append(out, f)
			}
			i = j
		}
	}
	return out
}

// serves finds the event with which a term begins to act: its first accepted
// write, or its election if the history has no writes.
func serves(e *index.Election, b *index.Belief, writes bool) (seq int64, at time.Duration) {
	if !writes {
		return b.Begin, b.From
	}
	var first *index.Op
	e.Accepted(b, func(o *index.Op) {
		if o.Token == 0 && (o.From < b.From || o.From > b.To) {
			return
		}
		if first == nil || o.To < first.To {
			first = o
		}
	})
	if first == nil {
		return 0, 0
	}
	return first.Completed, first.To
}

// failover measures one failover. It is none if the old leader still led when
// the new one began and nothing had happened to it.
func failover(x *index.Index, e *index.Election, old, next *index.Belief, servedSeq int64, served time.Duration) (Failover, bool) {
	grant := grantOf(e, next)
	begin := next.From
	if grant != nil {
		begin = min(begin, grant.To)
	}
	c, ok := causeOf(x, e, old, begin)
	if !ok {
		return Failover{}, false
	}
	sent, replied := begin, begin
	evidence := []int64{c.seq, servedSeq}
	if grant != nil {
		sent, replied = grant.Stated, grant.To
		evidence = append(evidence, grant.Completed)
	}
	over := c.at
	if !old.Graceful() || c.name != resignCause && c.name != transferCause {
		over = max(over, leaseEnd(x, e, old, c.at))
		over = unblocked(x, old.By.Name, over, replied)
	}
	over = min(over, max(replied, c.at))
	sent = max(sent, over)
	replied = max(replied, sent)
	served = max(served, replied)
	return Failover{
		Election: e.Name, Cause: c.name, From: old.By.Name, To: next.By.Name, At: c.at,
		Wait: over - c.at, Detect: sent - over, Acquire: replied - sent, Announce: served - replied,
		Total: served - c.at, Excess: served - over, Evidence: finding.Sorted(evidence),
	}, true
}

// cause is why a leader could no longer act, and since when.
type cause struct {
	name string
	at   time.Duration
	seq  int64
}

// causeOf finds why a term ended before its successor got the lease.
func causeOf(x *index.Index, e *index.Election, old *index.Belief, begin time.Duration) (cause, bool) {
	found := []cause{}
	if name := gaveUp(x, old); name != "" && old.To <= begin {
		found = append(found, cause{name, old.To, old.End})
	}
	renewed := lastRenewal(e, old)
	for _, f := range x.Faults {
		if !f.Hits(old.By.Name) || f.Name == resignCause || f.Name == transferCause {
			continue // a resignation begins when the leader has ended its work
		}
		at := f.On
		if renewed >= at { // it takes effect later than it is put on
			at = f.Since
		}
		if renewed < at && at >= old.From && at <= min(old.To, begin) {
			found = append(found, cause{f.Name, at, f.OnSeq})
		}
	}
	if old.Why == index.ExitWhy && old.To <= begin { // after the faults: one of them may be why, in the same moment
		found = append(found, cause{index.ExitWhy, old.To, old.End})
	}
	if len(found) == 0 {
		if old.To > begin || old.Lasts() {
			return cause{}, false
		}
		c := cause{old.Why, old.To, old.End}
		for _, f := range x.Faults {
			if f.Hits(history.StoreTarget) && f.On <= old.To && old.To <= f.Off+x.ReturnBound() && renewed < f.Off {
				c.name, c.seq = f.Name, f.OnSeq
			}
		}
		return c, true
	}
	return slices.MinFunc(found, func(a, b cause) int { return cmp.Compare(a.at, b.at) }), true
}

// gaveUp is the cause of a term that its leader ended on purpose, or was asked to end: some
// electors do not say why a term ended. "" if there is no such cause.
func gaveUp(x *index.Index, old *index.Belief) string {
	for _, f := range x.Faults {
		if (f.Name == resignCause || f.Name == transferCause) && f.Hits(old.By.Name) && f.On <= old.To && old.To <= f.Off {
			return f.Name
		}
	}
	if old.Graceful() {
		return resignCause
	}
	return ""
}

// lastRenewal is the call of the last renewal of the term that succeeded, or,
// where none is known to have, its last extension.
func lastRenewal(e *index.Election, b *index.Belief) time.Duration {
	last := -index.Forever
	e.Changes(b, func(o *index.Op) {
		if o.Call == history.Renew && o.Kind == history.Ok && (o.Token != 0 || o.To <= b.To) {
			last = max(last, o.Stated)
		}
	})
	if last == -index.Forever {
		last = b.Extended
	}
	return last
}

// grantOf is the acquire that gave the term its lease; nil if none was
// recorded.
func grantOf(e *index.Election, b *index.Belief) *index.Op {
	var named, grant *index.Op
	e.Changes(b, func(o *index.Op) {
		switch {
		case o.Call != history.Acquire || o.Kind != history.Ok || named != nil:
		case b.Token != 0 && o.Got != 0:
			named = o
		case o.To <= b.From+lateReport && (grant == nil || o.To > grant.To):
			grant = o
		}
	})
	return cmp.Or(named, grant)
}

// lateReport is how late an elector without tokens may report what it was granted.
const lateReport = 100 * time.Millisecond

// possibleRenewal is when the term's last renewal of unknown outcome was sent,
// where no audit reports whether it took effect: nobody may be blamed for waiting
// for the end of a lease that may have gone on.
func possibleRenewal(e *index.Election, b *index.Belief) time.Duration {
	last := -index.Forever
	if e.Audited() {
		return last
	}
	for _, o := range e.Ops {
		named := o.Token == b.Token || o.Token == 0 || b.Token == 0 // what is read off the wire has no token, and may be this term's
		if o.Call == history.Renew && o.Kind == history.Info && o.By == b.By && named && o.From <= b.To {
			last = max(last, o.Stated)
		}
	}
	return last
}

// leaseEnd is when the lease of the term can be over at the earliest, as far as
// the history tells. Of a leader that reported neither its requests nor until
// when it believes, nobody knows when it renewed the lease: it may have done so just
// before it could no longer act. A write that was sent when the one before had been
// answered replaces what that said: SETNX without a time to live, and then EXPIRE.
func leaseEnd(x *index.Index, e *index.Election, b *index.Belief, acted time.Duration) time.Duration {
	written, ttl := -index.Forever, x.Header.Lease
	answered, released := -index.Forever, index.Forever
	e.Changes(b, func(o *index.Op) {
		if o.Token == 0 && o.Got == 0 && o.From > b.To {
			return
		}
		switch o.Call {
		case history.Acquire, history.Renew:
			at := max(o.Stated, o.After)
			if replaces := o.Kind == history.Ok && o.From > answered; replaces || at+o.TTL > written+ttl {
				written, ttl, answered = at, o.TTL, index.Forever
				if o.Kind == history.Ok {
					answered = o.Returned
				}
			}
		case history.Release:
			if o.Token != 0 || o.To > b.From { // without a token, that of an earlier lease looks alike
				released = min(released, o.Stated)
			}
		}
	})
	if written == -index.Forever { // only the beliefs are known
		written = max(b.From, b.Extended)
		if b.Endless && b.Extended == -index.Forever {
			written = max(written, acted)
		}
	}
	if at := possibleRenewal(e, b); at > written {
		written = at
	}
	end := written + ttl
	for _, f := range x.Faults {
		if f.To < written || f.From >= end {
			continue
		}
		if f.Void {
			end = f.From
		} else if f.Shorten != 0 {
			end = max(f.From, end-f.Shorten)
		}
	}
	return min(end, released)
}

// unblocked is the first time from t on at which somebody else than the old
// leader was there, could reach the store and hear of it, but not after the request
// that was granted was answered. Where nobody else could by then, the old leader
// counts: a lone candidate is its own successor.
func unblocked(x *index.Index, old string, t, replied time.Duration) time.Duration {
	for {
		others, own := index.Forever, index.Forever
		for _, node := range x.Header.Nodes {
			until := x.Down(node, t)
			for _, f := range x.Faults {
				if f.On <= t && t < f.Off && f.Off != index.Forever {
					until = max(until, barred(x, f, node, old, t))
				}
			}
			if node == old {
				own = until
			} else {
				others = min(others, until)
			}
		}
		blocked := others
		if blocked > replied {
			blocked = own
		}
		if blocked == t || blocked > replied {
			return t
		}
		t = blocked
	}
}

// barred is until when the fault, which is on at t, keeps the node from the store; t if
// it does not. A fault says of itself whether it cuts or holds its targets, and the
// record shows when a process was not there. What a fault of the store does that says
// neither is not known: it ends with the first answer to somebody else than the old
// leader.
func barred(x *index.Index, f *index.Fault, node, old string, t time.Duration) time.Duration {
	store := f.Hits(history.StoreTarget)
	switch {
	case f.Shorten != 0 || !store && !f.Hits(node):
		return t
	case f.Does.Cuts, f.Does.Holds, f.Uninvited():
		return f.Off
	case f.Does.Skews:
		return t
	case !store:
		return min(x.Down(node, t), f.Off)
	}
	until := f.Off
	for _, o := range x.Calls {
		if o.Call.OnLease() && o.Kind != history.Info && !o.Inconclusive() && o.Node != old && o.From >= f.On && o.To <= f.Off {
			until = min(until, max(t, o.From))
		}
	}
	return until
}
