package search

import (
	"context"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// An attempt that was made more often can do what several can do that were made
// as often together, and nothing else counts for more than it is.
func TestPendingAttemptsCover(t *testing.T) {
	m := &leaseModel{ctx: context.Background(), named: true}
	kind := func(call history.Call, node, nonce string) int {
		return m.addKind(leaseKind{call: call, node: node, nonce: nonce, ttl: 9}, 0)
	}
	a, b, other := kind(history.Acquire, "n1", "a"), kind(history.Acquire, "n1", "b"), kind(history.Acquire, "n2", "c")
	lonely, renewal := kind(history.Acquire, "n1", lonelyNonce), kind(history.Renew, "n1", "d")
	made := func(pairs ...int) (p pending) {
		for i := 0; i < len(pairs); i += 2 {
			p = p.with(pairs[i], pairs[i+1])
		}
		return p
	}
	for _, x := range []struct {
		why    string
		p, q   pending
		now    time.Duration
		covers bool
	}{
		{"the same", made(a, 2), made(a, 2), 5, true},
		{"another nonce", made(a, 2), made(b, 2), 5, true},
		{"one that is still named", made(a, 2), made(b, 2), 0, false},
		{"two singles", made(a, 2), made(lonely, 2), 5, true},
		{"three singles", made(a, 2), made(lonely, 3), 5, false},
		{"singles are no attempt made twice", made(lonely, 3), made(a, 2), 5, false},
		{"two attempts in one", made(a, 5), made(a, 2, b, 3), 5, true},
		{"two attempts in one too small", made(a, 4), made(a, 2, b, 3), 5, false},
		{"one attempt in two", made(a, 2, b, 3), made(a, 5), 5, false},
		{"another node's", made(a, 2), made(other, 2), 5, false},
		{"a renewal as well", made(a, 2, renewal, 1), made(b, 2), 5, true},
		{"a renewal that is not there", made(a, 3), made(b, 2, renewal, 1), 5, false},
	} {
		s, u := leaseState{now: x.now, pending: x.p}, leaseState{now: x.now, pending: x.q}
		if got := m.covers(&s, &u); got != x.covers {
			t.Errorf("%s: %v", x.why, got)
		}
	}
}
