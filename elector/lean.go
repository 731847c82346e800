package elector

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lean is a context that can be cancelled. Each election has two for as long as it is
// competed in, and one of context.WithCancel, with all that it is ready for, takes
// several times the memory.
type lean struct {
	mu    sync.Mutex
	done  chan struct{} // nil until somebody asks for it
	err   error
	after []*func() // to be called when it is done
}

var _ context.Context = (*lean)(nil)

// Deadline implements context.Context: there is none.
func (c *lean) Deadline() (time.Time, bool) { return time.Time{}, false }

// unhurried is the key by which Unhurried knows the contexts of an elector's requests.
type unhurried struct{}

// Unhurried tells a store that the context is one of an elector's own requests. Each is
// made on a goroutine that has nothing else to do. So the store may work there, and
// return at the deadline, even if the context is cancelled before.
func Unhurried(ctx context.Context) bool { return ctx.Value(unhurried{}) != nil }

// Value implements context.Context.
func (c *lean) Value(key any) any {
	if _, ok := key.(unhurried); ok {
		return c
	}
	return nil
}

// Done implements context.Context.
func (c *lean) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *lean) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc is asked for by context.AfterFunc and its like.
func (c *lean) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	one := &f
	c.after = append(c.after, one)
	return func() bool { return c.forget(one) }
}

// forget tells whether the function was still to be called.
func (c *lean) forget(one *func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.after {
		if f == one {
			c.after = slices.Delete(c.after, i, i+1) // and nothing holds it any more
			return true
		}
	}
	return false
}

// cancel makes it done.
func (c *lean) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
	for _, f := range c.after {
		go (*f)()
	}
	c.after = nil
}
