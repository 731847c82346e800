package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// fencedWrites decides whether the protected resource kept its own
// promise: it never accepts a token smaller than one it accepted before, it
// refuses only what it must, a read sees the last accepted write, and what it has shown of
// its fence, by a refusal or a read, it does not forget. The resource
// records what it decides, so "before" is the order of the decisions, however long
// one of them was on its way. Where callers record them, the return of one precedes
// the call of the other; those that overlap may have had any order.
//
// Sound. It compares pairs and is complete for the order of tokens; reads are
// compared with writes; with each other by their tokens.
func fencedWrites(x *facts) Finding {
	fenced, reads := 0, 0
	for _, e := range x.Elections {
		for _, o := range e.Writes {
			if o.Token != 0 && o.Kind != history.Info {
				fenced++
			}
		}
		reads += len(e.Reads)
		all := accepted(e)
		for _, find := range []func(*index.Election, []*index.Op) *Finding{staleWrite, wrongRefusal, staleRead, forgotten} {
			if f := find(e, all); f != nil {
				f.Reason += x.In(e)
				return *f
			}
		}
	}
	if fenced == 0 {
		return finding.Nothing("the history has no write with a token to a protected resource")
	}
	return finding.Passed(fmt.Sprintf("the resource judged %s rightly, and %s saw the last accepted one",
		finding.Count(fenced, "fenced write"), finding.Count(reads, "read")))
}

// accepted are the accepted writes, by return.
func accepted(e *index.Election) []*index.Op {
	out := slices.DeleteFunc(slices.Clone(e.Writes), func(o *index.Op) bool { return o.Kind != history.Ok })
	compare := func(a, b *index.Op) int { return cmp.Compare(a.To, b.To) }
	if !slices.IsSortedFunc(out, compare) {
		slices.SortStableFunc(out, compare)
	}
	return out
}

// prefixMax returns, for every i, the operation of ops[:i+1] with the largest
// key.
func prefixMax[K cmp.Ordered](ops []*index.Op, key func(*index.Op) K) []*index.Op {
	out := make([]*index.Op, len(ops))
	for i, o := range ops {
		out[i] = o
		if i > 0 && key(out[i-1]) >= key(o) {
			out[i] = out[i-1]
		}
	}
	return out
}

// before is how many of the operations, ordered by return, returned before t.
func before(ops []*index.Op, t time.Duration) int {
	return sort.Search(len(ops), func(i int) bool { return ops[i].To >= t })
}

func tokenOf(o *index.Op) uint64 { return o.Token }

// staleWrite finds an accepted write with a smaller token than one accepted
// before it was decided.
func staleWrite(_ *index.Election, accepted []*index.Op) *Finding {
	highest := prefixMax(accepted, tokenOf)
	for _, o := range accepted {
		if h := outrun(accepted, highest, o); h != nil {
			f := finding.Failed(fmt.Sprintf("the resource accepted a write of %s at %s after one of %s at %s",
				finding.Who(o.Node, o.Token), finding.Moment(o.To), finding.Who(h.Node, h.Token), finding.Moment(h.To)), h.Seq(), o.Seq())
			return &f
		}
	}
	return nil
}

// outrun is the accepted write of the largest token that was decided before this one,
// if that token is larger. highest is of accepted.
func outrun(accepted, highest []*index.Op, o *index.Op) *index.Op {
	i := before(accepted, o.Decided())
	if o.Token == 0 || i == 0 || highest[i-1].Token <= o.Token {
		return nil
	}
	return highest[i-1]
}

// wrongRefusal finds a refused write that no larger token justifies.
func wrongRefusal(e *index.Election, _ []*index.Op) *Finding {
	var arrived []*index.Op // writes that may have been accepted, by call
	for _, o := range e.Writes {
		if o.Kind != history.Fail {
			arrived = append(arrived, o)
		}
	}
	highest := prefixMax(arrived, tokenOf)
	for _, o := range e.Writes {
		if o.Kind != history.Fail || o.Token == 0 || o.Err != "" && o.Fence == 0 {
			continue // unfenced, or failed for another reason
		}
		var most uint64
		if i := sort.Search(len(arrived), func(i int) bool { return arrived[i].From > o.To }); i > 0 {
			most = highest[i-1].Token
		}
		why := ""
		switch {
		case o.Fence != 0 && o.Fence <= o.Token:
			why = fmt.Sprintf("by the fence %d, which is not larger", o.Fence)
		case most <= o.Token:
			why = "although no larger token had arrived"
		case o.Fence > most:
			why = fmt.Sprintf("by the fence %d, although the largest token that had arrived was %d", o.Fence, most)
		}
		if why != "" && !waited(e, o) {
			f := finding.Failed(fmt.Sprintf("the resource refused a write of %s at %s %s",
				finding.Who(o.Node, o.Token), finding.Moment(o.To), why), o.Seq())
			return &f
		}
	}
	return nil
}

// waited reports whether the fence that a write was refused by can be the token of
// another one that was refused itself in the end: a guard that keeps a larger token
// waiting until the writes under way have ended refuses smaller ones meanwhile, and
// the waiting one when a still larger one comes.
func waited(e *index.Election, o *index.Op) bool {
	return o.Fence > o.Token && slices.ContainsFunc(e.Writes, func(w *index.Op) bool {
		return w.Kind == history.Fail && w.Token >= o.Fence && w.From <= o.To && w.To >= o.From
	})
}

