package checker

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

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
