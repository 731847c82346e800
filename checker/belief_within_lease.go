package checker

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
)

const (
	// exactly is how far a deadline may be off that was put on the run's clock to
	// the nanosecond, by an elector whose margin is stated.
	exactly = time.Microsecond
	// rounded is how far one may be off that a program gives in milliseconds.
	rounded = 500*time.Microsecond + exactly
)

// beliefWithinLease decides for every elected and extended event whether the
// node was granted the lease of the term, and whether the deadline that it names
// lies within that lease: not later than the call of the last acquire or renewal
// of the term that had succeeded by then, plus its TTL on the fastest clock that
// the electors are to tolerate (drift_ppm), less the margin that the elector is
// documented to leave (margin_ns). A lease counts from when it was asked for,
// since nobody knows when in between the store began to count.
//
// Who names no deadline believes until it says otherwise, so it has to say so when
// that lease ends: see outlasted.
//
// Each such step is held to the record by itself: it needs no second candidate
// that is elected just then. Sound for what the record shows. A clock that a fault
// holds excuses a deadline. Beliefs that were read off the wire are not judged, for
// they follow from their requests.
//
// A program that stamps its lines itself may stand still between what it does and
// the stamp, and its deadlines look later by that. Less than an eighth of a lease
// is held against it only where a fourth of such deadlines have it, and five at
// least: see chance. Of a line without a stamp nobody knows how late it came, but it
// was not written before the answer that it tells of: see overdue.
func beliefWithinLease(x *facts) Finding {
	claims, open, backed := 0, 0, 0
	for _, k := range x.backings {
		late := chance{}
		backed += k.backed
		for _, b := range k.e.Beliefs {
			if b.Inferred {
				continue
			}
			if k.unfounded(b) {
				return finding.Failed(fmt.Sprintf("%s believed%s from %s on that it leads, and was never granted that lease",
					finding.Who(b.By.Name, b.Token), x.In(k.e), finding.Moment(b.From)), b.Begin)
			}
			for i, c := range b.Claims {
				if c.Until == index.Forever {
					if f, judged := k.outlasted(b, i); f != nil {
						return *f
					} else if judged {
						open++
					}
					continue
				}
				d, ok := k.judge(b, c)
				if !ok {
					continue
				}
				claims++
				if f := late.add(d, i > 0, x); f != nil {
					return *f
				}
			}
		}
		if f := late.finding(); f != nil {
			return *f
		}
	}
	understood, requests := x.Understood()
	switch {
	case claims > 0:
	case open > 0:
		return finding.Passed(fmt.Sprintf("%s without a deadline, and nobody went on after the end of the lease that backed it", finding.Count(open, "belief")))
	case backed > 0 && (understood > 0 || requests == 0):
		return finding.Passed(fmt.Sprintf("%s, each of which was granted; nobody said until when it believes", finding.Count(backed, "term")))
	default:
		return finding.Nothing("the history does not say who believes to lead, or not what was asked of the store")
	}
	return finding.Passed(fmt.Sprintf("%s of a belief, and none later than the end of the lease that backs it", finding.Count(claims, "deadline")))
}

// deadline is one deadline beside the lease that backs it.
type deadline struct {
	k      *backing
	b      *index.Belief
	c      index.Claim
	by     *index.Op     // what the lease was granted or renewed by
	excess time.Duration // by how much the deadline is too late; not above zero: it is right
	proven bool          // however late the line came
}

// judge holds one deadline to the lease that backs it, if that can be done.
func (k *backing) judge(b *index.Belief, c index.Claim) (d deadline, ok bool) {
	bound, by := k.bound(b, c)
	if by == nil || k.x.Skewed(b.By.Name, by.From, c.At) || by.Wire && k.x.Obscure() {
		return d, false
	}
	d = deadline{k: k, b: b, c: c, by: by, excess: c.Until - bound}
	tolerance := rounded
	if k.x.Header.Margin > 0 {
		tolerance = exactly
	}
	if by.Wire {
		tolerance += k.x.Header.ClockError
	}
	if !c.Arrived {
		if d.excess <= tolerance {
			d.excess = 0
		}
		return d, true
	}
	if k.x.Held(b.By.Name, by.From, c.At) {
		d.excess = 0
		return d, true
	}
	if least, of := k.overdue(b, c); of != nil && least > tolerance {
		return deadline{k: k, b: b, c: c, by: of, excess: least, proven: true}, true
	}
	if d.excess <= tolerance+k.x.Patience() { // a line that came late makes the deadline look later
		d.excess = 0
	}
	return d, true
}

