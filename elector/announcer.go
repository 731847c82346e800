package elector

import "sync"

// maxQueue bounds the events that wait for a callback or a log that hangs.
const maxQueue = 4096

// announcer hands events to a function, in order, on a goroutine of its own. The
// loop never waits for it: neither for the user's callbacks nor for a log whose
// reader has stopped reading.
type announcer struct {
	e    *Elector
	call func(Event)
	wake chan struct{}

	mu     sync.Mutex
	queue  []Event
	lost   int
	closed bool
}

func newAnnouncer(e *Elector, call func(Event)) *announcer {
	return &announcer{e: e, call: call, wake: make(chan struct{}, 1)}
}

func (a *announcer) announce(ev Event) {
	a.mu.Lock()
	if len(a.queue) < maxQueue {
		a.queue = append(a.queue, ev)
	} else {
		a.lost++
	}
	a.mu.Unlock()
	a.nudge()
}

func (a *announcer) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.nudge()
}

func (a *announcer) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *announcer) run() {
	for range a.wake {
		events, lost, closed := a.take()
		if lost > 0 {
			a.e.cfg.Logger.Error("OnEvent, OnLeader or the log hangs: events were lost", "election", a.e.cfg.Election, "id", a.e.id, "events", lost)
		}
		for _, ev := range events {
			a.call(ev)
		}
		if closed {
			return
		}
	}
}

func (a *announcer) take() (events []Event, lost int, closed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	events, lost = a.queue, a.lost
	a.queue, a.lost = nil, 0
	return events, lost, a.closed
}

// callBack calls OnEvent and OnLeader.
func (e *Elector) callBack(ev Event) {
	if f := e.cfg.OnEvent; f != nil {
		e.protect("OnEvent", func() { f(ev) })
	}
	if f := e.cfg.OnLeader; f != nil && ev.Kind == EventLeader {
		e.protect("OnLeader", func() { f(ev.Leader) })
	}
}
