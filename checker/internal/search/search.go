package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/anishathalye/porcupine"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

const (
	// maxWindow bounds what one search may cost in memory: porcupine keeps one
	// bit per operation for every step it remembers.
	maxWindow = 40_000
	// breath is after how many windows the search looks at the time.
	breath = 64
	// mostBytes bounds what the states of one window may take. Those that porcupine
	// meets again are counted again, though it keeps them once.
	mostBytes = 1 << 29
)

var errMemory = errors.New("the states to search are too many to be held in memory")

// Judge judges the operations on leases, in no more than limit, and in half a
// gigabyte of states. It is unknown if there are none of known outcome, or if the
// search was cut off.
func Judge(x *index.Index, limit time.Duration) finding.Finding {
	return judge(x, limit, mostBytes)
}

func judge(x *index.Index, limit time.Duration, most int) finding.Finding {
	b, cancel := newBound(limit, most)
	defer cancel()
	n := 0
	for _, e := range x.Elections {
		s := newSearch(b, x, e)
		n += s.known
		switch verdict, stuck := s.check(); verdict {
		case finding.Pass:
			s.release()
		case finding.Unknown:
			return finding.Undecided(s.why + x.In(e))
		case finding.Fail:
			reason := "no order of the operations is one that a lease with expiry could have answered" + x.In(e)
			if stuck == nil {
				return finding.Failed(reason)
			}
			return finding.Failed(reason+"; it ends at the latest with "+describeInput(stuck), s.evidence(stuck)...)
		}
	}
	if n == 0 {
		return finding.Nothing("the history has no operation of known outcome on a lease")
	}
	return finding.Passed(fmt.Sprintf("porcupine found an order for all of %d operations", n))
}

// search is the check of one election.
type search struct {
	*bound
	model *leaseModel
	known int          // how many of the inputs are operations whose outcome is known
	begin []leaseState // in which it begins
	why   string       // why the verdict is unknown
	held  int          // how many bytes the states of this window take
	*memory
}

// bound is how long a search may go on, and how much it may take. Its context is done
// when either is over.
type bound struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	most int // bytes that the states of a window take
}

func newBound(limit time.Duration, most int) (*bound, context.CancelFunc) {
	timed, cancel := context.WithTimeout(context.Background(), limit)
	ctx, stop := context.WithCancelCause(timed)
	return &bound{ctx, stop, most}, cancel
}

// hold counts states that are kept until their window is done, beside so many other
// bytes. It stops a search that takes too much.
func (s *search) hold(states []leaseState, beside int) {
	s.held += beside
	for i := range states {
		s.held += int(unsafe.Sizeof(states[i])) + len(states[i].pending)
	}
	if s.held > s.most {
		s.stop(errMemory)
	}
}

func newSearch(b *bound, x *index.Index, e *index.Election) *search {
	m := &leaseModel{ctx: b.ctx, tolerance: x.Tolerance, named: true}
	s := &search{bound: b, model: m, begin: []leaseState{{now: always}}, memory: newMemory(len(e.Ops) + len(x.LeaseFaults) + 1)}
	var open []*index.Op // of unknown outcome, and the store's own record says nothing of them
	for _, o := range e.Ops {
		m.named = m.named && (o.Call != history.Acquire || o.Nonce != "")
		in := leaseInput{from: o.From, to: o.To, op: o, took: o.Kind == history.Ok, token: o.Got}
		if o.Kind == history.Info {
			switch {
			case o.Call == history.Observe:
				continue
			case o.Entry != nil && o.Entry.Applied:
				in.from, in.to, in.took, in.token = max(in.from, o.After), o.Before, true, o.Entry.Token
			case o.Entry == nil:
				open = append(open, o)
				continue
			default:
				continue
			}
		}
		s.inputs = append(s.inputs, in)
	}
	s.known = len(s.inputs)
	if s.known == 0 {
		return s
	}
	s.send(x, e, open)
	for i := range x.LeaseFaults {
		f := &x.LeaseFaults[i]
		s.inputs = append(s.inputs, leaseInput{from: f.From, to: min(f.To, x.End), fault: f})
	}
	compare := func(a, b leaseInput) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(s.inputs, compare) {
		slices.SortStableFunc(s.inputs, compare)
	}
	return s
}

