package checker

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// facts is the index, and what several checks want to know that follows from it.
// Nothing of it is changed once it was gathered.
type facts struct {
	*index.Index

	lease     Finding
	judges    LeaseChecks
	held      []Holding
	failovers []Failover
	backings  []*backing // of the elections, in their order
}

func gather(x *index.Index, o Options) *facts {
	f := &facts{Index: x}
	limit := o.PorcupineCap
	if limit == 0 {
		limit = DefaultPorcupineCap
	}
	f.judgeLease(limit)
	for _, e := range x.Elections {
		f.backings = append(f.backings, newBacking(x, e))
	}
	f.failovers = failovers(x)
	return f
}

// report fills in what is not the finding on a promise.
func (f *facts) report(v *Result) {
	v.Lease, v.Holdings, v.Failovers = f.judges, f.held, f.failovers
	for _, e := range f.Elections {
		for _, b := range e.Beliefs {
			if b.Restated {
				continue
			}
			v.Terms = append(v.Terms, Term{
				Election: e.Name, Node: b.By.Name, Token: b.Token, From: b.From, To: b.To, Why: b.Why, Begin: b.Begin, End: b.End,
			})
		}
		d, _ := dualBelief(f.Index, e)
		v.DualBelief += d
	}
	v.Writes = f.countWrites()
	leaderless, whole := f.availability()
	v.Leaderless, v.whole = leaderless, whole
	v.Availability = share(leaderless, whole)
}

// guessed reports whether nothing is known of who leads but what was inferred from
// requests that mostly are not understood: all of them, or those of one term. Followers
// may ask more often than a leader renews, and be understood. Where nobody was ever seen to
// lead, or not within a lease of an acquire of which nobody knows what it did, a term may
// have begun that was not understood.
func (f *facts) guessed() bool {
	led := false
	for _, e := range f.Elections {
		if slices.ContainsFunc(e.Beliefs, func(b *index.Belief) bool { return !b.Inferred }) {
			return false
		}
		led = led || len(e.Beliefs) > 0
	}
	return f.Obscure() || len(f.Wire) > 0 && !led || slices.ContainsFunc(f.Elections, func(e *index.Election) bool {
		unseen := func(o *index.Op) bool {
			return o.Wire && o.Call == history.Acquire && o.Kind == history.Info && o.Err == history.Ambiguous &&
				!slices.ContainsFunc(e.Beliefs, func(b *index.Belief) bool { return b.From <= o.From+f.Header.Lease && o.From <= b.To })
		}
		return slices.ContainsFunc(e.Beliefs, func(b *index.Belief) bool { return f.obscure(e, b) }) || slices.ContainsFunc(e.Ops, unseen)
	})
}

// obscure reports whether most of what the node sent since its term was seen to begin,
// and for a lease after it was seen to end, has an answer of which nobody knows what it
// says.
func (f *facts) obscure(e *index.Election, b *index.Belief) bool {
	known, all := 0, 0
	for _, o := range e.Ops {
		if o.By != b.By || !o.Wire || o.Call == history.Observe || o.From <= b.From || o.From > b.To+f.Header.Lease {
			continue
		}
		all++
		if o.Kind != history.Info || o.Err != history.Ambiguous {
			known++
		}
	}
	return all > 0 && 2*known <= all
}

// share is the part of the whole in which somebody led.
func share(leaderless, whole time.Duration) float64 {
	if whole == 0 {
		return 0
	}
	return 1 - float64(leaderless)/float64(whole)
}

// availability sums over the elections the time in which nobody led, from the
// first term to the end of the run, and the whole of that time.
func (f *facts) availability() (leaderless, whole time.Duration) {
	for _, e := range f.Elections {
		if len(e.Beliefs) == 0 {
			continue
		}
		begin := min(max(e.Beliefs[0].From, f.Since), f.RunEnd)
		whole += f.RunEnd - begin
		leaderless += f.RunEnd - begin
		for _, w := range f.led(e) {
			leaderless -= max(0, min(w.To, f.RunEnd)-max(w.From, begin))
		}
	}
	return leaderless, whole
}

// led is when somebody led the election to some effect. Where candidates write
// to the resource it goes by their accepted writes, elsewhere by beliefs alone.
func (f *facts) led(e *index.Election) []index.Window {
	var all []index.Window
	idle := f.idle(e)
	for _, b := range e.Terms {
		spans := b.Spans
		switch {
		case idle > 0:
			spans = intersection(working(e, b, idle), spans)
		case len(e.Writes) > 0:
			spans = intersection(f.unrefused(e, b), spans)
		}
		all = append(all, spans...)
	}
	return index.Merge(all)
}

// regular is how many accepted writes tell how often leaders write.
const regular = 20

// idle is how long a leader may get nothing done and is taken for one still; 0 if
// nobody knows how often leaders write. The header tells, or the writes of the
// run do, where they are many.
func (f *facts) idle(e *index.Election) time.Duration {
	if f.Header.Write > 0 {
		return max(f.Header.Lease, 4*f.Header.Write)
	}
	var gaps []time.Duration
	for _, b := range e.Terms {
		last := index.Forever
		e.Accepted(b, func(o *index.Op) {
			if last < o.From {
				gaps = append(gaps, o.From-last)
			}
			last = o.From
		})
	}
	if len(gaps) < regular {
		return 0
	}
	slices.Sort(gaps)
	return max(f.Header.Lease, 10*gaps[len(gaps)*9/10])
}

// working is when the term got something done, where leaders are known to write
// again and again.
func working(e *index.Election, b *index.Belief, idle time.Duration) []index.Window {
	var works []index.Window
	e.Accepted(b, func(o *index.Op) {
		works = append(works, index.Window{From: o.To - idle, To: o.To + idle})
	})
	return index.Merge(works)
}

// unrefused is when the term may have got something done, where nobody knows how
// often leaders write: not before its first accepted write, but for the time in
// which a leader may be idle; not if there is none; and not while it is refused
// for longer than that. Writes may carry tokens where beliefs tell none.
func (f *facts) unrefused(e *index.Election, b *index.Belief) []index.Window {
	var out []index.Window
	idle := f.Header.Lease
	from, last := index.Forever, time.Duration(0) // of the stretch, and its last accepted write
	refused := false
	for _, o := range e.Writes {
		tokens := o.Token != 0 && b.Token != 0
		if o.By != b.By || tokens && o.Token != b.Token || !tokens && !b.At(o.From, 0) {
			continue
		}
		switch {
		case o.Kind == history.Ok && from == index.Forever:
			from = o.To - idle
		case o.Kind == history.Ok && refused && o.To-last > 2*idle:
			out = append(out, index.Window{From: from, To: last + idle})
			from = o.To - idle
		}
		refused = o.Kind == history.Fail
		if o.Kind == history.Ok {
			last = o.To
		}
	}
	switch {
	case from == index.Forever:
	case refused:
		out = append(out, index.Window{From: from, To: last + idle})
	default:
		out = append(out, index.Window{From: from, To: index.Forever})
	}
	return index.Merge(out)
}

// intersection is what is in both lists of windows. The first one is ordered and
// disjoint.
func intersection(a, b []index.Window) []index.Window {
	var out []index.Window
	for _, w := range b {
		i, _ := slices.BinarySearchFunc(a, w.From, func(x index.Window, t time.Duration) int {
			if x.To <= t {
				return -1
			}
			return 1
		})
		for ; i < len(a) && a[i].From < w.To; i++ {
			out = append(out, index.Window{From: max(a[i].From, w.From), To: min(a[i].To, w.To)})
		}
	}
	return out
}
