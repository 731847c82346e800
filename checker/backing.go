package checker

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// backing is what the record shows of the leases behind the beliefs of one
// election.
type backing struct {
	x       *index.Index
	e       *index.Election
	byNode  map[string][]*index.Op      // acquires and renewals that may have been answered yes, by call
	learnt  map[*index.Op]time.Duration // when the caller learnt that an acquire without an answer had been granted
	granted map[uint64]bool             // tokens of which the record shows a grant
	backed  int                         // terms of which the record shows the grant
	bare    int                         // and those of which it shows none
}

func newBacking(x *index.Index, e *index.Election) *backing {
	k := &backing{x: x, e: e, byNode: map[string][]*index.Op{}, learnt: learnt(e), granted: map[uint64]bool{}}
	for _, o := range e.Ops {
		if o.Call == history.Acquire && o.Took() {
			k.granted[o.Got] = true
			if o.Entry != nil {
				k.granted[o.Entry.Token] = true
			}
		}
		if (o.Call == history.Acquire || o.Call == history.Renew) && k.answered(o) {
			k.byNode[o.Node] = append(k.byNode[o.Node], o)
		}
	}
	for i := range e.Entries {
		if a := &e.Entries[i]; a.Call == history.Acquire && a.Applied {
			k.granted[a.Token] = true
		}
	}
	delete(k.granted, 0)
	for _, b := range e.Beliefs {
		switch {
		case b.Inferred:
		case k.grant(b) != nil:
			k.backed++
		default:
			k.bare++
		}
	}
	return k
}

// learnt finds the acquires of unknown outcome of which their callers found out
// afterwards that they hold the lease: a renewal succeeded, or the store named
// them as the holder, and nothing else that they asked for can explain it. A lease
// that was given back or lost explains nothing, nor does one of another token.
func learnt(e *index.Election) map[*index.Op]time.Duration {
	type state struct {
		unsure *index.Op     // the last acquire without an answer
		good   time.Duration // until when a lease that an answer named may last
		token  uint64        // of that lease
	}
	out, nodes := map[*index.Op]time.Duration{}, map[string]*state{}
	for _, o := range e.Ops { // by call
		n := nodes[o.Node]
		if n == nil {
			n = &state{good: -index.Forever}
			nodes[o.Node] = n
		}
		token := o.Got
		if o.Call == history.Renew || o.Call == history.Release {
			token = o.Token
		}
		another := token != 0 && n.token != 0 && token != n.token
		mine := o.Call == history.Renew && o.Kind == history.Ok || o.Holder == o.Node && o.Saw()
		if mine && n.unsure != nil && (n.good < o.From || another) {
			out[n.unsure], n.unsure = o.To, nil
		}
		over := o.Call == history.Release && o.Kind == history.Ok || o.Call == history.Renew && o.Kind == history.Fail && !o.Inconclusive()
		switch {
		case o.Call == history.Acquire && o.Kind == history.Info && !o.Wire:
			n.unsure = o
		case (o.Call == history.Acquire || o.Call == history.Renew) && o.Kind == history.Ok:
			n.good, n.token = max(n.good, o.To+o.TTL), token
		case over && !another:
			n.good = -index.Forever
		}
	}
	return out
}

// answered reports whether the caller may have learned that the operation took
// effect. What was read off the wire and not understood may have been a yes.
func (k *backing) answered(o *index.Op) bool {
	_, late := k.learnt[o]
	return late || o.Kind == history.Ok || o.Kind == history.Info && o.Wire && o.Completed != 0
}

// grant is an acquire whose answer was there when the term began, and which may have
// given the term its lease. Its token is that of the term, or the record shows none.
// It is nil if there is none.
func (k *backing) grant(b *index.Belief) *index.Op {
	for _, o := range slices.Backward(k.byNode[b.By.Name]) {
		if o.Call == history.Acquire && k.answeredBy(o, b.Claims[0]) && fits(o, b) {
			return o
		}
	}
	return nil
}

// fits reports whether the operation may be one on the term's lease.
func fits(o *index.Op, b *index.Belief) bool {
	token := max(o.Token, o.Got)
	return token == b.Token || token == 0 || b.Token == 0
}

// answeredBy reports whether the operation's answer was there when the claim was made.
// Both are the node's own; what is read off the wire, or arrives, is stamped by
// somebody else.
func (k *backing) answeredBy(o *index.Op, c index.Claim) bool {
	if o.Invoked > c.Seq && !o.Stood && !o.Wire && !c.Arrived {
		return false // by its own record it was not even asked for
	}
	call, answer := o.From+k.x.Slack(), o.To-k.x.Slack()
	if o.Kind == history.Info {
		answer = call
	}
	if t, late := k.learnt[o]; late {
		answer = t - k.x.Slack()
	}
	switch {
	case o.Wire: // then the program stamps its beliefs alone, by a clock as coarse as it may be
		call -= k.x.Patience()
		answer -= k.x.Patience()
	case c.Arrived:
		call -= k.x.Header.ClockError
		answer -= k.x.Header.ClockError
	}
	return call <= c.At && answer <= c.At+noted
}