// staleRead finds a read that did not see the last accepted write: one that was
// decided before another one that was decided before the read, or that has a smaller
// token than one of those. Accepted writes come in the order of their tokens.
func staleRead(e *index.Election, accepted []*index.Op) *Finding {
	byValue := make(map[string][]*index.Op, len(e.Reads)) // writes of what was read
	for _, o := range e.Reads {
		byValue[o.Value] = nil
	}
	for _, o := range e.Writes {
		if seen, read := byValue[o.Value]; read && o.Kind != history.Fail {
			byValue[o.Value] = append(seen, o)
		}
	}
	latest, highest := prefixMax(accepted, (*index.Op).Decided), prefixMax(accepted, tokenOf)
	for _, o := range e.Reads {
		if o.Kind != history.Ok {
			continue
		}
		var last, top *index.Op // of the writes decided before the read, the last one, and that of the largest token
		if i := before(accepted, o.Decided()); i > 0 {
			last, top = latest[i-1], highest[i-1]
		}
		source := sourceOf(o, byValue[o.Value], top)
		switch {
		case source == nil && o.Value == "" && last == nil: // nothing had been written
		case source == nil && (o.Value != "" || o.Got != 0):
			f := finding.Failed(fmt.Sprintf("%s read %q (token %d) at %s, which nobody had written", o.Node, o.Value, o.Got, finding.Moment(o.To)), o.Seq())
			return &f
		case source == nil, last != nil && source.To < last.Decided():
			f := finding.Failed(fmt.Sprintf("%s read %q at %s after %s had written %q at %s",
				o.Node, o.Value, finding.Moment(o.To), finding.Who(last.Node, last.Token), last.Value, finding.Moment(last.To)), last.Seq(), o.Seq())
			return &f
		case outdone(source, top):
			f := finding.Failed(fmt.Sprintf("%s read %q (token %d) at %s after a write of %s was accepted at %s",
				o.Node, o.Value, source.Token, finding.Moment(o.To), finding.Who(top.Node, top.Token), finding.Moment(top.To)), top.Seq(), o.Seq())
			return &f
		}
	}
	return nil
}

// sourceOf is the write that a read may have seen, of those of its value: the one that
// ended last, one that the token of top does not rule out if there is any.
func sourceOf(o *index.Op, writes []*index.Op, top *index.Op) (source *index.Op) {
	for _, w := range writes {
		if w.From > o.To || o.Got != 0 && w.Token != 0 && w.Token != o.Got {
			continue
		}
		if source == nil || outdone(source, top) && !outdone(w, top) || outdone(source, top) == outdone(w, top) && w.To > source.To {
			source = w
		}
	}
	return source
}

// outdone reports whether the write has a smaller token than top.
func outdone(w, top *index.Op) bool { return top != nil && w.Token != 0 && w.Token < top.Token }

// forgotten finds an operation that shows a smaller fence of the resource than one which
// had ended before it was decided: accepted writes show their tokens, refused ones the
// fence that they name, and reads the token of what they saw. A fence may be raised before
// anything is written, so a read says nothing after a refusal.
func forgotten(e *index.Election, _ []*index.Op) *Finding {
	shown := slices.DeleteFunc(slices.Concat(e.Writes, e.Reads), func(o *index.Op) bool { return shows(o) == 0 })
	slices.SortStableFunc(shown, func(a, b *index.Op) int { return cmp.Compare(a.To, b.To) })
	written := slices.DeleteFunc(slices.Clone(shown), func(o *index.Op) bool { return o.Kind == history.Fail })
	fences, contents := prefixMax(shown, shows), prefixMax(written, shows)
	for _, o := range shown {
		all, highest := shown, fences
		if o.Call == history.Read {
			all, highest = written, contents
		}
		i := before(all, o.Decided())
		if i == 0 || shows(highest[i-1]) <= shows(o) {
			continue
		}
		h := highest[i-1]
		f := finding.Failed(fmt.Sprintf("%s at %s, after %s at %s", showing(o), finding.Moment(o.To), showing(h), finding.Moment(h.To)), h.Seq(), o.Seq())
		return &f
	}
	return nil
}

// shows is the token that the resource has seen, as the operation shows; 0 if it shows none.
func shows(o *index.Op) uint64 {
	switch {
	case o.Call == history.Read && o.Kind == history.Ok:
		return o.Got
	case o.Call == history.Write && o.Kind == history.Ok:
		return o.Token
	case o.Call == history.Write && o.Kind == history.Fail:
		return o.Fence
	default:
		return 0
	}
}

// showing says how an operation shows it.
func showing(o *index.Op) string {
	switch {
	case o.Call == history.Read:
		return fmt.Sprintf("%s read what was written with token %d", o.Node, o.Got)
	case o.Kind == history.Fail:
		return fmt.Sprintf("the resource refused a write of %s by the fence %d", finding.Who(o.Node, o.Token), o.Fence)
	default:
		return fmt.Sprintf("the resource accepted a write of %s", finding.Who(o.Node, o.Token))
	}
}
