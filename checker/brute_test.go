package checker

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/checker/internal/intervals"
	"github.com/recount-io/recount/checker/internal/search"
	"github.com/recount-io/recount/history"
)

// brute is the oracle: it tries every subset of the operations of unknown
// outcome, every order, and every whole moment for each operation.
type brute struct {
	ops   []*index.Op
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
		if o.Kind != history.Info {
			finished = false
		}
		if b.late(done, i) { // an operation must not be placed before one that returned before its call
			continue
		}
		for t := max(now, o.From); t <= min(o.To, bruteEnd); t++ {
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
		if done&(1<<j) == 0 && o.Kind != history.Info && o.To < b.ops[i].From {
			return true
		}
	}
	return false
}

// answers is what the store can be after executing o at t with o's answer.
func answers(o *index.Op, s bruteState, t time.Duration) []bruteState {
	alive := s.live && t < s.ends
	mine := alive && s.holder == o.Node && s.token == o.Token
	ok := o.Kind != history.Fail
	switch o.Call {
	case history.Observe:
		if alive && s.holder == o.Holder && s.token == o.Got || !alive && o.Holder == "" && o.Got == 0 {
			return []bruteState{s}
		}
		return nil
	case history.Acquire:
		again := alive && s.nonce == o.Nonce && s.holder == o.Node
		if !ok {
			if alive && !again && s.holder == o.Holder && s.token == o.Got {
				return []bruteState{s}
			}
			return nil
		}
		if alive && !again {
			return nil
		}
		var out []bruteState
		for token := uint64(1); token <= bruteToken; token++ {
			if again && token != s.token || !again && token <= s.last || o.Kind == history.Ok && token != o.Got {
				continue
			}
			out = append(out, bruteState{true, o.Node, o.Nonce, token, max(s.last, token), t, t + bruteTTL})
		}
		return out
	case history.Renew, history.Release:
		switch {
		case ok != mine:
			return nil
		case !ok:
			return []bruteState{s}
		case o.Call == history.Renew:
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
func fewOps(t *rapid.T) []*index.Op {
	n := rapid.IntRange(1, 6).Draw(t, "n")
	ops := make([]*index.Op, n)
	moment := time.Duration(0)
	for i := range ops {
		moment += time.Duration(rapid.IntRange(0, 3).Draw(t, "gap"))
		from := min(moment, bruteEnd-1)
		o := &index.Op{
			ID: int64(i + 1), From: from, TTL: bruteTTL,
			To:   min(from+time.Duration(rapid.IntRange(0, 3).Draw(t, "length")), bruteEnd),
			Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"),
			Call: rapid.SampledFrom([]history.Call{history.Acquire, history.Acquire, history.Renew, history.Release, history.Observe}).Draw(t, "call"),
			Kind: rapid.SampledFrom([]history.Kind{history.Ok, history.Ok, history.Fail, history.Info}).Draw(t, "kind"),
		}
		token := uint64(rapid.IntRange(1, 3).Draw(t, "token"))
		switch o.Call {
		case history.Acquire:
			o.Nonce = o.Node + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "nonce")
			o.Got = token
			if o.Kind == history.Fail {
				o.Holder = rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "holder")
			}
		case history.Observe:
			if o.Kind = history.Ok; token < 3 {
				o.Got, o.Holder = token, rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "holder")
			}
		default:
			o.Token = token
		}
		if o.Kind == history.Info {
			o.To, o.Got = index.Forever, 0
		}
		ops[i] = o
	}
	return ops
}

// exactIndex is the index of a history with the operations, of which everything is
// known to the nanosecond, and the operations as they are in it.
func exactIndex(ops []*index.Op) (*index.Index, []*index.Op) {
	r := history.NewRecorder(nil)
	for _, o := range ops {
		r.Record(history.Event{
			Kind: history.Invoke, Node: o.Node, Op: o.ID, Call: o.Call, At: o.From, TTL: o.TTL, Nonce: o.Nonce, Token: o.Token,
		})
		if o.Kind != history.Info {
			r.Record(history.Event{Kind: o.Kind, Node: o.Node, Op: o.ID, Call: o.Call, At: o.To, Token: o.Got, Holder: o.Holder})
		}
	}
	x := index.Build(r.History(history.Header{Lease: bruteTTL}))
	x.Tolerance, x.End = expiry.Tolerance{Exact: true}, bruteEnd
	return x, x.Elections[0].Ops
}

