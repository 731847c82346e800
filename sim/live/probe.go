package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

const (
	// probeEvery is how often a server that others use is asked during a run.
	probeEvery = 250 * time.Millisecond
	// Before a run it is asked so many times, one moment after the other: a second.
	steadyAnswers = 50
	steadyEvery   = 20 * time.Millisecond
	// ownStall is the shortest time for which this process is called held up: what it
	// waited for then was not the server.
	ownStall = 5 * time.Millisecond
)

// HarmError is why a run ended early: the server that others use was no longer what
// it was before the run.
type HarmError struct{ Why string }

func (e *HarmError) Error() string { return e.Why }

// Harmed is the *HarmError for which the context ended, nil if it did not end for one.
func Harmed(ctx context.Context) error {
	var harm *HarmError
	if errors.As(context.Cause(ctx), &harm) {
		return harm
	}
	return nil
}

// probe watches over a server that others use. It asks it over a connection of its
// own, which no fault and no proxy touches.
type probe struct {
	steady Steady
	vigil  *vigil
	client *redis.Client
	stop   func()

	stalled atomic.Int64 // nanoseconds in which this process was held up

	mu   sync.Mutex
	runs []*history.Recorder // that get what the probe sees
}

// Watch measures how the Redis answers, and goes on to do so until the session is
// closed. The context that it returns ends with ctx, and as soon as the server is beyond
// the limits: then its cause is a *HarmError. Give it to Run, once a session. Where the Redis is the
// session's own there is nobody to spare, and Watch returns ctx.
//
// A server that gives errors, or takes longer than the limits allow for an answer, is an
// *redisserver.Error.
func (s *Session) Watch(ctx context.Context) (context.Context, Steady, error) {
	if s.Private() {
		return ctx, Steady{}, nil
	}
	limits := s.options.Limits
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	server := s.first()
	options := server.Options()
	options.PoolSize = 1
	p := &probe{client: redis.NewClient(options)}
	steady, err := p.measure(ctx, limits, server.Addr())
	if err != nil {
		return nil, steady, errors.Join(err, p.client.Close())
	}
	p.steady, p.vigil = steady, &vigil{limits: limits, steady: steady}
	watched, harm := context.WithCancelCause(ctx)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(working, harm) })
	p.stop = func() {
		stop()
		watching.Wait()
		_ = p.client.Close() // nothing is under way
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probe = p
	return watched, steady, nil
}

// measure asks as often as it takes to know how the server answers.
func (p *probe) measure(ctx context.Context, limits Limits, addr string) (Steady, error) {
	defer p.lookAfterItself(ctx)()
	var took []time.Duration
	for asked := 0; asked < 3*steadyAnswers && len(took) < steadyAnswers; asked++ {
		a := p.ask(ctx, limits.After)
		if ctx.Err() != nil {
			return Steady{}, ctx.Err()
		}
		if a.err != nil {
			return Steady{}, &redisserver.Error{
				Kind: redisserver.Unreachable, Err: a.err,
				Text: fmt.Sprintf("redis at %s does not answer every PING before the run (%v): wait until it does", addr, a.err),
			}
		}
		if asked > 0 && a.held == 0 { // the first one has connected
			took = append(took, a.took)
		}
		if !stage.Sleep(ctx, steadyEvery) {
			return Steady{}, ctx.Err()
		}
	}
	if len(took) == 0 {
		return Steady{}, errors.New("live: this machine is too busy to tell how the Redis answers: it held up this program all the time")
	}
	return limits.steadyOf(took), nil
}

// watch asks until ctx is done, tells the runs, and calls harm once if the server has
// become worse than it may.
func (p *probe) watch(ctx context.Context, harm context.CancelCauseFunc) {
	defer p.lookAfterItself(ctx)()
	patience := max(p.steady.Limit, p.vigil.limits.After)
	for stage.Sleep(ctx, probeEvery) {
		a := p.ask(ctx, patience)
		if ctx.Err() != nil {
			return
		}
		if a.took > p.steady.Limit {
			a.took = max(a.took-a.held, 0) // the rest was this process's own time
		}
		p.tell(a)
		if why := p.vigil.see(protocol.Monotonic(), a.took, a.err); why != "" {
			harm(&HarmError{Why: why})
		}
	}
}

// answer is what came of asking once.
type answer struct {
	took time.Duration
	held time.Duration // of that this process was held up
	err  error
}

// ask asks once. What looks for stalls of this process has to see those that lie in it.
func (p *probe) ask(ctx context.Context, patience time.Duration) (a answer) {
	before, began := p.stalled.Load(), protocol.Monotonic()
	asking, cancel := context.WithTimeout(ctx, patience)
	a.err = p.client.Ping(asking).Err()
	cancel()
	a.took = protocol.Monotonic() - began
	if a.took > ownStall {
		stage.Sleep(ctx, 2*protocol.StallPeriod)
	}
	a.held = time.Duration(p.stalled.Load() - before)
	switch {
	case a.err == nil:
	case errors.Is(a.err, context.DeadlineExceeded), strings.Contains(a.err.Error(), "i/o timeout"):
		a.err = errors.New("time-out")
	}
	return a
}

// lookAfterItself notes when this process is held up, until stop is called.
func (p *probe) lookAfterItself(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		protocol.Stalls(ctx, ownStall, func(lasted time.Duration) { p.stalled.Add(int64(lasted)) })
	})
	return func() { cancel(); looking.Wait() }
}

// tell notes in the histories of the runs what was seen.
func (p *probe) tell(a answer) {
	seen := &history.Probe{Latency: a.took}
	if a.err != nil {
		seen.Error = a.err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		r.Stamp(history.Event{Kind: history.Note, Probe: seen})
	}
}

// follow adds what the probe sees to the history of a run, beginning with the steady
// state, until leave is called. There may be no probe.
func (p *probe) follow(r *history.Recorder) (leave func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Stamp(history.Event{Kind: history.Note, Probe: &history.Probe{P50: p.steady.P50, P99: p.steady.P99, Limit: p.steady.Limit}})
	p.runs = append(p.runs, r)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.runs = slices.DeleteFunc(p.runs, func(other *history.Recorder) bool { return other == r })
	}
}
