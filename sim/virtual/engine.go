package virtual

import "time"

// actor is something that acts when its time has come. What arg means is the
// actor's business: mostly it tells a call that is still wanted from one that
// is not.
type actor interface{ act(arg uint64) }

// event is an entry of the agenda.
type event struct {
	at  time.Duration
	seq uint64
	arg uint64
	who actor
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// agenda is what is going to happen, and the present: a heap ordered by time,
// and by the order of planning for one time. Nothing else decides what comes
// next, so the same plans give the same run.
type agenda struct {
	now   time.Duration
	plans uint64
	heap  []event // its nodes have four children: flat, so cheap to descend
}

const children = 4

// plan lets who act at at, or now if that is over.
func (a *agenda) plan(at time.Duration, who actor, arg uint64) {
	a.plans++
	e := event{max(at, a.now), a.plans, arg, who}
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / children
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

// next lets the next actor act and reports whether there was one before end.
func (a *agenda) next(end time.Duration) bool {
	if len(a.heap) == 0 || a.heap[0].at >= end {
		a.now = max(a.now, end)
		return false
	}
	first := a.heap[0]
	last := len(a.heap) - 1
	moved := a.heap[last]
	a.heap[last] = event{}
	a.heap = a.heap[:last]
	if last > 0 {
		a.sink(moved)
	}
	a.now = first.at
	first.who.act(first.arg)
	return true
}

// sink puts e where it belongs, from the root on.
func (a *agenda) sink(e event) {
	i, n := 0, len(a.heap)
	for {
		child := children*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+children, n); c++ {
			if a.heap[c].before(&a.heap[least]) {
				least = c
			}
		}
		if !a.heap[least].before(&e) {
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	a.heap[i] = e
}
