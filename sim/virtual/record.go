package virtual

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// record is the run's history in the making. The world has one thread and one
// clock, so the events come in the order of their times, but for the end of a
// fault, which counts from before its healing.
type record struct {
	agenda  *agenda
	leaders *sim.Leadership
	changed signal // who leads
	events  []history.Event
	seq     int64 // of the last event that was passed on
	lastOp  int64
	busy    int // steps of the schedule under way: their ends may be put in before other events
	pass    func([]history.Event)
	times   []time.Duration // room for the deadlines that events point to
}

// passAt is how many events are kept before they are passed on, where somebody
// takes them.
const passAt = 2048

// add records an event as happening now.
func (r *record) add(e history.Event) {
	e.At = r.agenda.now
	r.append(&e)
}

func (r *record) append(e *history.Event) {
	if r.pass != nil && len(r.events) >= passAt && r.busy == 0 {
		r.flush()
	}
	r.events = append(r.events, *e)
	if r.leaders.See(e) {
		r.changed.fire()
	}
}

// insert records an event with the time that it carries.
func (r *record) insert(e history.Event) {
	r.append(&e)
	for i := len(r.events) - 1; i > 0 && r.events[i-1].At > e.At; i-- {
		r.events[i-1], r.events[i] = r.events[i], r.events[i-1]
	}
}

// flush passes on what was recorded so far.
func (r *record) flush() {
	r.number()
	r.pass(r.events)
	r.seq += int64(len(r.events))
	r.events = r.events[:0]
}

func (r *record) number() {
	for i := range r.events {
		r.events[i].Seq = r.seq + int64(i) + 1
	}
}

// nextOp is a number for an operation.
func (r *record) nextOp() int64 {
	r.lastOp++
	return r.lastOp
}

// at is a pointer to t, of which there are many.
func (r *record) at(t time.Duration) *time.Duration {
	if len(r.times) == cap(r.times) {
		r.times = make([]time.Duration, 0, 1024)
	}
	r.times = append(r.times, t)
	return &r.times[len(r.times)-1]
}