// On small histories porcupine with the lease model says exactly what trying
// everything says, and whatever the intervals report is certain.
func TestLeaseAgainstBruteForce(t *testing.T) {
	var legal, illegal, seen int
	property := func(t *rapid.T) {
		x, ops := exactIndex(fewOps(t))
		want := (&brute{ops: ops}).explains(0, 0, bruteState{})
		got := search.Judge(x, time.Minute).Verdict
		if known := slices.ContainsFunc(ops, func(o *index.Op) bool { return o.Kind != history.Info }); known && (got == Pass) != want {
			t.Fatalf("porcupine says %v, trying everything %v:%s", got, want, describeOps(ops))
		}
		if want {
			legal++
		} else {
			illegal++
		}
		if f := intervals.Judge(x); f.Verdict == Fail {
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

func describeOps(ops []*index.Op) string {
	text := ""
	for _, o := range ops {
		text += "\n" + string(o.Kind) + " " + o.Node + " " + string(o.Call) + " nonce " + o.Nonce +
			" [" + o.From.String() + ", " + o.To.String() + "] " + finding.Who(o.Holder, max(o.Token, o.Got))
	}
	return text
}

// The sweep over beliefs finds the same overlap as comparing every moment of
// every pair.
func TestBeliefSweepAgainstEveryMoment(t *testing.T) {
	nodes := []*index.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}
	rapid.Check(t, func(t *rapid.T) {
		e := &index.Election{}
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			b := &index.Belief{By: rapid.SampledFrom(nodes).Draw(t, "node")}
			at := time.Duration(0)
			for range rapid.IntRange(1, 2).Draw(t, "spans") {
				at += time.Duration(rapid.IntRange(0, 10).Draw(t, "from"))
				to := at + time.Duration(rapid.IntRange(0, 8).Draw(t, "length"))
				b.Spans = append(b.Spans, index.Window{From: at, To: to})
				at = to
			}
			e.Beliefs = append(e.Beliefs, b)
		}
		var want time.Duration
		for moment := time.Duration(0); moment < 60; moment++ {
			believe := map[*index.Node]bool{}
			for _, b := range e.Beliefs {
				for _, s := range b.Spans {
					if s.From <= moment && moment < s.To {
						believe[b.By] = true
					}
				}
			}
			if len(believe) > 1 {
				want++
			}
		}
		got, first := dualBelief(&index.Index{End: 60}, e)
		if got != want || (first != nil) != (want > 0) {
			t.Fatalf("sweep: %v, every moment: %v", got, want)
		}
	})
}

// fewWrites draws writes and reads of the resource, by call.
func fewWrites(t *rapid.T) *index.Election {
	e := &index.Election{}
	for i := range rapid.IntRange(0, 7).Draw(t, "n") {
		from := time.Duration(rapid.IntRange(0, 12).Draw(t, "from"))
		o := &index.Op{
			From: from, To: from + time.Duration(rapid.IntRange(0, 4).Draw(t, "length")),
			Node: "n1", Completed: int64(i + 1), Token: uint64(rapid.IntRange(1, 4).Draw(t, "token")),
			Kind:     rapid.SampledFrom([]history.Kind{history.Ok, history.Ok, history.Fail, history.Info}).Draw(t, "kind"),
			ByWriter: rapid.Bool().Draw(t, "by the writer"),
		}
		o.Value = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "value")
		if rapid.Bool().Draw(t, "read") {
			o.Kind, o.Got = history.Ok, o.Token
			o.Token = 0
			e.Reads = append(e.Reads, o)
			continue
		}
		switch o.Kind {
		case history.Fail:
			o.Fence = uint64(rapid.IntRange(1, 4).Draw(t, "fence"))
		case history.Info:
			o.To = index.Forever
		}
		e.Writes = append(e.Writes, o)
	}
	slices.SortStableFunc(e.Writes, func(a, b *index.Op) int { return cmp.Compare(a.From, b.From) })
	return e
}

// The linear checks of the resource find what comparing every pair finds.
func TestFencedWritesAgainstEveryPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := fewWrites(t)
		var stale, refusal, read bool
		decided := func(o *index.Op) time.Duration {
			if o.ByWriter {
				return o.From
			}
			return o.To
		}
		for _, o := range e.Writes {
			most := uint64(0)
			for _, p := range e.Writes {
				if p.Kind == history.Ok && o.Kind == history.Ok && p.To < decided(o) && p.Token > o.Token {
					stale = true
				}
				if p.Kind != history.Fail && p.From <= o.To {
					most = max(most, p.Token)
				}
			}
			for _, p := range e.Writes { // that waited, and was refused itself
				if p.Kind == history.Fail && p.From <= o.To && p.To >= o.From && o.Fence > o.Token {
					most = max(most, p.Token)
				}
			}
			refusal = refusal || o.Kind == history.Fail && (o.Fence <= o.Token || o.Fence > most)
		}
		for _, o := range e.Reads {
			explained := false
			for _, w := range e.Writes {
				can := w.Kind != history.Fail && w.Value == o.Value && w.Token == o.Got && w.From <= o.To
				for _, later := range e.Writes {
					if later.Kind == history.Ok && later.To < decided(o) && (w.To < decided(later) || w.Token < later.Token) {
						can = false
					}
				}
				explained = explained || can
			}
			read = read || !explained
		}
		all := accepted(e)
		if got := staleWrite(e, all) != nil; got != stale {
			t.Fatalf("stale write: %v, by pairs %v", got, stale)
		}
		if got := wrongRefusal(e, all) != nil; got != refusal {
			t.Fatalf("wrong refusal: %v, by pairs %v", got, refusal)
		}
		if got := staleRead(e, all) != nil; got != read {
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
				x.from, x.nonce = -index.Forever, ""
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
