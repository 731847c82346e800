package elector

import "sync"

// maxQueue bounds the events that wait for a callback that hangs.
const maxQueue = 4096

// announcer calls OnEvent and OnLeader, in order, on one goroutine. The loop
// never waits for it.
type announcer struct {
	e    *Elector
	wake chan struct{}

	mu     sync.Mutex
	queue  []Event
	lost   int
	closed bool
}

func newAnnouncer(e *Elector) *announcer {
	return &announcer{e: e, wake: make(chan struct{}, 1)}
}

func (a *announcer) announce(ev Event) {
	if a.e.cfg.OnEvent == nil && a.e.cfg.OnLeader == nil {
		return
	}
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
			a.e.cfg.Logger.Error("OnEvent or OnLeader hangs: events were lost", "election", a.e.cfg.Election, "id", a.e.id, "events", lost)
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

func (a *announcer) call(ev Event) {
	if f := a.e.cfg.OnEvent; f != nil {
		a.e.protect("OnEvent", func() { f(ev) })
	}
	if f := a.e.cfg.OnLeader; f != nil && ev.Kind == EventLeader {
		a.e.protect("OnLeader", func() { f(ev.Leader) })
	}
}
