package checker

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/history"
)

// brute is the oracle: it tries every subset of the operations of unknown
// outcome, every order, and every whole moment for each operation.
type brute struct {
	ops   []*op
	steps int
}

// bruteState is the lease itself, with the moment of its last write.
type bruteState struct {
	live          bool
	holder, nonce string
	token, last   uint64
	written, ends time.Duration
}

const (
	bruteTTL   = 4
	bruteEnd   = 14
	bruteToken = 5 // tokens that an unknown grant may have got
)

func (b *brute) explains(done uint, now time.Duration, s bruteState) bool {
	b.steps++
	finished := true
	for i, o := range b.ops {
		if done&(1<<i) != 0 {
			continue
		}
		if o.kind != history.Info {
			finished = false
		}
		if b.late(done, i) { // an operation must not be placed before one that returned before its call
			continue
		}
		for t := max(now, o.from); t <= min(o.to, bruteEnd); t++ {
			for _, next := range answers(o, s, t) {
				if b.explains(done|1<<i, t, next) {
					return true
				}
			}
		}
	}
	return finished
}

// late tells whether another operation had to be placed before number i.
func (b *brute) late(done uint, i int) bool {
	for j, o := range b.ops {
		if done&(1<<j) == 0 && o.kind != history.Info && o.to < b.ops[i].from {
			return true
		}
	}
	return false
}

// answers is what the store can be after executing o at t with o's answer.
func answers(o *op, s bruteState, t time.Duration) []bruteState {
	alive := s.live && t < s.ends
	mine := alive && s.holder == o.node && s.token == o.token
	ok := o.kind != history.Fail
	switch o.call {
	case history.Observe:
		if alive && s.holder == o.holder && s.token == o.got || !alive && o.holder == "" && o.got == 0 {
			return []bruteState{s}
		}
		return nil
	case history.Acquire:
		again := alive && s.nonce == o.nonce && s.holder == o.node
		if !ok {
			if alive && !again && s.holder == o.holder && s.token == o.got {
				return []bruteState{s}
			}
			return nil
		}
		if alive && !again {
			return nil
		}
		var out []bruteState
		for token := uint64(1); token <= bruteToken; token++ {
			if again && token != s.token || !again && token <= s.last || o.kind == history.Ok && token != o.got {
				continue
			}
			out = append(out, bruteState{true, o.node, o.nonce, token, max(s.last, token), t, t + bruteTTL})
		}
		return out
	case history.Renew, history.Release:
		switch {
		case ok != mine:
			return nil
		case !ok:
			return []bruteState{s}
		case o.call == history.Renew:
			s.written, s.ends = t, t+bruteTTL
		default:
			s = bruteState{last: s.last}
		}
		return []bruteState{s}
	}
	return nil
}

// fewOps draws up to six operations on one lease, with answers that often
// make sense. A moment is one nanosecond.
func fewOps(t *rapid.T) []*op {
	n := rapid.IntRange(1, 6).Draw(t, "n")
	ops := make([]*op, n)
	moment := time.Duration(0)
	for i := range ops {
		moment += time.Duration(rapid.IntRange(0, 3).Draw(t, "gap"))
		from := min(moment, bruteEnd-1)
		o := &op{
			id: int64(i + 1), invoked: int64(2*i + 1), completed: int64(2*i + 2), from: from, asked: from, ttl: bruteTTL,
			to:   min(from+time.Duration(rapid.IntRange(0, 3).Draw(t, "length")), bruteEnd),
			node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"),
			call: rapid.SampledFrom([]history.Call{history.Acquire, history.Acquire, history.Renew, history.Release, history.Observe}).Draw(t, "call"),
			kind: rapid.SampledFrom([]history.Kind{history.Ok, history.Ok, history.Fail, history.Info}).Draw(t, "kind"),
		}
		token := uint64(rapid.IntRange(1, 3).Draw(t, "token"))
		switch o.call {
		case history.Acquire:
			o.nonce = o.node + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "nonce")
			o.got = token
			if o.kind == history.Fail {
				o.holder = rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "holder")
			}
		case history.Observe:
			if o.kind = history.Ok; token < 3 {
				o.got, o.holder = token, rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "holder")
			}
		default:
			o.token = token
		}
		if o.kind == history.Info {
			o.to, o.got = forever, 0
		}
		ops[i] = o
	}
	return ops
}

func exactRun(ops []*op) (*run, *election) {
	e := &election{ops: ops}
	e.findAsked()
	return &run{header: history.Header{Lease: bruteTTL}, elections: []*election{e}, end: bruteEnd, exact: true, since: -forever}, e
}

// On small histories porcupine with the lease model says exactly what trying
// everything says, and whatever the intervals report is certain.
func TestLeaseAgainstBruteForce(t *testing.T) {
	var legal, illegal, seen int
	property := func(t *rapid.T) {
		ops := fewOps(t)
		r, e := exactRun(ops)
		want := (&brute{ops: ops}).explains(0, 0, bruteState{})
		got, _ := newSearch(context.Background(), r, e).check()
		if (got == Pass) != want {
			t.Fatalf("porcupine says %v, trying everything %v:%s", got, want, describeOps(ops))
		}
		if want {
			legal++
		} else {
			illegal++
		}
		if f := checkIntervals(r, findLeases(r), &tally{}); f != nil {
			if seen++; want {
				t.Fatalf("the intervals report what is possible: %s:%s", f.Reason, describeOps(ops))
			}
		}
	}
	for range 30 { // a hundred histories do not show every mutant of the model
		rapid.Check(t, property)
	}
	t.Logf("%d legal, %d not; the intervals saw %d", legal, illegal, seen)
	if legal*20 < illegal || illegal == 0 {
		t.Errorf("the sample is lopsided: %d legal, %d not", legal, illegal)
	}
}

