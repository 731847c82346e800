package checker

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// writeWithinTerm decides whether a candidate that does not believe to lead, by its own
// account, begins no write: nobody that was never elected, and nobody after its
// own deadline or after it said that its term is over. A fence hides that where
// there are tokens, because a refused write ends the work, and nothing shows it
// where there are none. Terms that the end of the run ended are not judged: the
// harness has taken the process away, and looks no more for what holds up others.
//
// Sound. A write that was on its way, or whose process was held up, was begun
// before; and what is shorter than a stall that would have been recorded says
// nothing. Of a writer that is known to write in step (write_ns) the third one in
// a row that arrives after its term was begun two steps later than the first.
// Terms that were read off the wire end when the lease in the store is
// over; they accuse only where every request of the node since was understood.
// Unknown if there are writes in an election of which nobody reported a belief.
func writeWithinTerm(x *facts) Finding {
	writes, terms := 0, 0
	var silent *index.Election // has writes, and no belief
	for _, e := range x.Elections {
		writes += len(e.Writes)
		terms += len(e.Beliefs)
		if len(e.Beliefs) == 0 {
			if len(e.Writes) > 0 {
				silent = e
			}
			continue
		}
		o := newOwn(e)
		for _, w := range e.Writes {
			f := o.judge(x, w)
			if f == nil {
				f = o.nameless(w)
			}
			if f == nil {
				f = o.another(x, w)
			}
			if f != nil {
				f.Reason += x.In(e)
				return *f
			}
		}
	}
	switch {
	case terms == 0:
		return finding.Nothing("nobody said when it believes to lead")
	case writes == 0:
		return finding.Nothing("nobody wrote to a protected resource")
	case silent != nil:
		return finding.Undecided(fmt.Sprintf("nobody said%s when it believes to lead, and there is a write", x.In(silent)), silent.Writes[0].Invoked)
	}
	return finding.Passed(fmt.Sprintf("%s, each by somebody who believed to lead", finding.Count(writes, "write")))
}

// own finds the beliefs of the node that writes.
type own struct {
	e        *index.Election
	byNode   map[*index.Node][]*index.Belief // by begin
	byTerm   map[termKey][]*index.Belief     // by begin: a store that was two may grant a token twice
	lately   map[*index.Node]int             // how many writes in a row it began when it believed no more
	reported bool                            // somebody says when it believes
	tokens   bool                            // terms have tokens
	fenced   bool                            // writes do
}

// termKey names a term.
type termKey struct {
	node  *index.Node
	token uint64
}

func newOwn(e *index.Election) *own {
	o := &own{e: e, byNode: map[*index.Node][]*index.Belief{}, byTerm: map[termKey][]*index.Belief{}, lately: map[*index.Node]int{}}
	for _, b := range e.Beliefs {
		o.byNode[b.By] = append(o.byNode[b.By], b)
		k := termKey{b.By, b.Token}
		o.byTerm[k] = append(o.byTerm[k], b)
		o.reported = o.reported || !b.Inferred
		o.tokens = o.tokens || b.Token != 0
	}
	o.fenced = slices.ContainsFunc(e.Writes, func(w *index.Op) bool { return w.Token != 0 })
	return o
}

// term is the belief in whose name the write was begun, as far as one can tell:
// that of its token, or else the last one that had begun. It is nil if the node
// had none.
func (o *own) term(x *facts, w *index.Op) *index.Belief {
	all := o.byNode[w.By]
	if w.Token != 0 && o.tokens {
		all = o.byTerm[termKey{w.By, w.Token}]
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].From > w.From+x.Patience() })
	if i == 0 {
		return nil
	}
	return all[i-1]
}

// judge finds out whether the writer believed to lead when it began the write.
func (o *own) judge(x *facts, w *index.Op) *Finding {
	b := o.term(x, w)
	if b == nil || b.From > w.From+x.Patience() {
		return o.unelected(x, w)
	}
	if b.At(w.From, x.Patience()) || w.Token == 0 && o.believes(w, x.Patience()) {
		return nil
	}
	return o.tooLate(x, w, b)
}

// tooLate is the finding on a write after the end of its term, unless something
// excuses it.
func (o *own) tooLate(x *facts, w *index.Op, b *index.Belief) *Finding {
	over := overSince(b, w.From)
	if over >= x.StatedEnd || x.HeldThroughout(w.Node, over, w.From) || b.Inferred && !o.understood(w, b) {
		return nil
	}
	why := string(history.Expired)
	if over == b.To {
		why = b.Why
	}
	f := finding.Failed(fmt.Sprintf("%s wrote at %s, %s after its term had ended (%s)",
		finding.Who(w.Node, b.Token), finding.Moment(w.From), finding.Span(w.From-over), why), b.End, w.Invoked)
	return &f
}

// overSince is when the belief had ended the last time before t.
func overSince(b *index.Belief, t time.Duration) time.Duration {
	over := b.From
	for _, s := range b.Spans {
		if s.To <= t {
			over = max(over, s.To)
		}
	}
	return over
}

// believes reports whether the node believed in any term when it began a write that
// names none.
func (o *own) believes(w *index.Op, patience time.Duration) bool {
	return slices.ContainsFunc(o.byNode[w.By], func(b *index.Belief) bool { return b.At(w.From, patience) })
}

// inStep is how many writes in a row, of a node that writes in step, show that the
// last one was begun after the term: so long none is on its way.
const inStep = 3

// another is the finding on one more write of a node that writes in step, when
// some had arrived already since its term ended.
func (o *own) another(x *facts, w *index.Op) *Finding {
	if x.Header.Write == 0 {
		return nil
	}
	b := o.term(x, w)
	if b == nil || b.Inferred || b.At(w.From, 0) || w.Token == 0 && o.believes(w, 0) || w.From < b.From {
		o.lately[w.By] = 0
		return nil
	}
	if o.lately[w.By]++; o.lately[w.By] < inStep {
		return nil
	}
	return o.tooLate(x, w, b)
}

// nameless is the finding on a write without a token where the node has one, and
// writes are fenced.
func (o *own) nameless(w *index.Op) *Finding {
	if w.Token != 0 || !o.fenced {
		return nil
	}
	for _, b := range o.byNode[w.By] {
		if b.Token != 0 && b.At(w.From, 0) {
			f := finding.Failed(fmt.Sprintf("%s wrote at %s without the token of its term", finding.Who(w.Node, b.Token), finding.Moment(w.From)), b.Begin, w.Invoked)
			return &f
		}
	}
	return nil
}

// unelected is the finding on a write of a node that was not elected to any term
// in whose name it can be.
func (o *own) unelected(x *facts, w *index.Op) *Finding {
	if !o.reported && !o.understood(w, nil) || x.Held(w.Node, w.From, w.From) {
		return nil
	}
	f := finding.Failed(fmt.Sprintf("%s wrote at %s, and had never been elected to that term", finding.Who(w.Node, w.Token), finding.Moment(w.From)), w.Invoked)
	return &f
}

// understood reports whether every request of the node up to the write, and since
// its term began, is one of which is known what it did.
func (o *own) understood(w *index.Op, since *index.Belief) bool {
	for _, a := range o.e.Ops {
		if a.By != w.By || a.From > w.From || since != nil && a.To < since.From {
			continue
		}
		if a.Kind == history.Info && a.Call != history.Observe {
			return false
		}
	}
	return true
}
