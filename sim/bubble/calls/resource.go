package calls

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
)

// resource is what leaders write to: it remembers the highest token, and refuses
// smaller ones.
type resource struct {
	mu     sync.Mutex
	fences map[string]uint64 // by election
	closed bool              // it refuses everything
	takes  time.Duration     // a write
}

// delivery is what a write takes at the least.
const delivery = 50 * time.Microsecond

func (s *resource) set(closed bool, takes time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.takes = closed, takes
}

func (s *resource) state() (closed bool, takes time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed, s.takes
}

// accept reports whether a write with the token is accepted, and which token was the
// highest before.
func (s *resource) accept(election string, token uint64) (fence uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fence = s.fences[election]
	if token < fence {
		return fence, false
	}
	s.fences[election] = token
	return fence, true
}

// write makes a write to the protected resource. If it is refused, fence is the
// highest token that the resource has seen.
func (c *candidate) write(ctx context.Context, t *elector.Term, n int) (fence uint64, ok bool) {
	l, r := c.life, c.run
	op := history.Event{
		Kind: history.Invoke, Call: history.Write, Node: l.process.name, Election: c.name, Op: r.recorder.NextOp(), Token: t.Token(),
		Value: fmt.Sprintf("%s/%d/%d", l.process.name, t.Token(), n),
	}
	l.mu.Lock()
	dead := l.dead
	if !dead {
		op = r.recorder.Stamp(op)
		l.pending[op.Op] = op
	}
	l.mu.Unlock()
	closed, takes := r.resource.state()
	if dead {
		return 0, true // nobody sees what it does
	}
	sleep(ctx, max(takes, delivery))
	l.gate.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return 0, true // its last write is lost
	}
	delete(l.pending, op.Op)
	if closed {
		op.Kind, op.Error = history.Info, "the resource is closed"
		r.recorder.Stamp(op)
		return 0, false
	}
	fence, ok = r.resource.accept(c.name, t.Token())
	op.Kind = history.Ok
	if !ok {
		op.Kind, op.Fence = history.Fail, fence
	}
	r.recorder.Stamp(op)
	return fence, ok
}