// overdue is by how much the deadline of a line without a stamp is too late at the
// least, and for which request. The line was written after the answer that it tells
// of, so the deadline counts from there on. That is the last answer, or one that came
// within Patience before the line was read, or the one before these: what holds a
// line up for longer is recorded as a stall. The request is nil where a program tells
// its requests itself: they have no better stamps.
func (k *backing) overdue(b *index.Belief, c index.Claim) (least time.Duration, of *index.Op) {
	least = index.Forever
	since := index.Forever
	for _, o := range slices.Backward(k.byNode[b.By.Name]) { // by call
		if !o.Wire {
			return 0, nil
		}
		if since < index.Forever && o.From+o.TTL < since {
			break // those before it were answered earlier, or after all that they could bring
		}
		answer := o.Returned - k.x.Slack()
		if answer > c.At || !fits(o, b) || since < index.Forever && answer < since {
			continue
		}
		if late := answer + c.Until - c.At - k.good(o); late < least {
			least, of = late, o
		}
		if answer <= c.At-k.x.Patience() {
			since = answer
		}
	}
	return least, of
}

// outlasted finds that the node went on believing, without a deadline, for longer
// than Patience after the end of every lease that it knew of. A process that is held
// up can give no notice, and has Patience when it goes on. judged reports whether there
// was anything to judge: the record has to show renewals, if there are any.
func (k *backing) outlasted(b *index.Belief, i int) (f *Finding, judged bool) {
	c := b.Claims[i]
	_, by := k.bound(b, c)
	if by == nil || !k.tellsRenewals(by) {
		return nil, false
	}
	at, end := c.At, min(b.Stands(i), k.x.RunEnd)
	for _, w := range append(k.leases(b, end), index.Window{From: end, To: end}) {
		if k.x.LongestFree(b.By.Name, at, w.From) > k.x.Patience() {
			good, by := k.bound(b, index.Claim{At: at, Seq: math.MaxInt64})
			if !k.x.Skewed(b.By.Name, by.From, w.From) {
				f := finding.Failed(fmt.Sprintf("%s believed%s until further notice that it leads, and gave none by %s, although its lease was good until %s only: it had asked for it at %s",
					finding.Who(b.By.Name, b.Token), k.x.In(k.e), finding.Moment(w.From), finding.Moment(good), finding.Moment(by.Stated+k.x.Slack())), by.Invoked, c.Seq)
				return &f, true
			}
		}
		at = max(at, w.To)
	}
	return nil, true
}

func (d deadline) finding() *Finding {
	x := d.k.x
	f := finding.Failed(fmt.Sprintf("%s believed%s that it leads until %s, %s longer than its lease is good for, which it had asked for at %s",
		finding.Who(d.b.By.Name, d.b.Token), x.In(d.k.e), finding.Moment(d.c.Until), finding.Span(d.excess), finding.Moment(d.by.Stated+x.Slack())), d.by.Invoked, d.c.Seq)
	return &f
}

// chance tells deadlines that a program computes too late from those that only
// look late, because it stood still before it stamped its line. What is computed
// wrong is wrong each time: deadlines of new terms and extended ones are counted
// apart, since other code may compute them. The zero chance is ready for use.
type chance [2]struct {
	all, late int
	worst     deadline
}

const (
	leastLate = 5 // fewer deadlines that look late may all be chance
	lateShare = 4 // one of so many has to look late
)

// add counts the deadline. It returns a finding if that one alone suffices.
func (l *chance) add(d deadline, extended bool, x *facts) *Finding {
	kind := &l[0]
	if extended {
		kind = &l[1]
	}
	kind.all++
	switch {
	case d.excess <= 0:
		return nil
	case d.proven || !x.Header.Foreign || d.excess > x.Patience():
		return d.finding()
	}
	kind.late++
	if d.excess > kind.worst.excess {
		kind.worst = d
	}
	return nil
}

func (l *chance) finding() *Finding {
	for _, kind := range l {
		if kind.late >= leastLate && kind.late*lateShare >= kind.all {
			return kind.worst.finding()
		}
	}
	return nil
}
