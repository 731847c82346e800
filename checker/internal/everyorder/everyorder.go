package everyorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

const (
	// most is how many operations a stretch may have.
	most = 40
	// budget is how many places all orders of all stretches together may lead to.
	budget = 200_000
	// maxDescribed is how many operations the reason describes.
	maxDescribed = 6
)

// Try looks for an order of the operations around those to which the events of
// the hint belong. It fails if there is none, with the few operations that show
// it as evidence, and passes if there is one of the whole election. It is unknown
// otherwise, and if the hint is of no operation.
func Try(x *index.Index, hint []int64) finding.Finding {
	e, around := find(x, hint)
	if e == nil {
		return finding.Undecided("nothing says which operations to try every order of")
	}
	left := budget
	for _, w := range stretches(e, around) {
		s := cut(x, e, w)
		if s == nil {
			break
		}
		found := s.search(&left)
		if left <= 0 {
			break
		}
		if !found {
			return s.fewer().convict(x, e)
		}
		if w.From == -index.Forever && w.To == index.Forever {
			return finding.Passed("trying every order finds one")
		}
	}
	return finding.Undecided("too many operations to try every order of")
}

// find is the election of the operations to which the events belong, and the time
// that these took.
func find(x *index.Index, hint []int64) (*index.Election, index.Window) {
	var election *index.Election
	w := index.Window{From: index.Forever, To: -index.Forever}
	for _, e := range x.Elections {
		for _, o := range e.Ops {
			named := slices.Contains(hint, o.Invoked) || o.Completed != 0 && slices.Contains(hint, o.Completed)
			if !named || election != nil && election != e {
				continue
			}
			election = e
			w.From = min(w.From, o.From)
			if o.Kind == history.Info {
				w.To = max(w.To, o.From)
			} else {
				w.To = max(w.To, o.To)
			}
		}
	}
	return election, w
}

// stretches are the stretches to look at, from short to long. The last one is the
// whole election.
func stretches(e *index.Election, around index.Window) []index.Window {
	first, _ := slices.BinarySearchFunc(e.Ops, around.From, byCall)
	behind, _ := slices.BinarySearchFunc(e.Ops, around.To+1, byCall)
	quiet := around.To // the end of what was under way with them
	for i := max(0, behind-most); i < len(e.Ops) && e.Ops[i].From <= quiet; i++ {
		if o := e.Ops[i]; o.Kind != history.Info && o.To >= around.From {
			quiet = max(quiet, o.To)
		}
	}
	var out []index.Window
	for before := 2; ; before *= 2 {
		w := index.Window{From: -index.Forever, To: around.To}
		if i := first - before; i > 0 {
			w.From = e.Ops[i].From
		}
		out = append(out, w)
		if quiet > w.To {
			out = append(out, index.Window{From: w.From, To: quiet})
		}
		if w.From == -index.Forever || before > most {
			break
		}
	}
	return append(out, index.Window{From: -index.Forever, To: index.Forever})
}

func byCall(o *index.Op, t time.Duration) int {
	if o.From < t {
		return -1
	}
	return 1
}

// cut is the stretch of the election; nil if it is too large.
func cut(x *index.Index, e *index.Election, w index.Window) *stretch {
	s := &stretch{tolerance: x.Tolerance, faults: x.LeaseFaults}
	longest := x.Header.Lease
	for _, o := range e.Ops {
		if o.From > w.To {
			continue // those of which only the store knows come last
		}
		if o.From < w.From {
			longest = max(longest, o.TTL)
		}
		if i, in := take(o, w); in {
			if s.items = append(s.items, i); i.must {
				s.musts++
			}
		}
		if s.musts > most {
			return nil
		}
	}
	s.leaveUseless()
	for i := range s.faults {
		f := &s.faults[i]
		if f.To >= w.From && f.From <= w.To {
			must := f.From >= w.From && f.To <= w.To
			s.items = append(s.items, item{fault: f, lo: max(f.From, w.From), hi: min(f.To, w.To), must: must})
		}
	}
	if len(s.items) > most {
		return nil
	}
	s.nameAll()
	s.begin(w.From, longest)
	return s
}

// take is the operation as the stretch has it, and whether it has it.
func take(o *index.Op, w index.Window) (i item, in bool) {
	i = item{op: o, lo: max(o.From, w.From), hi: min(o.To, w.To)}
	within := o.From >= w.From && o.To <= w.To
	changes := o.Call != history.Observe && o.Kind != history.Fail
	switch {
	case o.To < w.From, o.Call == history.Observe && o.Kind != history.Ok, o.Kind == history.Fail && o.Inconclusive():
		return i, false
	case o.Kind == history.Info:
		i.hi = w.To
		return i, true
	default:
		i.must = within
		return i, within || changes
	}
}

// leaveUseless leaves out what may have happened and can be of use to nothing
// that must.
func (s *stretch) leaveUseless() {
	nonces, tokens := map[string]bool{}, map[uint64]bool{}
	nameless := false // somebody names a lease by its holder only
	s.items = slices.DeleteFunc(s.items, func(i item) bool {
		return !i.must && i.op.Call == history.Acquire && !slices.ContainsFunc(s.items, func(j item) bool { return j.must && j.demands(i.op) })
	})
	for _, i := range s.items {
		o := i.op
		nonces[o.Nonce] = nonces[o.Nonce] || i.must || o.Call == history.Acquire
		tokens[o.Got], tokens[o.Token] = true, tokens[o.Token] || i.must
		nameless = nameless || i.must && o.Got == 0 && o.Token == 0 && (o.Call != history.Observe || o.Holder != "")
	}
	s.items = slices.DeleteFunc(s.items, func(i item) bool {
		o := i.op
		if i.must || o.Call == history.Acquire || nameless {
			return false
		}
		return o.Token != 0 && !tokens[o.Token] || o.Token == 0 && o.Nonce != "" && !nonces[o.Nonce]
	})
}