// noted is how far apart a program may note an answer and what it believes since:
// either line may be stamped first.
const noted = 2 * time.Millisecond

// unfounded reports whether the record shows for certain that the node was never
// granted the lease of this term. It takes a record that is complete, which a
// candidate's own need not be: the store's, or one that shows the grants of most
// other terms, or one in which the node's last attempt before it came to
// something else. Where the store may have lost its data, it may have lost its
// record, too; what candidates recorded is not lost.
func (k *backing) unfounded(b *index.Belief) bool {
	switch {
	case b.Inferred || k.grant(b) != nil:
		return false
	case b.Token != 0 && k.granted[b.Token] && k.grantedTo(b):
		return false // reported before the answer that the record has
	case k.e.Audited() && !k.x.LossyBy(b.From):
		return true
	case k.x.Obscure():
		return false // what was read off the wire may be of another lock
	case k.backed > k.bare:
		return true
	}
	last := k.lastAttempt(b)
	return last != nil && (last.Kind == history.Fail && !last.Inconclusive() || last.Kind == history.Ok)
}

// grantedTo reports whether the term's token was granted to its node at some time.
func (k *backing) grantedTo(b *index.Belief) bool {
	found := false
	k.e.Changes(b, func(o *index.Op) {
		found = found || o.Call == history.Acquire && max(o.Got, o.Token) == b.Token && b.Claims[0].Arrived
	})
	return found || k.lateEntry(b)
}

// lateEntry reports whether the store's record has a grant to the node of which
// the caller's own record has nothing more than that it was asked for.
func (k *backing) lateEntry(b *index.Belief) bool {
	return slices.ContainsFunc(k.e.Ops, func(o *index.Op) bool {
		return o.Call == history.Acquire && o.Node == b.By.Name && o.Kind == history.Info && o.Took() && o.Entry.Token == b.Token
	})
}

// lastAttempt is the node's last acquire before the term whose outcome is known,
// if the node sent it after the term before.
func (k *backing) lastAttempt(b *index.Belief) *index.Op {
	since := -index.Forever
	for _, other := range k.e.Beliefs {
		if other.By == b.By && other.Begin < b.Begin {
			since = max(since, other.From)
		}
	}
	var last *index.Op
	for _, o := range k.e.Ops {
		if o.Call == history.Acquire && o.Node == b.By.Name && o.From > since && o.To <= b.From+k.x.Slack() {
			last = o
		}
	}
	return last
}

// bound is until when the claim may reach at the latest: for each acquire and
// renewal of the term that had succeeded by then, its call and its TTL on the
// fastest clock that is tolerated, less the margin. It also returns the operation
// that reaches furthest, nil if there is none.
func (k *backing) bound(b *index.Belief, c index.Claim) (time.Duration, *index.Op) {
	most, by := -index.Forever, (*index.Op)(nil)
	for _, o := range slices.Backward(k.byNode[b.By.Name]) {
		if by != nil && by.Kind == history.Ok && o.To < by.From { // its lease was replaced
			break
		}
		if !k.answeredBy(o, c) || !fits(o, b) {
			continue
		}
		if t := k.good(o); t > most {
			most, by = t, o
		}
	}
	return most, by
}

// good is until when a node may count on what the operation brought: from the call for
// its TTL on the fastest clock that is tolerated, less the margin.
func (k *backing) good(o *index.Op) time.Duration {
	return o.Stated + k.x.Slack() + o.TTL - k.x.Drift(o.TTL) - k.x.Header.Margin
}

// leases are when the node could count on the lease of the term, up to end: from the
// answer to each acquire and renewal for as long as that is good.
func (k *backing) leases(b *index.Belief, end time.Duration) []index.Window {
	var all []index.Window
	for _, o := range k.byNode[b.By.Name] {
		from := o.To - k.x.Slack()
		if o.Kind == history.Info {
			from = o.From
		}
		if w := (index.Window{From: from, To: min(k.good(o), end)}); fits(o, b) && w.From < w.To {
			all = append(all, w)
		}
	}
	return index.Merge(all)
}

// tellsRenewals reports whether the record would show renewals: it was read off the wire,
// and understood, or the store's own, or it has some.
func (k *backing) tellsRenewals(by *index.Op) bool {
	if by.Wire {
		return !k.x.Obscure()
	}
	return k.e.Audited() || slices.ContainsFunc(k.e.Ops, func(o *index.Op) bool { return o.Call == history.Renew })
}
