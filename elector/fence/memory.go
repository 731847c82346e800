package fence

import (
	"context"
	"sync"
)

// Checker is what all guards of many resources have in common. *Memory,
// *RedisGuard and SQL.On are Checkers.
type Checker interface {
	// Check makes the token known to the resource, if the resource has
	// admitted no larger one; else the error is a *StaleError, and ErrNoToken
	// for 0. Once it has returned nil, writes of former leaders that pass by
	// the guard are refused.
	Check(ctx context.Context, token uint64, resource string) error
}

// Holder is a Checker that keeps larger tokens waiting while a write goes on,
// so that the look at the token and the write are one step.
type Holder interface {
	Checker

	// Hold is Check; until release is called, no larger token is admitted.
	// Smaller ones are refused, and writes of the same token go on beside one
	// another.
	Hold(ctx context.Context, token uint64, resource string) (release func(), err error)
}

// Memory guards any number of resources in this process, each by its name. The
// zero Memory has seen no token. It is safe for concurrent use and must not be
// copied.
//
// It forgets all tokens when the process ends, and none before: it keeps some
// hundred bytes for each resource that was ever named, so names must not be
// made up by outsiders.
type Memory struct {
	mu        sync.Mutex
	resources map[string]*held
}

var _ Holder = (*Memory)(nil)

// held is one resource: the largest token known, and the writes that go on.
// These all have the token running, which may be smaller than highest: then
// somebody waits for their end.
type held struct {
	highest uint64
	running uint64
	writes  int
	idle    chan struct{} // closed when writes is 0 again
}

// Check is Hold and release: it also waits for the writes of former leaders
// that were admitted before, so that none of them happens afterwards.
func (m *Memory) Check(ctx context.Context, token uint64, resource string) error {
	release, err := m.Hold(ctx, token, resource)
	if err != nil {
		return err
	}
	release()
	return nil
}

// Hold admits the token, as Checker says. It refuses smaller tokens from now
// on, and waits until the writes of smaller tokens that go on have ended, or
// ctx is done; its error is then that of ctx, and the token remains known.
//
// release must be called when the write has ended, however it did; calling it
// again does nothing. Who holds a resource must not ask for it again with a
// larger token.
func (m *Memory) Hold(ctx context.Context, token uint64, resource string) (release func(), err error) {
	if token == 0 {
		return nil, ErrNoToken
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.resource(resource)
	for {
		if token < h.highest {
			return nil, &StaleError{Token: token, Highest: h.highest}
		}
		h.highest = token
		if h.writes == 0 || h.running == token {
			return m.begin(h, token), nil
		}
		if err := m.wait(ctx, h.idle); err != nil {
			return nil, err
		}
	}
}

// Highest is the largest token that the resource was told; 0 before the first.
func (m *Memory) Highest(resource string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.resources[resource]; h != nil {
		return h.highest
	}
	return 0
}

func (m *Memory) resource(name string) *held {
	if m.resources == nil {
		m.resources = map[string]*held{}
	}
	h := m.resources[name]
	if h == nil {
		h = &held{}
		m.resources[name] = h
	}
	return h
}

func (m *Memory) begin(h *held, token uint64) (release func()) {
	if h.writes == 0 {
		h.running, h.idle = token, make(chan struct{})
	}
	h.writes++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.writes--; h.writes == 0 {
			close(h.idle)
		}
	})
}

// wait waits without the lock.
func (m *Memory) wait(ctx context.Context, idle <-chan struct{}) error {
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
