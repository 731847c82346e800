package virtual

import (
	"slices"
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
	lastOp  int64
	busy    int             // steps of the schedule under way: their ends may be put in before other events
	chain   *chain          // nil if the run is one history
	times   []time.Duration // room for the deadlines that events point to
}

// add records an event as happening now.
func (r *record) add(e history.Event) {
	e.At = r.agenda.now
	r.append(&e)
}

func (r *record) append(e *history.Event) {
	if r.chain != nil {
		if len(r.events) >= r.chain.next && r.busy == 0 {
			r.cut(e.At)
		}
		r.chain.see(e, r.events)
	}
	e.Clip()
	if len(r.events) == cap(r.events) {
		r.events = slices.Grow(r.events, max(len(r.events), 64)) // by half as often as append does: copies were a third of a long run
	}
	r.events = append(r.events, *e)
	if r.leaders.See(e) {
		r.changed.fire()
	}
}

// insert records an event with the time that it carries.
func (r *record) insert(e history.Event) {
	r.append(&e)
	place := len(r.events) - 1
	for ; place > 0 && r.events[place-1].At > e.At; place-- {
		r.events[place-1], r.events[place] = r.events[place], r.events[place-1]
	}
	if r.chain != nil {
		r.chain.moved(place)
	}
}

// number gives the events their numbers.
func (r *record) number() {
	for i := range r.events {
		r.events[i].Seq = int64(i) + 1
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
