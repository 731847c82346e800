package search

import (
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// crowded is a history of so many grants at once, in any order, and a renewal of a
// lease that none of them was: to know that it has no order takes all of them.
func crowded(grants int) *index.Index {
	r := history.NewRecorder(nil)
	op := func(id int64, node string, call history.Call, from, to time.Duration, token uint64) {
		begun := history.Event{Kind: history.Invoke, Node: node, Op: id, Call: call, At: from, TTL: time.Millisecond, Nonce: node}
		if call == history.Renew {
			begun.Token = token
		}
		r.Record(begun)
		begun.Kind, begun.At, begun.Token = history.Ok, to, token
		r.Record(begun)
	}
	for i := range grants {
		op(int64(i+1), fmt.Sprintf("n%02d", i), history.Acquire, time.Second, 2*time.Second, 0)
	}
	op(1000, "nobody", history.Renew, time.Second, 2*time.Second, 7)
	return index.Build(r.History(history.Header{Lease: time.Millisecond}))
}

// A search does not take more memory than it may: it ends without a verdict, and says
// so.
func TestSearchIsBounded(t *testing.T) {
	for _, x := range []struct {
		most   int
		grants int
		want   finding.Verdict
		reason string
	}{
		{mostBytes, 9, finding.Fail, ""},
		{1 << 10, 9, finding.Unknown, errMemory.Error()},  // cut off before porcupine begins
		{1 << 20, 14, finding.Unknown, errMemory.Error()}, // cut off in porcupine
	} {
		f := judge(crowded(x.grants), time.Minute, x.most)
		if f.Verdict != x.want || x.reason != "" && f.Reason != x.reason {
			t.Errorf("%d grants in %d bytes: %v: %s", x.grants, x.most, f.Verdict, f.Reason)
		}
	}
}

// What a large search took is not kept for the small ones that come after it.
func TestLargeMemoryIsNotKept(t *testing.T) {
	m := newMemory(8)
	m.levels[0].states = [][]leaseState{make([]leaseState, 0, mostKept+1)}
	m.release()
	for range 100 { // a pool may give what it likes
		if got := newMemory(8); got.states() > mostKept {
			t.Fatalf("room for %d states is kept", got.states())
		}
	}
}
