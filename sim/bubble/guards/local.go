package guards

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// memory are resources of one process, and what becomes of writes to them. A process
// that ends takes the writes along that are under way in it.
type memory struct {
	*run
	idle bool // a write takes no time of the clock

	mu   sync.Mutex
	life int       // which process it is
	last []content // by resource
}

// content is what was written last, and by what token.
type content struct {
	value string
	token uint64
}

// current is which process it is.
func (m *memory) current() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life
}

// carry is what a call asks for, once the guard has let it pass.
func (m *memory) carry(ctx context.Context, c *call, life int) error {
	if c.what == check {
		return nil
	}
	if m.current() != life {
		return errKilled
	}
	m.record.add(entered, c)
	defer m.record.add(left, c)
	if err := m.takes(ctx, c); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	if c.fate == fails {
		return errWrite
	}
	if !m.set(c, life) {
		return errKilled
	}
	if err := m.takes(ctx, c); err != nil && m.current() == life {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	switch c.fate {
	case breaks:
		return errWrite
	case panics:
		panic(errWrite)
	}
	return nil
}

// takes is half of what the write takes.
func (m *memory) takes(ctx context.Context, c *call) error {
	switch {
	case m.idle:
		for range 1 + c.takes%7 {
			runtime.Gosched() // who is not kept out comes now
		}
	case c.fate == heeds:
		select {
		case <-time.After(c.takes / 2):
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		time.Sleep(c.takes / 2)
	}
	return nil
}

// set is the effect of a write, which one of a process that has ended has not.
func (m *memory) set(c *call, life int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != life {
		return false
	}
	m.record.add(done, c)
	m.last[c.resource] = content{c.value, c.token}
	return true
}

// read implements guarded.
func (m *memory) read(resource int) (value string, token uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[resource].value, m.last[resource].token, true
}

// local are resources of the writers' own process, behind its guards.
type local struct {
	memory
	guards  []*fence.Guard // by resource
	guarded *fence.Memory
	claims  map[int]claim // of guarded, by resource
}

// claim is the largest token that a guard was asked about, and when.
type claim struct {
	token uint64
	at    time.Time
}

var _ guarded = (*local)(nil)

func newLocal(r *run) *local {
	l := &local{memory: memory{run: r, idle: r.Guard == InProcess, last: make([]content, r.Resources)}, guarded: new(fence.Memory), claims: map[int]claim{}}
	for range r.Resources {
		l.guards = append(l.guards, new(fence.Guard))
	}
	return l
}

// behind are the guards of a process.
func (l *local) behind(resource int) (life int, one *fence.Guard, many *fence.Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life, l.guards[resource], l.guarded
}

// do implements guarded.
func (l *local) do(ctx context.Context, c *call) (err error) {
	life, one, many := l.behind(c.resource)
	defer func() {
		if v := recover(); v != nil {
			err = errors.Join(v.(error), err) //nolint:forcetypeassert // the write's own
		}
		if l.current() != life {
			err = errKilled // nobody hears what it says
		}
	}()
	switch {
	case l.Guard == InMemory:
		return l.held(ctx, c, life, many)
	case c.what == check:
		return one.Admit(c.token)
	default:
		return one.Do(c.token, func() error { return l.carry(ctx, c, life) })
	}
}

// held makes a call behind a guard in memory.
func (l *local) held(ctx context.Context, c *call, life int, many *fence.Memory) error {
	name, known := resourceName(c.resource), l.asks(c, life)
	if c.what == check {
		err := many.Check(ctx, c.token, name)
		l.refuses(c, known, err)
		return held(err)
	}
	release, err := many.Hold(ctx, c.token, name)
	l.refuses(c, known, err)
	c.waited = time.Since(c.began)
	if err != nil {
		return held(err)
	}
	defer func() {
		release()
		if c.fate == returns {
			time.AfterFunc(c.takes, release)
		}
	}()
	return l.carry(ctx, c, life)
}

// asks notes that the guard of a process is asked, and returns the largest token about
// which it was asked at an earlier moment.
func (l *local) asks(c *call, life int) (known uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, now := l.claims[c.resource], time.Now()
	if before.at.Before(now) {
		known = before.token
	}
	if c.token > before.token && l.life == life {
		l.claims[c.resource] = claim{c.token, now}
	}
	return known
}

// refuses expects that the guard admits no smaller token than one that it knows, also where
// that one still waits.
func (l *local) refuses(c *call, known uint64, err error) {
	if err == nil && c.token < known {
		l.Find(inOrder, "token %d is admitted, and %d had asked for the resource before", c.token, known)
	}
}

// held marks an error with which Hold has given up.
func held(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return heldError{err}
	}
	return err
}

// highest implements guarded.
func (l *local) highest(_ context.Context, resource int) (token uint64, ok bool) {
	_, one, many := l.behind(resource)
	if l.Guard == InMemory {
		return many.Highest(resourceName(resource)), true
	}
	return one.Highest(), true
}

// act implements guarded: the process ends, and another one begins, which knows the
// token of its data if it has stored that.
func (l *local) act(a Act) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life++
	l.guarded = new(fence.Memory)
	l.claims = map[int]claim{}
	for i := range l.guards {
		stored := uint64(0)
		if l.Guard == InProcess && a.Keep {
			stored = l.last[i].token
		}
		l.record.to(i, died, 0)
		l.record.to(i, forgot, stored)
		l.guards[i] = new(fence.Guard)
		if err := l.guards[i].Admit(stored); err != nil && stored > 0 {
			l.Find(answered, "a new guard refuses token %d: %v", stored, err)
		}
	}
}

func (l *local) close() {}
