package elector

import "sync"

// maxQueue bounds what waits for a callback or a log that hangs.
const maxQueue = 4096

// announcer makes calls of the user's code, in order, on a goroutine of its own
// that lives as long as there are any. The loop never waits for it: neither for the
// user's callbacks nor for a log whose reader has stopped reading.
type announcer struct {
	missed func(n int)    // is told how many calls were not made
	busy   sync.WaitGroup // while the goroutine lives

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
	defer a.restart() // a callback may end the goroutine (runtime.Goexit)
	for {
		calls, lost := a.take()
		if lost > 0 {
			a.missed(lost)
		}
		if len(calls) == 0 {
			return
		}
		for _, call := range calls {
			call()
		}
	}
}

// restart goes on on a new goroutine, if this one ends before its time. What it had
// taken and not called is lost.
func (a *announcer) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running {
		a.busy.Go(a.run)
	}
}

// take is what there is to call. Nothing: the goroutine ends.
func (a *announcer) take() (calls []func(), lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls, lost = a.queue, a.lost
	a.queue, a.lost = nil, 0
	a.running = len(calls) > 0
	return calls, lost
}

// callBack calls OnEvent and OnLeader.
func (s *session) callBack(ev Event) {
	if f := s.e.cfg.OnEvent; f != nil {
		s.protect("OnEvent", func() { f(ev) })
	}
	if f := s.e.cfg.OnLeader; f != nil && ev.Kind == EventLeader {
		s.protect("OnLeader", func() { f(ev.Leader) })
	}
}
