package elector

import (
	"container/heap"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// never is the time of a bell that waits for nothing.
const never = time.Duration(math.MaxInt64)

// minLook is how often, at the most, an alarm looks at its clock. See alarm.
const minLook = 20 * time.Millisecond

// alarm wakes the sessions of one store and clock. It has one timer for all of
// them, and wakes all that may be woken then: what is due within the same moments
// is sent together.
//
// Its timer is never set for long, but looks at the clock at least every twentieth
// of a lease. One that was set before the machine was suspended fires late by as
// long as that lasted, and the contexts of the terms that are over must be cancelled
// after it. So it looks once for all, whatever their number.
type alarm struct {
	clock Clock
	key   alarmKey // zero: it is one session's alone
	users int      // guarded by alarms

	trip     atomic.Int64 // about how long a round trip takes; see took
	since    atomic.Int64 // when that was noted first
	notified atomic.Bool  // a trouble said that its users are too many for the store

	mu    sync.Mutex // never held while the clock is read, or a bell rings
	bells bells
	early time.Duration
	looks []time.Duration // of its users, the smallest first
	timer Timer           // nil: none is set
	due   time.Duration   // when it fires
}

// bell is a session's place in its alarm.
type bell struct {
	ring             func()
	look             time.Duration
	earliest, latest time.Duration
	place            int // in the heap, counted from 1; 0: it waits for nothing
}

// alarmKey tells alarms apart.
type alarmKey struct {
	store Store
	clock Clock
}

// alarms are those that several sessions may share. A store has one for each clock
// only as long as somebody competes in it.
var alarms struct {
	sync.Mutex
	all map[alarmKey]*alarm
}

// wrapper is a store that observes another one.
type wrapper interface{ Unwrap() Store }

// joinAlarm is the alarm of a store and a clock. Each session that joins it must leave it.
func joinAlarm(store Store, clock Clock, b *bell) *alarm {
	for {
		w, ok := store.(wrapper)
		if !ok {
			break
		}
		store = w.Unwrap()
	}
	a := alarmOf(store, clock)
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearch(a.looks, b.look)
	a.looks = slices.Insert(a.looks, i, b.look)
	return a
}

func alarmOf(store Store, clock Clock) *alarm {
	if !tells(store) || !reflect.ValueOf(clock).Comparable() {
		return &alarm{clock: clock}
	}
	alarms.Lock()
	defer alarms.Unlock()
	key := alarmKey{store, clock}
	a := alarms.all[key]
	if a == nil {
		a = &alarm{clock: clock, key: key}
		if alarms.all == nil {
			alarms.all = map[alarmKey]*alarm{}
		}
		alarms.all[key] = a
	}
	a.users++
	return a
}

// tells reports whether the store can be told from another one: from one without any
// content it cannot, be it in another bubble of fake time, whose timers are apart.
func tells(store Store) bool {
	v := reflect.ValueOf(store)
	kind := v.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return v.Comparable() && kind.Size() > 0
}

// leave takes the bell off. The alarm stops with its last one.
func (a *alarm) leave(b *bell) {
	a.mu.Lock()
	a.remove(b)
	i, _ := slices.BinarySearch(a.looks, b.look)
	a.looks = slices.Delete(a.looks, i, i+1)
	if len(a.looks) == 0 && a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.mu.Unlock()
	if a.key == (alarmKey{}) {
		return
	}
	alarms.Lock()
	defer alarms.Unlock()
	if a.users--; a.users == 0 {
		delete(alarms.all, a.key)
	}
}

// set has the bell rung once, at a time from earliest to latest, or somewhat later.
// It is now.
func (a *alarm) set(b *bell, earliest, latest, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if latest == never {
		a.remove(b)
		return
	}
	a.early = max(a.early, latest-earliest)
	b.earliest, b.latest = earliest, latest
	if b.place == 0 {
		heap.Push(&a.bells, b)
	} else {
		heap.Fix(&a.bells, b.place-1)
	}
	a.arm(now)
}

// arm sets the timer for whatever is due first, or for the next look.
func (a *alarm) arm(now time.Duration) {
	if len(a.bells) == 0 {
		return // one that is set fires in vain
	}
	due := min(a.bells[0].latest, now+a.looks[0])
	if a.timer != nil {
		if now < a.due && a.due <= due {
			return
		}
		a.timer.Stop()
	}
	a.due = due
	a.timer = a.clock.AfterFunc(max(0, due-now), a.fire)
}

// fire rings whatever may be rung.
func (a *alarm) fire() {
	now := a.clock.Now()
	a.mu.Lock()
	if len(a.looks) == 0 { // everybody has left meanwhile
		a.mu.Unlock()
		return
	}
	if a.timer != nil {
		a.timer.Stop() // another one, if several have met
		a.timer = nil
	}
	rung := a.take(now)
	a.arm(now)
	a.mu.Unlock()
	for _, b := range rung {
		b.ring()
	}
}

// take removes the bells whose time has come, and returns them, the most urgent
// first.
func (a *alarm) take(now time.Duration) []*bell {
	rung := a.ripe(nil, 0, now)
	for _, b := range rung {
		a.remove(b)
	}
	slices.SortStableFunc(rung, func(one, other *bell) int { return int(one.latest - other.latest) })
	return rung
}

// ripe adds those from an index of the heap on whose earliest time has come. Below a
// bell there are none that are due before it.
func (a *alarm) ripe(list []*bell, i int, now time.Duration) []*bell {
	if i >= len(a.bells) || a.bells[i].latest-a.early > now {
		return list
	}
	if b := a.bells[i]; b.earliest <= now {
		list = append(list, b)
	}
	return a.ripe(a.ripe(list, 2*i+1, now), 2*i+2, now)
}

// remove takes a bell out of the heap, if it is in.
func (a *alarm) remove(b *bell) {
	if b.place > 0 {
		heap.Remove(&a.bells, b.place-1)
	}
}

// bells are a heap by latest, as package heap has it.
type bells []*bell

func (h bells) Len() int           { return len(h) }
func (h bells) Less(i, j int) bool { return h[i].latest < h[j].latest }

func (h bells) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *bells) Push(b any) {
	*h = append(*h, b.(*bell))
	(*h)[len(*h)-1].place = len(*h)
}

func (h *bells) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	b.place = 0
	return b
}
