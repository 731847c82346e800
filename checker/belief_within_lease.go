package checker

import (
	"fmt"
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
// Each such step is held to the record by itself: it needs no second candidate
// that is elected just then. Sound for what the record shows. A clock that a fault
// holds excuses a deadline. Beliefs that name none are judged by their grant
// alone, and those that were read off the wire not at all, for they follow from
// their requests.
//
// A program that stamps its lines itself may stand still between what it does and
// the stamp, and its deadlines look later by that. Less than an eighth of a lease
// is held against it only where a fourth of such deadlines have it, and five at
// least: see chance.
func beliefWithinLease(x *facts) Finding {
	claims, backed := 0, 0
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
	switch {
	case claims > 0:
	case backed > 0:
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
}

// judge holds one deadline to the lease that backs it, if that can be done.
func (k *backing) judge(b *index.Belief, c index.Claim) (d deadline, ok bool) {
	if c.Until == index.Forever {
		return d, false
	}
	bound, by := k.bound(b, c)
	if by == nil || k.x.Skewed(b.By.Name, by.From, c.At) {
		return d, false
	}
	d = deadline{k, b, c, by, c.Until - bound}
	tolerance := rounded
	if k.x.Header.Margin > 0 {
		tolerance = exactly
	}
	if by.Wire {
		tolerance += k.x.Header.ClockError
	}
	if c.Arrived { // a line that came late makes the deadline look later
		tolerance += k.x.Patience()
	}
	if d.excess <= tolerance || c.Arrived && k.x.Held(b.By.Name, by.From, c.At) {
		d.excess = 0
	}
	return d, true
}

func (d deadline) finding() *Finding {
	x := d.k.x
	f := finding.Failed(fmt.Sprintf("%s believed%s that it leads until %s, %s longer than its lease is good for, which it had asked for at %s",
		finding.Who(d.b.By.Name, d.b.Token), x.In(d.k.e), finding.Moment(d.c.Until), finding.Span(d.excess), finding.Moment(d.by.From+x.Slack())), d.by.Invoked, d.c.Seq)
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
	case !x.Header.Stranger || d.excess > x.Patience():
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
