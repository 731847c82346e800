package elector

import "sync"

// maxQueue bounds the events that wait for a callback or a log that hangs.
const maxQueue = 4096

// announcer hands events to a function, in order, on a goroutine of its own that
// lives as long as there are any. The loop never waits for it: neither for the
// user's callbacks nor for a log whose reader has stopped reading.
type announcer struct {
	e    *Elector
	call func(Event)
	busy sync.WaitGroup // while the goroutine lives

	mu      sync.Mutex
	queue   []Event
	lost    int
	running bool
}

func newAnnouncer(e *Elector, call func(Event)) *announcer { return &announcer{e: e, call: call} }

func (a *announcer) announce(events []Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fit := min(len(events), maxQueue-len(a.queue))
	a.queue = append(a.queue, events[:fit]...)
	a.lost += len(events) - fit
	if !a.running && len(a.queue) > 0 {
		a.running = true
		a.busy.Go(a.run)
	}
}

// wait returns when all that was announced has been handed on. Nothing is
// announced any more.
func (a *announcer) wait() { a.busy.Wait() }

func (a *announcer) run() {
	for {
		events, lost := a.take()
		if lost > 0 {
			a.e.cfg.Logger.Error("OnEvent, OnLeader or the log hangs: events were lost", "election", a.e.cfg.Election, "id", a.e.id, "events", lost)
		}
		if len(events) == 0 {
			return
		}
		for _, ev := range events {
			a.call(ev)
		}
	}
}

// take is what there is to hand on. No events: the goroutine ends.
func (a *announcer) take() (events []Event, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	events, lost = a.queue, a.lost
	a.queue, a.lost = nil, 0
	a.running = len(events) > 0
	return events, lost
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
