package storeorder

import (
	"cmp"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// Judge judges the operations on leases by the store's own record.
func Judge(x *index.Index) finding.Finding {
	n, beyond := 0, 0
	for _, e := range x.Elections {
		if !e.Audited() {
			continue
		}
		late, f := missingEntry(x, e)
		if f == nil {
			p := &replay{e: e, late: late, faults: x.LeaseFaults, Tolerance: x.Tolerance}
			f = p.run()
			n += p.applied
			beyond += len(late) + p.beyond
		}
		if f != nil {
			f.Reason += x.In(e)
			return *f
		}
	}
	switch {
	case n == 0:
		return finding.Nothing("the store kept no record of its own (no audit event that changed a lease)")
	case beyond > 0:
		return finding.Nothing("the store's own record ends too early to explain " + finding.Count(beyond, "answer"))
	default:
		return finding.Passed(fmt.Sprintf("replaying the store's own record of %d changes explains every answer", n))
	}
}

// missingEntry finds an operation that took effect without the store's record
// of it, and those that may have done so after the last entry.
func missingEntry(x *index.Index, e *index.Election) (late []*index.Op, f *finding.Finding) {
	end, _ := e.RecordEnd()
	var lost *index.Op // perhaps by a fault
	for _, o := range e.Ops {
		switch {
		case o.Kind != history.Ok || o.Call == history.Observe || o.Entry != nil:
		case x.LossySince(o.From):
			lost = cmp.Or(lost, o)
			late = append(late, o)
		case o.To < end:
			return nil, index.Contradiction(nil, o, "%s of %s succeeded at %s but the store has no record of it, and its record goes on", o.Call, o.Node, finding.Moment(o.To))
		default:
			late = append(late, o)
		}
	}
	if len(late) == 0 {
		return nil, nil
	}
	denied := unclaimed(e)
	for _, o := range late {
		if a := denied[request{o.Call, o.Nonce, o.Try}]; a != nil {
			f := finding.Failed(fmt.Sprintf("%s of %s succeeded at %s but the store's record of it says otherwise",
				o.Call, o.Node, finding.Moment(o.To)), o.Seq(), a.Seq)
			return nil, &f
		}
	}
	if lost != nil {
		f := finding.Undecided("a fault may have removed the store's own record; it lacks operation "+fmt.Sprint(lost.ID), lost.Seq())
		return nil, &f
	}
	return late, nil
}

// request is what names an operation to the store.
type request struct {
	call  history.Call
	nonce string
	try   uint64
}

// unclaimed are the entries that name a request and fit no operation.
func unclaimed(e *index.Election) map[request]*index.Entry {
	out := map[request]*index.Entry{}
	for i := range e.Entries {
		if a := &e.Entries[i]; a.Op == nil && a.Nonce != "" {
			out[request{a.Call, a.Nonce, a.Try}] = a
		}
	}
	return out
}

// step is the state of the lease after one entry.
type step struct {
	lo, hi time.Duration // when the entry was made
	op     *index.Op
	live   bool
	holder string
	nonce  string
	token  uint64
	ttl    time.Duration
	a, b   time.Duration // when the lease was last written
	by     *index.Op     // by whom
	keeps  bool          // the entry found the lease of the step before alive
	kept   bool          // a later entry will find this step's lease alive
}

// counted is the last token that the store gave, and when it did so at the earliest.
type counted struct {
	token uint64
	since time.Duration
}

type replay struct {
	e      *index.Election
	late   []*index.Op // took effect after the last entry, by call
	beyond int         // how many answers only what came after the last entry explains
	steps  []step      // first the state before any entry
	faults []expiry.Fault
	expiry.Tolerance

	applied int // how many entries changed the lease

	learnt map[*index.Op]window // what answers tell about the times of effects
}

// window is a time in which something happened.
type window struct{ lo, hi time.Duration }

// maxRounds is how often the replay is repeated at the most: what one answer tells
// about an effect may tell where another answer belongs.
const maxRounds = 4

func (p *replay) run() *finding.Finding {
	p.steps = make([]step, 0, len(p.e.Entries)+1)
	for round := 1; ; round++ {
		p.steps, p.applied, p.beyond = p.steps[:0], 0, 0
		learnt, f := p.replay()
		if f != nil || !learnt || round == maxRounds {
			return f
		}
	}
}

// replay follows the record once. It reports whether it learnt anything that was not
// known.
func (p *replay) replay() (learnt bool, f *finding.Finding) {
	current := step{lo: -index.Forever, hi: index.Forever}
	last := counted{since: -index.Forever}
	p.steps = append(p.steps, current)
	for i := range p.e.Entries {
		a := &p.e.Entries[i]
		o := a.Op
		if o == nil && !a.Applied {
			continue
		}
		if o == nil {
			f := finding.Failed(fmt.Sprintf("the store applied %s (%s), which no recorded operation explains",
				a.Call, finding.Who(a.Node, a.Token)), a.Seq)
			return false, &f
		}
		next := step{lo: max(current.lo, o.From), hi: o.Before, op: o}
		if w, ok := p.learnt[o]; ok {
			next.lo, next.hi = max(next.lo, w.lo), min(next.hi, w.hi)
		}
		if next.lo > next.hi {
			return false, index.Contradiction(current.op, o, "the store's order puts %s of %s before %s at the latest, but it came after %s",
				o.Call, o.Node, finding.Moment(next.hi), finding.Moment(next.lo))
		}
		var f *finding.Finding
		if a.Applied {
			p.applied++
			f = p.apply(&current, &next, a, &last)
		} else {
			f = p.refuse(&current, &next)
		}
		if f != nil {
			return false, f
		}
		p.steps = append(p.steps, next)
		current = next
	}
	for _, o := range p.late {
		if f := p.tooLate(&current, o, last); f != nil {
			return false, f
		}
	}
	p.lookBack()
	for _, o := range p.e.Ops {
		if o.Entry != nil || o.Kind == history.Info {
			continue // its place is known, or nobody heard an answer
		}
		news, f := p.placeAnswer(o)
		if f != nil {
			return false, f
		}
		learnt = learnt || news
	}
	return learnt, nil
}

// tooLate finds out that an operation without an entry cannot have come after the
// last entry, which left the lease as it is now.
func (p *replay) tooLate(now *step, o *index.Op, last counted) *finding.Finding {
	if t := max(o.Token, o.Got); t != 0 && t < last.token && !expiry.LostIn(p.faults, last.since, o.To) {
		return index.Contradiction(now.by, o, "%s of %s succeeded at %s but the store has no record of it, and its record goes on to token %d",
			o.Call, finding.Who(o.Node, t), finding.Moment(o.To), last.token)
	}
	if o.To < now.lo {
		return index.Contradiction(now.by, o, "%s of %s succeeded at %s but the store has no record of it, and its record goes on to %s at least",
			o.Call, finding.Who(o.Node, o.Got), finding.Moment(o.To), finding.Moment(now.lo))
	}
	if now.live && (now.holder == o.Node || now.holder == "" || o.Node == "") || o.Call == history.Acquire && (!now.live || p.firstEnd(now) <= o.To) {
		return nil
	}
	for _, u := range p.e.Ops { // by call
		if u.From > o.To {
			break
		}
		changes := u != o && u.Entry == nil && u.Kind != history.Fail && u.Call != history.Observe
		if changes && (u.Node == "" || u.Node == o.Node || u.Node == now.holder) {
			return nil // it may have ended the lease, or brought another one
		}
	}
	return index.Contradiction(now.by, o, "%s of %s succeeded at %s but the store has no record of it, and after its record the lease was that of %s",
		o.Call, finding.Who(o.Node, max(o.Token, o.Got)), finding.Moment(o.To), finding.Who(cmpHolder(now), now.token))
}

// lookBack finds which leases later entries found alive, and when each entry was
// made at the latest.
func (p *replay) lookBack() {
	for k := len(p.steps) - 2; k >= 0; k-- {
		s, next := &p.steps[k], &p.steps[k+1]
		s.hi = min(s.hi, next.hi)
		untouched := s.live && next.live && s.by == next.by
		s.kept = next.keeps || untouched && next.kept
	}
}

// refuse makes next the state after an entry that changed nothing.
func (p *replay) refuse(current, next *step) *finding.Finding {
	o := next.op
	next.live, next.holder, next.nonce, next.token, next.ttl = current.live, current.holder, current.nonce, current.token, current.ttl
	next.a, next.b, next.by = current.a, current.b, current.by
	if o.Kind == history.Info || o.Inconclusive() {
		return nil // nobody heard an answer
	}
	written := current.by
	if o.Call == history.Acquire {
		own := o.Nonce != "" && o.Nonce == current.nonce && current.holder == o.Node
		if !current.live || own || !current.is(o.Holder, o.Got) || next.lo > p.lastEnd(current, next.lo) {
			return index.Contradiction(written, o, "the store refused %s at %s (%s), but its own record says otherwise", o.Node, finding.Moment(o.To), o.Answer())
		}
		next.keeps = true
		next.b = min(next.b, next.hi)
		if !expiry.Lengthened(p.faults, current.a, next.hi) {
			next.a = max(next.a, next.lo-next.ttl-p.Of(next.ttl)+1)
		}
		return nil
	}
	if !current.live || !current.belongsTo(o) {
		return nil
	}
	next.lo = max(next.lo, p.firstEnd(current))
	if next.lo > next.hi {
		return index.Contradiction(written, o, "the store refused %s of %s at %s, when by its own record it held the lease until %s at least",
			o.Call, finding.Who(o.Node, o.Token), finding.Moment(next.hi), finding.Moment(next.lo))
	}
	next.live = false
	return nil
}

// is reports whether an answer that names holder and token can be about the
// lease.
func (s *step) is(holder string, token uint64) bool {
	return (holder == "" || s.holder == "" || holder == s.holder) && (token == 0 || s.token == 0 || token == s.token)
}

// belongsTo reports whether the lease is the one that a renewal or release is
// about.
func (s *step) belongsTo(o *index.Op) bool {
	return s.is(o.Node, o.Token) && (o.Nonce == "" || s.nonce == "" || o.Nonce == s.nonce)
}

// apply makes next the state after the entry, or says why it cannot be.
func (p *replay) apply(current, next *step, a *index.Entry, last *counted) *finding.Finding {
	o := next.op
	token := max(a.Token, o.Token, o.Got)
	own := current.live && (o.Node == "" || current.holder == "" || current.holder == o.Node) &&
		(current.nonce == o.Nonce || current.nonce == "" || o.Nonce == "") &&
		(current.token == token || token == 0)
	lastEnd := p.lastEnd(current, next.lo)
	if o.Call == history.Acquire && !(own && current.nonce == o.Nonce && next.lo <= lastEnd) {
		if current.live {
			next.lo = max(next.lo, p.firstEnd(current))
		}
		if next.lo > next.hi {
			return index.Contradiction(current.by, o, "the store granted %s the lease at %s at the latest, but that of %s lasted until %s at least",
				finding.Who(o.Node, token), finding.Moment(next.hi), finding.Who(current.holder, current.token), finding.Moment(next.lo))
		}
		if token != 0 && token <= last.token && !expiry.LostIn(p.faults, last.since, next.hi) {
			return index.Contradiction(current.by, o, "the store granted %s although token %d was out already", finding.Who(o.Node, token), last.token)
		}
		if token != 0 {
			*last = counted{token, next.lo}
		}
		next.live, next.holder, next.nonce, next.token, next.ttl = true, o.Node, o.Nonce, token, o.TTL
		next.a, next.b, next.by = next.lo, next.hi, o
		return nil
	}
	switch {
	case !own:
		return index.Contradiction(current.by, o, "the store applied %s of %s while the lease was that of %s",
			o.Call, finding.Who(o.Node, token), finding.Who(cmpHolder(current), current.token))
	case next.lo > lastEnd:
		return index.Contradiction(current.by, o, "the store applied %s of %s at %s at the earliest, when the lease was over since %s",
			o.Call, finding.Who(o.Node, token), finding.Moment(next.lo), finding.Moment(lastEnd))
	}
	// Without a token nothing reports whether an attempt that asks again got a lease
	// of its own.
	fresh := o.Call == history.Acquire && token == 0 && next.hi >= p.firstEnd(current)
	next.keeps = !fresh
	if o.Call == history.Release {
		return nil
	}
	next.live, next.holder, next.nonce, next.token, next.ttl = true, current.holder, current.nonce, current.token, o.TTL
	next.a, next.b, next.by = next.lo, next.hi, o
	if !fresh {
		next.b = min(next.b, lastEnd)
	}
	return nil
}

func cmpHolder(s *step) string {
	if !s.live {
		return "nobody"
	}
	return s.holder
}

// firstEnd is when the lease is over at the earliest.
func (p *replay) firstEnd(s *step) time.Duration {
	return expiry.First(p.faults, s.a, s.a+s.ttl-p.Of(s.ttl))
}

// lastEnd is when the lease is over at the latest, if it was written last before
// t: with the faults that may have made it longer by then, and those that
// certainly came after its last write and made it shorter.
func (p *replay) lastEnd(s *step, t time.Duration) time.Duration {
	end := s.b + s.ttl + p.Of(s.ttl)
	for _, f := range p.faults {
		switch {
		case f.Shorten < 0 && f.To >= s.a && f.From <= min(end, t):
			end -= f.Shorten
		case f.Shorten > 0 && f.Certain && f.From >= s.b && f.To <= t && end > f.To:
			end = max(f.To, end-f.Shorten)
		}
	}
	return end
}
