package elector

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/internal/unhurried"
)

// lean is a context that can be cancelled. Each election has two for as long as it is
// competed in, and one of context.WithCancel, with all that it is ready for, takes
// several times the memory.
type lean struct {
	mu     sync.Mutex
	done   chan struct{} // nil until somebody asks for it
	err    error
	after  []*func()  // to be called when it is done
	limits []*limited // that end with it
}

// limited is a lean context that ends with another one, or at a deadline. Each request
// has one.
type limited struct {
	lean
	parent   *lean
	deadline time.Time
	timer    *time.Timer
}

var (
	_ context.Context = (*lean)(nil)
	_ context.Context = (*limited)(nil)
)

// limit returns a context that ends with this one, or after d. Its release must be
// called.
func (c *lean) limit(d time.Duration) *limited {
	l := &limited{parent: c, deadline: time.Now().Add(d)}
	l.timer = time.AfterFunc(d, func() { l.end(context.DeadlineExceeded) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		l.end(c.err)
		return l
	}
	c.limits = append(c.limits, l)
	return l
}

// release ends the context, and what it holds.
func (l *limited) release() {
	l.timer.Stop()
	l.cancel()
	c := l.parent
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.limits, l); i >= 0 {
		c.limits = slices.Delete(c.limits, i, i+1)
	}
}

// Deadline implements context.Context.
func (l *limited) Deadline() (time.Time, bool) { return l.deadline, true }

// Deadline implements context.Context: there is none.
func (c *lean) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (c *lean) Value(key any) any {
	if _, ok := key.(unhurried.Key); ok {
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

// forget reports whether the function was still to be called.
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
func (c *lean) cancel() { c.end(context.Canceled) }

// end makes it done, if it is not yet.
func (c *lean) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for _, f := range c.after {
		go (*f)()
	}
	for _, l := range c.limits {
		l.end(err)
	}
	c.after, c.limits = nil, nil
}
