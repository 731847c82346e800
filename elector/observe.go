package elector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// ObserveOptions are how Observe asks. The zero value is fine.
type ObserveOptions struct {
	Poll           time.Duration // longest pause between two questions; 5 s by default
	Retry          time.Duration // pause after a question that failed; 1 s by default
	RequestTimeout time.Duration // 2 s by default
	Clock          Clock         // SystemClock by default

	_ struct{}
}

func (o ObserveOptions) withDefaults() ObserveOptions {
	for _, d := range []struct {
		value *time.Duration
		to    time.Duration
	}{{&o.Poll, 5 * time.Second}, {&o.Retry, time.Second}, {&o.RequestTimeout, 2 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.to
		}
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	return o
}

// Observe yields who leads the election, and what that one publishes: first as it is,
// then whenever it changes; a zero Leader means nobody. It never competes. A question that fails
// is yielded as an error and asked again, and the next answer is yielded whatever it is;
// after a *FatalError the sequence ends. An election of a name that nobody uses is one that
// nobody leads.
// It also ends when ctx is done. What is yielded was true a moment ago, and very
// short terms, and values that are changed again at once, may be missed.
func Observe(ctx context.Context, s Store, election string, o ObserveOptions) iter.Seq2[Leader, error] {
	o = o.withDefaults()
	nameless := store.CheckName(election)
	return func(yield func(Leader, error) bool) {
		switch {
		case ctx == nil:
			yield(Leader{}, errNoContext)
			return
		case s == nil:
			yield(Leader{}, errors.New("elector: Observe needs a store, such as one of elector/redisstore"))
			return
		case nameless != nil:
			yield(Leader{}, fmt.Errorf("elector: Observe: %w", nameless))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		watched := make(chan struct{})
		changed := make(chan struct{}, 1)
		go func() {
			defer close(watched)
			watchFor(ctx, s, election, o, changed)
		}()
		defer func() { await(o.Clock, o.RequestTimeout, watched) }() // a Watch that ignores its context is left behind
		defer cancel()
		observe(ctx, s, election, o, changed, yield)
	}
}

func observe(ctx context.Context, store Store, election string, o ObserveOptions, changed <-chan struct{}, yield func(Leader, error) bool) {
	slots := make(chan struct{}, maxAsks)
	var last Leader
	for first := true; ctx.Err() == nil; {
		now, err := ask(ctx, slots, o.RequestTimeout, func(ctx context.Context) (Leader, error) {
			return store.Leader(ctx, election)
		})
		if ctx.Err() != nil {
			return
		}
		pause := o.Poll
		var fatal *FatalError
		switch {
		case err != nil:
			if !yield(Leader{}, err) || errors.As(err, &fatal) {
				return
			}
			first, pause = true, o.Retry // then nobody knows, until it is told anew
		case first || now.ID != last.ID || now.Token != last.Token || now.Value != last.Value:
			if !yield(now, nil) {
				return
			}
			first, last = false, now
		}
		if now.Remaining > 0 {
			pause = min(pause, now.Remaining+time.Millisecond)
		}
		pauseFor(ctx, o.Clock, pause, changed)
	}
}

// pauseFor waits for d, for a change or for ctx.
func pauseFor(ctx context.Context, clock Clock, d time.Duration, changed <-chan struct{}) {
	over := make(chan struct{})
	timer := clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
	}
}

// watchFor passes the store's hints on until ctx is done. A Watch that breaks off is
// begun again soon, since its first hint leads to a question. The pause grows to Retry as
// long as Watches break off at once.
func watchFor(ctx context.Context, st Store, election string, o ObserveOptions, changed chan<- struct{}) {
	soon := o.Retry / 16
	for pause := soon; ctx.Err() == nil; pause = min(2*pause, o.Retry) {
		began, ended := o.Clock.Now(), make(chan struct{})
		watch(ctx, st, election, func(store.Hint) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}, func(error) { close(ended) }) // why it broke off changes nothing: the questions go on
		<-ended
		if o.Clock.Now()-began > o.Retry {
			pause = soon
		}
		await(o.Clock, pause, ctx.Done())
	}
}
