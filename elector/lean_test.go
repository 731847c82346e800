package elector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// TestLeanHoldsNothing shows that a context holds nothing of the requests that have
// ended: there are thousands of such contexts, and each lasts as long as its session.
func TestLeanHoldsNothing(t *testing.T) {
	calls := &lean{}
	ctx, cancel := context.WithTimeout(calls, time.Hour)
	_, cancelOther := context.WithTimeout(calls, time.Hour)
	cancel()
	cancelOther()
	if ctx.Err() == nil || len(calls.after) > 0 {
		t.Fatalf("%d functions are still to be called", len(calls.after))
	}
	for _, f := range calls.after[:cap(calls.after)] {
		if f != nil {
			t.Error("what is not to be called any more is held")
		}
	}
}

// TestLimited holds the context of a request to what one of context.WithTimeout does.
func TestLimited(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(parent *lean, l *limited)
		want error
	}{
		"in time":     {func(*lean, *limited) {}, nil},
		"late":        {func(*lean, *limited) { time.Sleep(time.Second) }, context.DeadlineExceeded},
		"its session": {func(parent *lean, _ *limited) { parent.cancel() }, context.Canceled},
		"answered":    {func(_ *lean, l *limited) { l.release() }, context.Canceled},
		"answered late": {func(_ *lean, l *limited) {
			time.Sleep(2 * time.Second)
			l.release()
		}, context.DeadlineExceeded},
		"answered, session": {func(parent *lean, l *limited) {
			l.release()
			parent.cancel()
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent := &lean{}
				l := parent.limit(time.Second)
				deadline, ok := l.Deadline()
				if !ok || time.Until(deadline) != time.Second || !store.Unhurried(l) {
					t.Errorf("deadline %v, %v; unhurried: %v", deadline, ok, store.Unhurried(l))
				}
				child, cancel := context.WithCancel(l)
				defer cancel()
				called := false
				context.AfterFunc(l, func() { called = true })
				c.ends(parent, l)
				synctest.Wait()
				over := c.want != nil
				if !errors.Is(l.Err(), c.want) || !errors.Is(child.Err(), c.want) || called != over || isDone(l) != over || isDone(child) != over {
					t.Errorf("error %v, of a child %v, done %v and %v, told %v; want %v", l.Err(), child.Err(), isDone(l), isDone(child), called, c.want)
				}
				l.release()
				if len(parent.limits) > 0 {
					t.Error("its session holds it")
				}
			})
		})
	}
	ended := &lean{}
	ended.cancel()
	if l := ended.limit(time.Hour); !errors.Is(l.Err(), context.Canceled) {
		t.Error("one of a session that has ended goes on")
	}
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}
