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
	// windowOps is how many operations a window has before it ends at the next
	// quiet point.
	windowOps = 256
	// maxWindow bounds what one search may cost in memory: porcupine keeps one
	// bit per operation for every step it remembers.
	maxWindow = 40_000
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
// is cut at quiet points, where nothing is pending. The first attempt carries
// the set of states of one order of a window into the next one. If a window
// then has no order, the check begins again and carries the states of all
// orders, which is exact.
func checkPorcupine(r *run, limit time.Duration) Finding {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ops := 0
	for _, e := range r.elections {
		s := newSearch(ctx, r, e)
		ops += len(s.ops)
		switch verdict, stuck := s.check(); verdict {
		case Unknown:
			return unknown(LeaseLinearizable, s.why+r.in(e))
		case Fail:
			reason := "no order of the operations is one that a lease with expiry could have answered" + r.in(e)
			if stuck == nil {
				return fail(LeaseLinearizable, reason)
			}
			return fail(LeaseLinearizable, reason+"; it ends at the latest with "+describeInput(stuck), stuck.evidence()...)
		}
	}
	if ops == 0 {
		return unknown(LeaseLinearizable, "the history has no operation of known outcome on a lease")
	}
	return pass(LeaseLinearizable, fmt.Sprintf("porcupine found an order for all of %d operations", ops))
}

// search is the check of one election.
type search struct {
	ctx   context.Context
	model *leaseModel
	ops   []porcupine.Operation
	why   string // why the verdict is unknown
}

func newSearch(ctx context.Context, r *run, e *election) *search {
	s := &search{ctx: ctx, model: &leaseModel{epsilon: r.epsilon}}
	clients := map[string]int{}
	audited := len(e.audits) > 0
	for _, o := range e.ops {
		in := &leaseInput{from: o.from, to: o.to, op: o, took: o.kind == history.Ok, token: o.got}
		if o.kind == history.Info {
			switch {
			case o.call == history.Observe:
				continue
			case o.audit != nil && applied(o.audit):
				in.from, in.to, in.took, in.token = max(in.from, o.after), min(o.before, r.end), true, o.audit.Token
			case o.audit != nil || audited && !r.lossy():
				continue
			default:
				in.to, in.class = in.from, s.classOf(e, o)
			}
		}
		s.add(clients, o.node, in)
	}
	if len(s.ops) == 0 {
		return s
	}
	for _, f := range r.faults {
		if f.shorten != 0 || f.void {
			s.add(clients, "environment", &leaseInput{from: f.from, to: min(f.to, r.end), fault: f})
		}
	}
	slices.SortStableFunc(s.ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return s
}

func (s *search) add(clients map[string]int, who string, in *leaseInput) {
	if _, ok := clients[who]; !ok {
		clients[who] = len(clients)
	}
	s.ops = append(s.ops, porcupine.Operation{
		ClientId: clients[who], Input: in, Call: int64(in.from), Return: int64(max(in.from, in.to)),
	})
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
	if len(s.ops) == 0 {
		return Pass, nil
	}
	if len(s.model.classes) > maxClasses {
		s.why = "too many operations have an unknown outcome to search"
		return Unknown, nil
	}
	windows := s.windows()
	for _, w := range windows {
		if len(w) > maxWindow {
			s.why = fmt.Sprintf("%d operations without a moment in which none was under way are too many to search", len(w))
			return Unknown, nil
		}
	}
	verdict, stuck := s.pass(windows, false)
	if verdict == Fail && len(windows) > 1 {
		verdict, stuck = s.pass(windows, true)
	}
	return verdict, stuck
}

// windows cuts the operations at quiet points.
func (s *search) windows() [][]porcupine.Operation {
	var out [][]porcupine.Operation
	begin, busy := 0, int64(math.MinInt64)
	for i, o := range s.ops {
		if i-begin >= windowOps && o.Call > busy {
			out = append(out, s.ops[begin:i])
			begin = i
		}
		busy = max(busy, o.Return)
	}
	return append(out, s.ops[begin:])
}

// pass checks window after window. If all, it carries the states after every
// order of a window, else those after the first order found.
func (s *search) pass(windows [][]porcupine.Operation, all bool) (Verdict, *leaseInput) {
	states := s.initial()
	for _, w := range windows {
		ends, furthest := s.window(states, w, all)
		if s.ctx.Err() != nil {
			s.why = "porcupine did not finish in the time it was given"
			return Unknown, nil
		}
		if len(ends) == 0 {
			return Fail, furthest
		}
		states = reduce(slices.Concat(ends...))
	}
	return Pass, nil
}

func (s *search) initial() []leaseState {
	return []leaseState{{now: -forever}}
}

// window runs porcupine over the operations and returns the sets of states in
// which it may end. A last operation, after all others, tells them: the search
// reaches it only with a complete order. Where all ends are wanted it refuses,
// so that the search goes on.
func (s *search) window(states []leaseState, ops []porcupine.Operation, all bool) ([][]leaseState, *leaseInput) {
	var ends [][]leaseState
	last := int64(math.MinInt64)
	for _, o := range ops {
		last = max(last, o.Return)
	}
	ops = append(slices.Clone(ops), porcupine.Operation{
		Input: &leaseInput{end: &ends, goOn: all}, Call: last + 1, Return: last + 1,
	})
	var furthest *leaseInput
	model := s.porcupineModel(states, &furthest)
	porcupine.CheckOperationsTimeout(model, ops, 0) // the steps themselves watch the time
	return ends, furthest
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
			next := s.model.step(current, in)
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
