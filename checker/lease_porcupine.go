package checker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/recount-io/recount/history"
)

const (
	// maxWindow bounds what one search may cost in memory: porcupine keeps one
	// bit per operation for every step it remembers.
	maxWindow = 40_000
	// breath is after how many windows the search looks at the time.
	breath = 64
)

// checkPorcupine is the third checker of LeaseLinearizable: the black-box
// search for an order of the operations that fits the times and the sequential
// model of one lease with expiry.
//
// The search is that of Wing and Gong ("Testing and verifying concurrent
// objects", 1993) with the memory of Lowe ("Testing for linearizability",
// 2017), as implemented by porcupine. It is sound and complete up to epsilon,
// and may be cut off by the time cap, which reads as unknown.
//
// Operations of unknown outcome. Where the store kept an audit, it tells what
// became of them: an applied entry makes them certain, with times bounded by
// the neighbours in the store's order, and no entry at all means that they
// never took effect (unless a fault may have lost entries). Without an audit
// they are not operations of the search: their sending is, and the model's
// state carries that they may take effect at any later time or never. A search
// over operations that return at infinity would time out; one that cuts their
// time off without evidence would raise false alarms.
//
// Windows. Porcupine's memory is quadratic in the operations, so the history
// is cut at every quiet point, where nothing is pending, and the set of states
// is carried from window to window. Most windows have one operation, and so one
// order; in others so few operations overlap that one can go through all orders
// (see narrow). Both are exact and need no search. Of another window the first
// attempt carries the states of one order only. If a later window then has no
// order, the check begins again and carries the states of all orders, which is
// exact.
func checkPorcupine(r *run, limit time.Duration, t *tally) *Finding {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, e := range r.elections {
		s := newSearch(ctx, r, e)
		t.searched += len(s.inputs)
		verdict, stuck := s.check()
		e.ends = s.ends
		r.work.inputs = s.inputs[:0]
		switch verdict {
		case Unknown:
			f := unknown(LeaseLinearizable, s.why+r.in(e))
			return &f
		case Fail:
			reason := "no order of the operations is one that a lease with expiry could have answered" + r.in(e)
			if stuck == nil {
				f := fail(LeaseLinearizable, reason)
				return &f
			}
			f := fail(LeaseLinearizable, reason+"; it ends at the latest with "+describeInput(stuck), stuck.evidence()...)
			return &f
		}
	}
	return nil
}

// search is the check of one election.
type search struct {
	ctx    context.Context
	model  *leaseModel
	inputs []leaseInput // by call
	begin  []leaseState // in which it begins
	ends   []leaseState // in which it may end, if it passes
	why    string       // why the verdict is unknown
	room   [2][]leaseState
	one    []leaseState
	levels [2]level
}

func newSearch(ctx context.Context, r *run, e *election) *search {
	s := &search{ctx: ctx, model: &leaseModel{tolerance: r.epsilon()}, inputs: r.work.inputs[:0], begin: e.past.states}
	s.model.lengthened = slices.ContainsFunc(r.leaseFaults(), func(f *fault) bool { return f.shorten < 0 })
	if s.begin == nil {
		s.begin = []leaseState{{now: -forever}}
	}
	s.begin = slices.Clone(s.begin)
	audited, lossy := e.audited(), r.lossy()
	for _, o := range e.ops {
		in := leaseInput{from: o.from, to: o.to, op: o, took: o.kind == history.Ok, token: o.got}
		if o.kind == history.Info {
			switch {
			case o.call == history.Observe:
				continue
			case o.audit != nil && o.audit.applied:
				in.from, in.to, in.took, in.token = max(in.from, o.after), min(o.before, r.end), true, o.audit.token
			case o.audit != nil || audited && !lossy:
				continue
			case o.old:
				s.sentBefore(s.classOf(e, o) - 1)
				continue
			default:
				in.to, in.class = in.from, s.classOf(e, o)
			}
		}
		s.inputs = append(s.inputs, in)
	}
	if len(s.inputs) == 0 {
		return s
	}
	for _, f := range r.leaseFaults() {
		s.inputs = append(s.inputs, leaseInput{from: f.from, to: min(f.to, r.end), fault: f})
	}
	compare := func(a, b leaseInput) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(s.inputs, compare) {
		slices.SortStableFunc(s.inputs, compare)
	}
	return s
}

// ret is when the input was over at the latest.
func (in *leaseInput) ret() time.Duration { return max(in.from, in.to) }

// sentBefore notes that an operation of the class was sent before the first
// input, and may take effect from there on.
func (s *search) sentBefore(class int) {
	for i := range s.begin {
		b := &s.begin[i]
		b.pending = b.pending.with(class, +1)
		s.model.prune(b)
	}
}

// classOf is the number, from 1, of the operation's class.
func (s *search) classOf(e *election, o *op) int {
	c := leaseClass{call: o.call, node: o.node, nonce: o.nonce, token: o.token, ttl: o.ttl}
	switch {
	case o.call == history.Release:
		c.ttl = 0
	case o.call == history.Acquire && o.nonce != "":
		return s.model.addAcquireClass(c, e.lastUse(o.nonce)) + 1
	}
	return s.model.addClass(c) + 1
}

// check decides whether the operations have an order, and names the one at
// which the search got stuck.
func (s *search) check() (Verdict, *leaseInput) {
	if len(s.inputs) == 0 {
		s.ends = s.begin
		return Pass, nil
	}
	if len(s.model.classes) > maxClasses {
		s.why = "too many operations have an unknown outcome to search"
		return Unknown, nil
	}
	verdict, stuck, partial := s.pass(false)
	if verdict == Fail && partial {
		verdict, stuck, _ = s.pass(true)
	}
	return verdict, stuck
}

