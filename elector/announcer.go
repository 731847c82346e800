package elector

import (
	"sync"

	"github.com/recount-io/recount/elector/event"
)

// maxQueue bounds what waits for a callback or a log that hangs.
const maxQueue = 4096

// announcer makes calls of the user's code, in order, on a goroutine of its own
// that lives as long as there are any. The loop never waits for it: neither for the
// user's callbacks nor for a log whose reader has stopped reading.
type announcer struct {
	missed func(n int)    // is told how many calls were not made
	busy   sync.WaitGroup // while the goroutine lives
	taken  []func()       // the goroutine's: what it calls next

	mu      sync.Mutex
	queue   []func()
	lost    int
	running bool
}

// announce queues a call, which must not panic.
func (a *announcer) announce(call func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == maxQueue {
		a.lost++
		return
	}
	a.queue = append(a.queue, call)
	if !a.running {
		a.running = true
		a.busy.Go(a.run)
	}
}

// wait returns when all that was announced has been called. Nothing is announced
// any more.
func (a *announcer) wait() { a.busy.Wait() }

func (a *announcer) run() {
	ended := false
	defer func() {
		if !ended { // a callback has ended the goroutine (runtime.Goexit)
			a.busy.Go(a.run)
		}
	}()
	for a.take() {
		for len(a.taken) > 0 {
			call := a.taken[0]
			a.taken = a.taken[1:]
			call()
		}
	}
	ended = true
}

// take adds the queue to what is taken, and reports whether there is anything to call. If
// there is nothing, the goroutine must end without touching a.taken: the next one may
// already run.
func (a *announcer) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lost := a.lost; lost > 0 {
		a.taken = append(a.taken, func() { a.missed(lost) })
	}
	a.taken = append(a.taken, a.queue...)
	a.queue, a.lost = nil, 0
	a.running = len(a.taken) > 0
	return a.running
}

// callBack calls OnEvent and OnLeader.
func (s *session) callBack(ev Event) {
	if f := s.e.cfg.OnEvent; f != nil {
		s.protect("OnEvent", func() { f(ev) })
	}
	if f := s.e.cfg.OnLeader; f != nil && ev.Kind == event.LeaderSeen {
		s.protect("OnLeader", func() { f(ev.Leader) })
	}
}