// demands reports whether the item can be about a lease that the acquire brings.
func (i *item) demands(o *index.Op) bool {
	if i.fault != nil {
		return false
	}
	d := i.op
	switch {
	case d.Call == history.Observe && d.Holder == "" && d.Got == 0, d.Kind == history.Fail && d.Call != history.Acquire:
		return false
	case d.Call == history.Observe, d.Kind == history.Fail:
		return d.Holder == "" || o.Node == "" || d.Holder == o.Node
	case d.Call == history.Acquire && d.Nonce != o.Nonce:
		return false
	default:
		return (d.Node == o.Node || o.Node == "") && (d.Nonce == "" || o.Nonce == "" || d.Nonce == o.Nonce)
	}
}

// fewer is the stretch with as few operations that must have happened as it takes
// for there to be no order.
func (s *stretch) fewer() *stretch {
	for changed := true; changed; {
		changed = false
		for i := len(s.items) - 1; i >= 0; i-- {
			if !s.items[i].must || s.items[i].fault != nil {
				continue
			}
			less := *s
			less.items = slices.Clone(s.items)
			if o := less.items[i].op; o.Call == history.Observe || o.Kind == history.Fail {
				less.items = slices.Delete(less.items, i, i+1)
			} else {
				less.items[i].must = false
			}
			left := budget / 10
			if !less.search(&left) && left > 0 {
				*s, changed = less, true
			}
		}
	}
	return s
}

func (s *stretch) convict(x *index.Index, e *index.Election) finding.Finding {
	var seqs []int64
	var texts []string
	for _, i := range s.items {
		if !i.must || i.fault != nil {
			continue
		}
		seqs = append(seqs, i.op.Seq())
		texts = append(texts, describe(i.op))
	}
	more := ""
	if len(texts) > maxDescribed {
		more = fmt.Sprintf("; and %d more", len(texts)-maxDescribed)
		texts = texts[:maxDescribed]
	}
	return finding.Failed(fmt.Sprintf("no order of %s is one that a lease with expiry could have answered%s, and every one was tried: %s%s",
		finding.Count(len(seqs), "operation"), x.In(e), strings.Join(texts, "; "), more), seqs...)
}

// describe writes the operation for people.
func describe(o *index.Op) string {
	when := fmt.Sprintf("at %s to %s", finding.Moment(o.From), finding.Moment(o.To))
	if o.Kind == history.Ok && o.Call != history.Observe {
		return fmt.Sprintf("%s by %s took effect %s", o.Call, finding.Who(o.Node, max(o.Token, o.Got)), when)
	}
	return fmt.Sprintf("%s by %s was told %s: %s", o.Call, finding.Who(o.Node, o.Token), when, o.Answer())
}

// stretch is what one search is about.
type stretch struct {
	items     []item
	musts     int
	faults    []expiry.Fault
	tolerance expiry.Tolerance
	tokens    []uint64 // that somebody names, in order
	starts    []place
	tried     map[place]struct{}
}

// item is an operation, or a fault that touches leases.
type item struct {
	op     *index.Op
	fault  *expiry.Fault
	lo, hi time.Duration
	must   bool // it happened, at some time in [lo, hi]
}

func (s *stretch) nameAll() {
	for _, i := range s.items {
		if i.op == nil {
			continue
		}
		for _, t := range []uint64{i.op.Token, i.op.Got} {
			if t != 0 && !slices.Contains(s.tokens, t) {
				s.tokens = append(s.tokens, t)
			}
		}
	}
	slices.Sort(s.tokens)
}

const (
	anybody = "\x00anybody" // holds a lease that nobody in the stretch names
	unnamed = uint64(1) << 63
)

// begin adds what the lease may be where the stretch begins.
func (s *stretch) begin(from, longest time.Duration) {
	free := place{times: anytime}
	s.starts = append(s.starts, free)
	if from == -index.Forever {
		return
	}
	end := from + longest + s.tolerance.Of(longest)
	lost := expiry.Lost(s.faults, from)
	for i := range s.faults {
		if f := &s.faults[i]; f.Shorten < 0 && f.From <= from {
			end -= f.Shorten
		}
	}
	holders := []string{anybody}
	for _, i := range s.items {
		if i.op == nil {
			continue
		}
		for _, name := range []string{i.op.Node, i.op.Holder} {
			if name != "" && !slices.Contains(holders, name) {
				holders = append(holders, name)
			}
		}
	}
	for _, h := range holders {
		for _, t := range append(slices.Clone(s.tokens), unnamed) {
			p := free
			p.lease = lease{live: true, any: true, holder: h, token: t}
			if t != unnamed && !lost {
				p.lease.last = t
			}
			p.times.n1, p.times.n2, p.times.e2 = from, from, end
			s.starts = append(s.starts, p)
		}
	}
}