func describeOps(ops []*op) string {
	text := ""
	for _, o := range ops {
		text += "\n" + string(o.kind) + " " + o.node + " " + string(o.call) + " nonce " + o.nonce +
			" [" + o.from.String() + ", " + o.to.String() + "] " + who(o.holder, max(o.token, o.got))
	}
	return text
}

// The sweep over beliefs finds the same overlap as comparing every moment of
// every pair.
func TestBeliefSweepAgainstEveryMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &election{}
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			b := &belief{term: Term{Node: rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "node")}}
			at := time.Duration(0)
			for range rapid.IntRange(1, 2).Draw(t, "spans") {
				at += time.Duration(rapid.IntRange(0, 10).Draw(t, "from"))
				to := at + time.Duration(rapid.IntRange(0, 8).Draw(t, "length"))
				b.spans = append(b.spans, window{at, to})
				at = to
			}
			e.beliefs = append(e.beliefs, b)
		}
		var want time.Duration
		for moment := time.Duration(0); moment < 60; moment++ {
			nodes := map[string]bool{}
			for _, b := range e.beliefs {
				for _, s := range b.spans {
					if s.from <= moment && moment < s.to {
						nodes[b.term.Node] = true
					}
				}
			}
			if len(nodes) > 1 {
				want++
			}
		}
		got, first := dualBelief(e, -forever, 0)
		if got != want || (first != nil) != (want > 0) {
			t.Fatalf("sweep: %v, every moment: %v", got, want)
		}
	})
}

// fewWrites draws writes and reads of the resource, by call.
func fewWrites(t *rapid.T) *election {
	e := &election{}
	for i := range rapid.IntRange(0, 7).Draw(t, "n") {
		from := time.Duration(rapid.IntRange(0, 12).Draw(t, "from"))
		o := &op{
			from: from, to: from + time.Duration(rapid.IntRange(0, 4).Draw(t, "length")),
			node: "n1", completed: int64(i + 1), token: uint64(rapid.IntRange(1, 4).Draw(t, "token")),
			kind: rapid.SampledFrom([]history.Kind{history.Ok, history.Ok, history.Fail, history.Info}).Draw(t, "kind"),
		}
		o.value = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "value")
		if rapid.Bool().Draw(t, "read") {
			o.kind, o.got = history.Ok, o.token
			o.token = 0
			e.reads = append(e.reads, o)
			continue
		}
		switch o.kind {
		case history.Fail:
			o.fence = uint64(rapid.IntRange(1, 4).Draw(t, "fence"))
		case history.Info:
			o.to = forever
		}
		e.writes = append(e.writes, o)
	}
	slices.SortStableFunc(e.writes, func(a, b *op) int { return cmp.Compare(a.from, b.from) })
	return e
}

// The linear checks of the resource find what comparing every pair finds.
func TestFencedWritesAgainstEveryPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := fewWrites(t)
		var stale, refusal, read bool
		for _, o := range e.writes {
			most := uint64(0)
			for _, p := range e.writes {
				if p.kind == history.Ok && o.kind == history.Ok && p.to < o.from && p.token > o.token {
					stale = true
				}
				if p.kind != history.Fail && p.from <= o.to {
					most = max(most, p.token)
				}
			}
			refusal = refusal || o.kind == history.Fail && (o.fence <= o.token || o.fence > most)
		}
		for _, o := range e.reads {
			explained := false
			for _, w := range e.writes {
				can := w.kind != history.Fail && w.value == o.value && w.token == o.got && w.from <= o.to
				for _, later := range e.writes {
					if later.kind == history.Ok && w.to < later.from && later.to < o.from {
						can = false
					}
				}
				explained = explained || can
			}
			read = read || !explained
		}
		accepted := e.accepted()
		if got := e.staleWrite(accepted) != nil; got != stale {
			t.Fatalf("stale write: %v, by pairs %v", got, stale)
		}
		if got := e.wrongRefusal(accepted) != nil; got != refusal {
			t.Fatalf("wrong refusal: %v, by pairs %v", got, refusal)
		}
		if got := e.staleRead(accepted) != nil; got != read {
			t.Fatalf("stale read: %v, by pairs %v", got, read)
		}
	})
}

// The search for falling and shared tokens finds what comparing every pair
// finds.
func TestTokensAgainstEveryPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var terms []tokenTerm
		for i := range rapid.IntRange(0, 7).Draw(t, "n") {
			from := time.Duration(rapid.IntRange(0, 12).Draw(t, "from"))
			x := tokenTerm{
				token: uint64(rapid.IntRange(1, 4).Draw(t, "token")), node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"),
				nonce: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "nonce"), from: from,
				to: from + time.Duration(rapid.IntRange(0, 4).Draw(t, "length")), seq: int64(i + 1), granted: rapid.Bool().Draw(t, "granted"),
			}
			if !x.granted {
				x.from, x.nonce = -forever, ""
			}
			terms = append(terms, x)
		}
		var shared, falling bool
		for i, a := range terms {
			for j, b := range terms {
				if i < j && a.token == b.token && (a.node != b.node || a.nonce != "" && b.nonce != "" && a.nonce != b.nonce) {
					shared = true
				}
				falling = falling || b.granted && a.to < b.from && a.token > b.token
			}
		}
		if got := sharedToken(terms) != nil; got != shared {
			t.Fatalf("shared: %v, by pairs %v: %+v", got, shared, terms)
		}
		if got := fallingToken(terms) != nil; got != falling {
			t.Fatalf("falling: %v, by pairs %v: %+v", got, falling, terms)
		}
	})
}