// send adds the sending of operations of which nobody knows what became of them.
// Where the store's own record can be relied on, whatever it lacks came after its
// last entry: it may have ended early.
func (s *search) send(x *index.Index, e *index.Election, open []*index.Op) {
	if len(open) == 0 {
		return
	}
	uses := e.LastUses()
	end, recorded := e.RecordEnd()
	late, alike := leaseInput{from: end, to: end}, map[leaseKind]int{}
	for _, o := range open {
		k := kindOf(o)
		if o.From <= end && recorded && !x.LossySince(o.From) {
			class, ok := alike[k]
			if !ok {
				class = s.model.addYoung(k, end, uses[o.Nonce])
				alike[k] = class
			}
			late.op, late.sent = o, append(late.sent, class)
			continue
		}
		class := s.model.addYoung(k, o.From, uses[o.Nonce])
		s.inputs = append(s.inputs, leaseInput{from: o.From, to: o.From, op: o, sent: []int{class}})
	}
	if late.sent != nil {
		s.inputs = append(s.inputs, late)
	}
}

// ret is when the input was over at the latest.
func (in *leaseInput) ret() time.Duration { return max(in.from, in.to) }

func kindOf(o *index.Op) leaseKind {
	k := leaseKind{call: o.Call, node: o.Node, nonce: o.Nonce, token: o.Token, ttl: o.TTL}
	if o.Call == history.Release {
		k.ttl = 0
	}
	return k
}

// check decides whether the operations have an order, and names the one at
// which the search got stuck.
func (s *search) check() (finding.Verdict, *leaseInput) {
	if len(s.inputs) == 0 {
		return finding.Pass, nil
	}
	if len(s.model.classes) > maxClasses {
		s.why = "too many operations have an unknown outcome to search"
		return finding.Unknown, nil
	}
	verdict, stuck, partial := s.pass(false)
	if verdict == finding.Fail && partial {
		verdict, stuck, _ = s.pass(true)
	}
	if verdict == finding.Fail && s.ctx.Err() != nil { // a step that was cut off looks impossible
		return s.late(), nil
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
func (s *search) pass(all bool) (verdict finding.Verdict, stuck *leaseInput, partial bool) {
	states, some := s.begin, false
	for i, n := 0, 0; i < len(s.inputs); n++ {
		if n%breath == 0 && s.ctx.Err() != nil {
			return s.late(), nil, partial
		}
		partial, s.held = some, 0
		end := s.quiet(i)
		w := s.inputs[i:end]
		next := s.room[n%2][:0]
		switch {
		case len(w) == 1:
			if next = s.model.step(next, states, &w[0]); len(next) == 0 {
				stuck = &w[0]
			}
		case s.narrow(w, states):
			next, stuck = append(next, s.levels[0].reached(s.model)...), s.levels[0].stuck
		case len(w) > maxWindow:
			s.why = fmt.Sprintf("%d operations without a moment in which none was under way are too many to search", len(w))
			return finding.Unknown, nil, partial
		default:
			var ends [][]leaseState
			ends, stuck = s.window(slices.Clone(states), w, all)
			if s.ctx.Err() != nil {
				return s.late(), nil, partial
			}
			for _, e := range ends {
				next = append(next, e...)
			}
			next, some = s.model.reduce(next), some || !all
		}
		if len(next) == 0 {
			return finding.Fail, stuck, partial
		}
		s.room[n%2], states, i = next, next, end
	}
	return finding.Pass, nil, partial
}

// late says why the search was cut off.
func (s *search) late() finding.Verdict {
	s.why = "porcupine did not finish in the time it was given"
	if errors.Is(context.Cause(s.ctx), errMemory) {
		s.why = errMemory.Error()
	}
	return finding.Unknown
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
	s.held = 0 // what narrow took is free again
	model := s.porcupineModel(states, len(ops)/8, &furthest)
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
			who = w[i].op.Node
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
// one covers. Porcupine keeps so many bytes beside the states of each step. furthest
// becomes the refused step with the latest call.
func (s *search) porcupineModel(states []leaseState, beside int, furthest **leaseInput) porcupine.Model {
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
			s.hold(next, beside)
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

// evidence is the operation at which the search got stuck, or the one before.
func (s *search) evidence(stuck *leaseInput) []int64 {
	for i := range slices.Backward(s.inputs) {
		if in := &s.inputs[i]; in.from <= stuck.from && in.op != nil && in.sent == nil && (stuck.op == nil || in == stuck) {
			return []int64{in.op.Seq()}
		}
	}
	return nil
}