// quiet is the first moment without a pending operation after the i-th began:
// the index of the one that is called next.
func (s *search) quiet(i int) int {
	busy := s.inputs[i].ret()
	for i++; i < len(s.inputs) && s.inputs[i].from <= busy; i++ {
		busy = max(busy, s.inputs[i].ret())
	}
	return i
}

// pass checks window after window. If all, it carries the states after every
// order of a large window, else those after the first order found: it is
// partial if it did so and there was a window after it.
func (s *search) pass(all bool) (verdict Verdict, stuck *leaseInput, partial bool) {
	states, some := s.begin, false
	for i, n := 0, 0; i < len(s.inputs); n++ {
		if n%breath == 0 && s.ctx.Err() != nil {
			return s.late(), nil, partial
		}
		partial = some
		end := s.quiet(i)
		w := s.inputs[i:end]
		next := s.room[n%2][:0]
		switch {
		case len(w) == 1:
			if next = s.model.step(next, states, &w[0]); len(next) == 0 {
				stuck = &w[0]
			}
		case s.narrow(w, states):
			next, stuck = append(next, s.levels[0].reached()...), s.levels[0].stuck
		case len(w) > maxWindow:
			s.why = fmt.Sprintf("%d operations without a moment in which none was under way are too many to search", len(w))
			return Unknown, nil, partial
		default:
			var ends [][]leaseState
			ends, stuck = s.window(slices.Clone(states), w, all)
			if s.ctx.Err() != nil {
				return s.late(), nil, partial
			}
			for _, e := range ends {
				next = append(next, e...)
			}
			next, some = reduce(next), some || !all
		}
		if len(next) == 0 {
			return Fail, stuck, partial
		}
		s.room[n%2], states, i = next, next, end
	}
	s.ends = slices.Clone(states)
	return Pass, nil, partial
}

func (s *search) late() Verdict {
	s.why = "porcupine did not finish in the time it was given"
	return Unknown
}

// window runs porcupine over the operations and returns the sets of states in
// which it may end. A last operation, after all others, tells them: the search
// reaches it only with a complete order. Where all ends are wanted it refuses,
// so that the search goes on.
func (s *search) window(states []leaseState, w []leaseInput, all bool) ([][]leaseState, *leaseInput) {
	var ends [][]leaseState
	last := int64(math.MinInt64)
	ops := operations(w)
	for _, o := range ops {
		last = max(last, o.Return)
	}
	ops = append(ops, porcupine.Operation{
		Input: &leaseInput{end: &ends, goOn: all}, Call: last + 1, Return: last + 1,
	})
	var furthest *leaseInput
	model := s.porcupineModel(states, &furthest)
	porcupine.CheckOperationsTimeout(model, ops, 0) // the steps themselves watch the time
	return ends, furthest
}

// operations are the inputs as porcupine wants them.
func operations(w []leaseInput) []porcupine.Operation {
	clients := map[string]int{}
	ops := make([]porcupine.Operation, 0, len(w)+1)
	for i := range w {
		who := "\x00environment"
		if w[i].op != nil {
			who = w[i].op.node
		}
		if _, ok := clients[who]; !ok {
			clients[who] = len(clients)
		}
		ops = append(ops, porcupine.Operation{
			ClientId: clients[who], Input: &w[i], Call: int64(w[i].from), Return: int64(w[i].ret()),
		})
	}
	return ops
}

// porcupineModel is the model as porcupine wants it. It is the power-set
// construction of porcupine's NondeterministicModel.ToModel, made here because
// that one only merges equal states, while ours also drops those that another
// one covers. furthest becomes the refused step with the latest call.
func (s *search) porcupineModel(states []leaseState, furthest **leaseInput) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return states },
		Step: func(state, input, _ any) (bool, any) {
			in := input.(*leaseInput)
			current := state.([]leaseState)
			if in.end != nil {
				*in.end = append(*in.end, current)
				return !in.goOn, current
			}
			if s.ctx.Err() != nil {
				return false, current
			}
			next := s.model.step(nil, current, in)
			if len(next) == 0 && furthest != nil && (*furthest == nil || (*furthest).from < in.from) {
				*furthest = in
			}
			return len(next) > 0, next
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]leaseState), b.([]leaseState)) },
		Hash:  func(state any) uint64 { return hashStates(state.([]leaseState)) },
		DescribeOperation: func(input, _ any) string {
			return describeInput(input.(*leaseInput))
		},
		DescribeState: func(state any) string { return describeStates(state.([]leaseState)) },
	}
}

func hashStates(states []leaseState) uint64 {
	const prime = 1099511628211 // FNV-1a over 64-bit words
	h := uint64(14695981039346656037)
	mix := func(v uint64) {
		h ^= v
		h *= prime
	}
	for i := range states {
		s := &states[i]
		mix(s.token)
		mix(s.last)
		mix(uint64(s.a))
		mix(uint64(s.b))
		mix(uint64(s.now))
		for _, text := range []string{s.holder, s.nonce} {
			for j := range len(text) {
				mix(uint64(text[j]))
			}
		}
	}
	return h
}

func (in *leaseInput) evidence() []int64 {
	switch {
	case in.op != nil:
		return []int64{in.op.seq()}
	case in.fault != nil:
		return []int64{in.fault.onSeq}
	default:
		return nil
	}
}
