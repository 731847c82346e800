package elector

import (
	"context"
	"fmt"
	"sync"

	"github.com/recount-io/recount/internal/machine"
)

// published is what a term publishes, as far as the store has acknowledged it.
type published struct {
	mu    sync.Mutex
	last  uint64        // version that was asked for
	shown uint64        // version that the store has
	more  chan struct{} // closed when shown grows; nil: nobody waits
}

// next is the number of another version.
func (p *published) next() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return p.last
}

// acknowledge notes that the store has a version.
func (p *published) acknowledge(version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = max(p.shown, version)
	if p.more != nil {
		close(p.more)
		p.more = nil
	}
}

// wait reports whether the store has a version; if it has not, the channel is closed
// when that may have changed.
func (p *published) wait(version uint64) (shown bool, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown >= version {
		return true, nil
	}
	if p.more == nil {
		p.more = make(chan struct{})
	}
	return false, p.more
}

// Publish changes what the leader publishes, for the rest of the term: Leader and
// Observe tell the value beside this term's token from then on, and never beside
// another one. The next term begins with Config.Value again.
//
// The value is any bytes, at most MaxValue of them; an empty one takes back what was
// published. It goes with a renewal, which is sent at once, so a value that changes
// all the time costs as many requests. Publish returns nil when the store has the
// value, or a later one. The error is that of ctx, or ErrTermOver; the value may be
// shown then, and unless the term is over, it will be.
func (t *Term) Publish(ctx context.Context, value string) error {
	if err := checkValue(value); err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	version := t.published.next()
	t.session.put(machine.Input{Kind: machine.Publish, Token: t.token, Value: value, Version: version})
	for {
		shown, more := t.published.wait(version)
		if shown {
			return nil
		}
		select {
		case <-more:
		case <-t.ended:
			if shown, _ := t.published.wait(version); shown {
				return nil
			}
			return fmt.Errorf("%w, and its value was not published", ErrTermOver)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
