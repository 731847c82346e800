package checker

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// stepsDownOnLoss decides whether a candidate believes no longer once it has given its lease
// back, or once the store has said that the lease is over. AtMostOneLeader does not see a
// candidate that believes on if the store itself gave the lease away. WriteWithinTerm sees
// it only once the belief is over.
//
// Sound. A process that was held up could not act, and what is shorter than a
// stall that would have been recorded says nothing; one that had so much time in one
// go, before it was held up or after, could have. A candidate without tokens
// may have been granted another lease meanwhile. Where a renewal came back with an
// unknown outcome, the store's record tells that it was refused; see unread.
func stepsDownOnLoss(x *facts) Finding {
	terms, refusals, releases := 0, 0, 0
	for _, e := range x.Elections {
		for _, b := range e.Beliefs {
			if !b.Inferred {
				terms++
			}
		}
		for _, o := range e.Ops {
			switch {
			case o.Call == history.Renew && (o.Kind == history.Fail && !o.Inconclusive() || unread(x, o)):
				refusals++
			case overtaken(o):
				refusals++
			case o.Call == history.Release && o.Kind == history.Ok:
				releases++
			default:
				continue
			}
			if f := beliefAfter(x, e, o); f != nil {
				return *f
			}
		}
	}
	if terms == 0 {
		return finding.Nothing("nobody said when it believes to lead")
	}
	return finding.Passed(fmt.Sprintf("%s of a renewal and %s, and nobody believed on after one", finding.Count(refusals, "refusal"), finding.Count(releases, "release")))
}

// overtaken reports whether the node asked for what it may have had, as those do who
// renew by the call by which they acquire, and was refused in favour of another one.
func overtaken(o *index.Op) bool {
	return o.Call == history.Acquire && o.Kind == history.Fail && o.Holder != "" && o.Holder != o.Node && !o.Stands
}

// unread reports whether the store recorded that it refused the renewal, and the node
// took the answer for an unknown outcome: the call returned at once, and nothing
// that is known of had kept an answer back in the lease before, nor did the call
// say that there was none.
func unread(x *facts, o *index.Op) bool {
	if o.Kind != history.Info || o.Completed == 0 || o.Returned-o.From > x.Patience() || unanswered(o.Err) {
		return false
	}
	if o.Entry == nil || o.Entry.Applied || o.Try == 0 || o.Try != o.Entry.Try {
		return false
	}
	return !slices.ContainsFunc(x.Faults, func(f *index.Fault) bool {
		keeps := f.Does.Cuts || f.Does.Holds || f.Uninvited() || f.To-f.From > x.Patience()
		near := f.From <= o.Returned && o.From-x.Header.Lease <= f.To
		return keeps && near && (f.Uninvited() || f.Hits(o.Node) || f.Hits(history.StoreTarget))
	})
}

// unanswered reports whether the text of an error is one of a request that got no
// answer: it took too long for its caller, or its connection was lost.
func unanswered(text string) bool { return cutOff.MatchString(text) }

var cutOff = regexp.MustCompile(`(?i)time-?out|timed out|deadline|cancel|connection|broken pipe|\beof\b`)

// beliefAfter finds a belief that lasts although the store has refused to renew its
// lease, or has taken it back.
func beliefAfter(x *facts, e *index.Election, o *index.Op) *Finding {
	late := o.Returned + x.Patience()
	for _, b := range e.Beliefs {
		if b.By != o.By || b.Inferred || b.From > o.From || b.Token != o.Token && b.Token != 0 && o.Token != 0 {
			continue
		}
		for _, s := range b.Spans {
			again := s.From > o.Returned && x.fallsBack(e, o, s.From)
			if s.To <= late || s.From > o.Returned && !again || (o.Token == 0 || b.Token == 0) && (regained(x, e, o) || ofAnother(e, o)) {
				continue
			}
			end := min(s.To, max(x.End, late))
			if x.LongestFree(o.Node, o.Returned, end) < x.Patience() {
				continue
			}
			what := "the store told %s at %s that its lease is over, and it believed%s for another %s"
			switch o.Call {
			case history.Release:
				what = "%s had given its lease back at %s, and believed%s for another %s"
			case history.Acquire:
				what = "the store told %s at %s that another one has the lease, and it believed%s for another %s"
			}
			f := finding.Failed(fmt.Sprintf(what,
				finding.Who(o.Node, o.Token), finding.Moment(o.Returned), x.In(e), finding.Span(end-o.Returned)), o.Seq(), b.End)
			return &f
		}
	}
	return nil
}

// fallsBack reports whether a belief that begins again at t can only be one in the lease
// that was lost: no lease is granted again with its token, and where there are no
// tokens, or the store may have forgotten which it gave, nobody granted the node one,
// though its grants are on record.
func (f *facts) fallsBack(e *index.Election, lost *index.Op, t time.Duration) bool {
	if lost.Token != 0 && !f.LossyBy(t) {
		return true
	}
	granted := false
	for _, a := range e.Ops {
		if a.Call != history.Acquire || a.By != lost.By {
			continue
		}
		if a.Kind != history.Fail && a.To >= lost.From && a.From <= t {
			return false
		}
		granted = granted || a.Took() && a.To < lost.From
	}
	return granted
}

// ofAnother reports whether the renewal was not of the lease that its node had
// been granted last.
func ofAnother(e *index.Election, o *index.Op) bool {
	for _, a := range slices.Backward(e.Ops) { // by call
		if a.Call == history.Acquire && a.By == o.By && a.Took() && a.From <= o.From {
			return a.Nonce != o.Nonce && a.Nonce != "" && o.Nonce != "" || a.Got != o.Token && a.Got != 0 && o.Token != 0
		}
	}
	return false
}

// regained reports whether the node may have been granted another lease before it
// was to heed the loss.
func regained(x *facts, e *index.Election, o *index.Op) bool {
	for _, a := range e.Ops {
		if a.Call == history.Acquire && a.By == o.By && a.Kind != history.Fail && a.To >= o.From && a.From <= o.Returned+x.Patience() {
			return true
		}
	}
	return false
}
