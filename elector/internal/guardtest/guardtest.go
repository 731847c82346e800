package guardtest

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Resource is a new resource behind some guard.
type Resource struct {
	Write   func(token uint64) error
	Highest func() (uint64, error) // nil if the guard does not tell
}

// Checked makes resources of a guard that is asked with check, and that tells the
// largest token with highest.
func Checked(ctx context.Context, check func(ctx context.Context, token uint64, resource string) error, highest func(resource string) (uint64, error)) func() Resource {
	n := 0
	return func() Resource {
		n++
		resource := fmt.Sprint("resource", n)
		return Resource{
			Write:   func(token uint64) error { return check(ctx, token, resource) },
			Highest: func() (uint64, error) { return highest(resource) },
		}
	}
}

// Columned makes rows, each the resource of a guard in one of its columns: update is
// asked to write to the row with that key, which insert made.
func Columned(insert func(key int), update func(token uint64, key int) error) func() Resource {
	n := 0
	return func() Resource {
		n++
		key := n
		insert(key)
		return Resource{Write: func(token uint64) error { return update(token, key) }}
	}
}

// T is the part of a *testing.T or a *rapid.T that is needed.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Suite knows how guards refuse.
type Suite struct {
	NoToken error                                            // the refusal of token 0
	Stale   func(err error) (token, highest uint64, is bool) // reads the refusal of a smaller token
}

// Refusing is the suite of guards that refuse token 0 with one error, and a smaller token
// with an error of type E, which has both.
func Refusing[E error](noToken error, both func(E) (token, highest uint64)) Suite {
	return Suite{NoToken: noToken, Stale: func(err error) (token, highest uint64, is bool) {
		var stale E
		if is = errors.As(err, &stale); is {
			token, highest = both(stale)
		}
		return token, highest, is
	}}
}

// sequence is where text, floating point and signed numbers go wrong.
var sequence = []struct {
	token uint64
	stale uint64 // 0: admitted
}{
	{0, 0}, {9, 0}, {9, 0}, {10, 0}, {9, 10}, {2, 10}, {10, 0}, {100, 0}, {99, 100}, {1, 100},
	{1<<53 - 1, 0}, {1 << 53, 0}, {1<<53 + 1, 0}, {1 << 53, 1<<53 + 1}, {1<<53 + 1, 0},
	{math.MaxInt64, 0}, {math.MaxInt64 + 1, 0}, {math.MaxInt64, math.MaxInt64 + 1}, {math.MaxInt64 + 1, 0},
	{math.MaxUint64 - 1, 0}, {math.MaxUint64, 0}, {math.MaxUint64 - 1, math.MaxUint64}, {math.MaxUint64, 0}, {1, math.MaxUint64}, {0, 0},
}

// Edges are tokens around which representations of numbers end.
var Edges = []uint64{1, 9, 10, 11, 99, 100, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}

// Alike fails t unless the guard admits what is not smaller than the largest
// token, refuses the rest with both, and refuses no token at all. It makes two
// resources: what one has seen is nothing to the other.
func (s Suite) Alike(t T, fresh func() Resource) {
	t.Helper()
	r, other := fresh(), fresh()
	highest := uint64(0)
	for i, step := range sequence {
		err := r.Write(step.token)
		switch {
		case step.token == 0:
			if !errors.Is(err, s.NoToken) {
				t.Errorf("step %d, without a token: %v", i, err)
			}
		case step.stale > 0:
			s.wantStale(t, err, step.token, step.stale)
		case err != nil:
			t.Errorf("step %d, token %d: %v", i, step.token, err)
		}
		highest = max(highest, step.token)
		r.wantHighest(t, highest)
	}
	other.wantHighest(t, 0)
	if err := other.Write(1); err != nil {
		t.Errorf("another resource: %v", err)
	}
}

// Agree fails t unless the guard of a new resource answers to these tokens, none
// of them 0, as the oracle does, which is one number.
func (s Suite) Agree(t T, r Resource, tokens []uint64) {
	t.Helper()
	oracle := uint64(0)
	for _, token := range tokens {
		err := r.Write(token)
		switch {
		case token < oracle:
			s.wantStale(t, err, token, oracle)
		case err != nil:
			t.Errorf("token %d after %d was refused: %v", token, oracle, err)
		}
		oracle = max(oracle, token)
		r.wantHighest(t, oracle)
	}
}

func (s Suite) wantStale(t T, err error, token, highest uint64) {
	t.Helper()
	if refused, seen, is := s.Stale(err); !is || refused != token || seen != highest {
		t.Errorf("%v, want token %d refused for %d", err, token, highest)
	}
}

func (r Resource) wantHighest(t T, want uint64) {
	t.Helper()
	if r.Highest == nil {
		return
	}
	if got, err := r.Highest(); err != nil || got != want {
		t.Errorf("the highest token is %d, %v; want %d", got, err, want)
	}
}

// Overlap is two transactions, the second of which is checked between the first
// one's check and its write, and what becomes of the second.
type Overlap struct {
	Known         uint64 // to the resource before; 0: it has no row yet
	First, Second uint64
	Commit        bool // the first is committed
	Stale         bool // the second is refused
}

// Overlaps are the cases of every database.
var Overlaps = []Overlap{
	{0, 5, 6, true, false}, {0, 6, 5, true, true}, {0, 6, 5, false, false}, {0, 5, 5, true, false},
	{5, 5, 6, true, false}, {5, 5, 5, true, false}, {5, 5, 4, true, true}, {5, 7, 6, true, true}, {5, 7, 6, false, false}, {9, 9, 10, true, false}, {9, 10, 9, true, true},
}
