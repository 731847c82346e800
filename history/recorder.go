package history

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Recorder collects the events of one run, from any number of goroutines.
//
// Events reach it out of order: candidates stamp their own events and send
// them through pipes. History puts them into the order of their times.
type Recorder struct {
	now func() time.Duration

	mu     sync.Mutex
	events []Event
	lastOp int64
	seen   []func(Event)
}

// NewRecorder returns a Recorder that stamps by now, the run's own clock.
func NewRecorder(now func() time.Duration) *Recorder {
	return &Recorder{now: now}
}

// Now is the time since the start of the run.
func (r *Recorder) Now() time.Duration { return r.now() }

// NextOp returns a number for an operation that is not in use yet.
func (r *Recorder) NextOp() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOp++
	return r.lastOp
}

// Stamp records e as happening now and returns it with its time, clipped.
func (r *Recorder) Stamp(e Event) Event {
	r.mu.Lock()
	e.At = r.now()
	e.Clip()
	r.events = append(r.events, e)
	observers := r.seen
	r.mu.Unlock()
	tell(observers, e)
	return e
}

// Record records e with the time that it carries, clipped.
func (r *Recorder) Record(e Event) {
	e.Clip()
	r.mu.Lock()
	r.events = append(r.events, e)
	observers := r.seen
	r.mu.Unlock()
	tell(observers, e)
}

func tell(observers []func(Event), e Event) {
	for _, f := range observers {
		f(e)
	}
}

// Faults returns the fault events recorded so far.
func (r *Recorder) Faults() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []Event
	for _, e := range r.events {
		if e.Kind == Fault {
			faults = append(faults, e)
		}
	}
	return faults
}

// Observe calls f with every event from now on, on the goroutine that records
// it. f must not block and must not record.
func (r *Recorder) Observe(f func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(slices.Clip(r.seen), f)
}

// History returns what was recorded so far, ordered by time and numbered.
// Events of one time keep the order in which they were recorded.
func (r *Recorder) History(h Header) *History {
	r.mu.Lock()
	events := slices.Clone(r.events)
	r.mu.Unlock()
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for i := range events {
		events[i].Seq = int64(i) + 1
	}
	h.Version = Version
	return &History{Header: h, Events: events}
}
