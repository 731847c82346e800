package elector

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
)

// never is the time of a bell that waits for nothing.
const never = time.Duration(math.MaxInt64)

// minLook is how often, at the most, an alarm looks at its clock. See alarm.
const minLook = 20 * time.Millisecond

// alarm wakes the sessions of one store and clock. It has one timer for all of
// them, and wakes whoever may be woken then: what is due within the same moments
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

	mu    sync.Mutex // never held while the clock is read, or a bell rings
	bells []*bell    // a heap by latest
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

// joinAlarm is the alarm of a store and a clock. Whoever joins leaves it in the end.
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

// tells says whether the store can be told from another one: from one without any
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
		a.bells = append(a.bells, b)
		b.place = len(a.bells)
	}
	a.down(b.place)
	a.up(b.place)
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
	rung := a.ripe(nil, 1, now)
	for _, b := range rung {
		a.remove(b)
	}
	slices.SortStableFunc(rung, func(one, other *bell) int { return int(one.latest - other.latest) })
	return rung
}

// ripe adds those from a place of the heap on whose earliest time has come. Below a
// bell there are none that are due before it.
func (a *alarm) ripe(list []*bell, place int, now time.Duration) []*bell {
	if place > len(a.bells) || a.at(place).latest-a.early > now {
		return list
	}
	if b := a.at(place); b.earliest <= now {
		list = append(list, b)
	}
	return a.ripe(a.ripe(list, 2*place, now), 2*place+1, now)
}

func (a *alarm) at(place int) *bell { return a.bells[place-1] }

// remove takes a bell out of the heap, if it is in.
func (a *alarm) remove(b *bell) {
	if b.place == 0 {
		return
	}
	last := a.at(len(a.bells))
	a.put(last, b.place)
	a.bells[len(a.bells)-1] = nil
	a.bells = a.bells[:len(a.bells)-1]
	b.place = 0
	if last != b {
		a.down(last.place)
		a.up(last.place)
	}
}

func (a *alarm) put(b *bell, place int) {
	a.bells[place-1] = b
	b.place = place
}

// up brings a bell above those that are due later, down below those due before.
func (a *alarm) up(place int) {
	for b := a.at(place); place > 1 && a.at(place/2).latest > b.latest; place /= 2 {
		a.put(a.at(place/2), place)
		a.put(b, place/2)
	}
}

func (a *alarm) down(place int) {
	for b := a.at(place); ; {
		next := 2 * place
		if next < len(a.bells) && a.at(next+1).latest < a.at(next).latest {
			next++
		}
		if next > len(a.bells) || a.at(next).latest >= b.latest {
			return
		}
		a.put(a.at(next), place)
		a.put(b, next)
		place = next
	}
}
