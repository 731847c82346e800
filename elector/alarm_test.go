package elector

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// wrist is a clock in a bubble that counts its timers, and can run ahead of them as
// when the machine was suspended.
type wrist struct {
	begun  time.Time
	asleep atomic.Int64
	timers atomic.Int64 // that were set
	live   atomic.Int64 // that have not fired, nor were stopped
}

func (w *wrist) Now() time.Duration { return time.Since(w.begun) + time.Duration(w.asleep.Load()) }

func (w *wrist) AfterFunc(d time.Duration, f func()) Timer {
	w.timers.Add(1)
	w.live.Add(1)
	return &wristTimer{w, time.AfterFunc(d, func() {
		w.live.Add(-1)
		f()
	})}
}

type wristTimer struct {
	clock *wrist
	timer *time.Timer
}

func (t *wristTimer) Stop() bool {
	stopped := t.timer.Stop()
	if stopped {
		t.clock.live.Add(-1)
	}
	return stopped
}

// ringer is a bell that notes when it rang.
type ringer struct {
	bell
	rang []time.Duration
}

func newRinger(a *alarm, w *wrist) *ringer {
	r := &ringer{}
	r.look = time.Second
	r.ring = func() { r.rang = append(r.rang, w.Now()) }
	i, _ := slices.BinarySearch(a.looks, r.look)
	a.looks = slices.Insert(a.looks, i, r.look)
	return r
}

// Bells that may ring at one moment do, at the least of their latest times; every bell
// rings once, never before its time and not late, whatever is set, set anew and taken
// off before. One timer does for all.
func TestAlarmRingsTogether(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			w := &wrist{begun: time.Now()}
			a := &alarm{clock: w}
			var all []*ringer
			for range 200 {
				all = append(all, newRinger(a, w))
			}
			between := func(most time.Duration) time.Duration { return time.Duration(dice.Int64N(int64(most))) }
			for range 3 {
				for _, r := range all {
					latest := w.Now() + time.Millisecond + between(20*time.Second)
					a.set(&r.bell, latest-between(200*time.Millisecond), latest, w.Now())
				}
			}
			off := all[:20]
			for _, r := range off {
				a.set(&r.bell, 0, never, w.Now())
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			for i, r := range all {
				switch {
				case i < len(off) && len(r.rang) > 0:
					t.Fatalf("seed %d: a bell rang that was taken off", seed)
				case i >= len(off) && (len(r.rang) != 1 || r.rang[0] < r.earliest || r.rang[0] > r.latest):
					t.Fatalf("seed %d: a bell for %v to %v rang at %v", seed, r.earliest, r.latest, r.rang)
				}
			}
			if n := w.timers.Load(); n > 900 {
				t.Errorf("seed %d: %d timers were set for 180 bells", seed, n)
			}
			for _, r := range all {
				a.leave(&r.bell)
			}
			if n := w.live.Load(); n != 0 {
				t.Errorf("seed %d: %d timers are left", seed, n)
			}
		})
	}
}

// Bells whose times meet ring in one go: for a thousand renewals that may be early by a
// fiftieth, fifty timers do.
func TestAlarmSavesTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wrist{begun: time.Now()}
		a := &alarm{clock: w}
		var all []*ringer
		for i := range 1000 {
			r := newRinger(a, w)
			all = append(all, r)
			latest := 10*time.Second + time.Duration(i)*5*time.Millisecond
			a.set(&r.bell, latest-100*time.Millisecond, latest, w.Now())
		}
		time.Sleep(9 * time.Second)
		before := w.timers.Load()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if n := w.timers.Load() - before; n > 55 {
			t.Errorf("%d timers were set in five seconds of a thousand bells", n)
		}
		for _, r := range all {
			if len(r.rang) != 1 {
				t.Fatalf("a bell rang at %v", r.rang)
			}
			a.leave(&r.bell)
		}
	})
}

// A clock that has jumped is noticed at the next look, once for all bells, and a bell
// that is set then is not late because of the timer of before.
func TestAlarmLooksAtTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wrist{begun: time.Now()}
		a := &alarm{clock: w}
		one, other := newRinger(a, w), newRinger(a, w)
		a.set(&one.bell, time.Minute, time.Minute, w.Now())
		time.Sleep(100 * time.Millisecond)
		w.asleep.Store(int64(time.Hour))
		now := w.Now()
		a.set(&other.bell, now+500*time.Millisecond, now+500*time.Millisecond, now)
		time.Sleep(one.look)
		synctest.Wait()
		if len(one.rang) != 1 || one.rang[0] > now+one.look {
			t.Errorf("what was due an hour ago rang at %v, want within %v of %v", one.rang, one.look, now)
		}
		if len(other.rang) != 1 || other.rang[0] != now+500*time.Millisecond {
			t.Errorf("what is due at %v rang at %v", now+500*time.Millisecond, other.rang)
		}
		a.leave(&one.bell)
		a.leave(&other.bell)
	})
}

type (
	storeOf struct{ Store } // of some content
	empty   struct{ Store }
	blank   struct{}
	unlike  struct {
		Store
		list []int
	}
	watching struct{ storeOf }
)

func (w watching) Unwrap() Store { return w.storeOf }

func (blank) Acquire(context.Context, store.Attempt) (store.Grant, error)  { return store.Grant{}, nil }
func (blank) Renew(context.Context, store.Lease) error                     { return nil }
func (blank) Release(context.Context, store.Lease) error                   { return nil }
func (blank) Leader(context.Context, string) (Leader, error)               { return Leader{}, nil }
func (blank) Watch(context.Context, string, func(store.Hint), func(error)) {}

// Sessions share an alarm if they have their store and their clock in common, seen
// through what observes the store, and if these can be told from others. It is
// forgotten with the last of them.
func TestAlarmIsShared(t *testing.T) {
	one, other := &storeOf{}, &storeOf{Store: empty{}}
	clock, late := &wrist{}, &wrist{}
	for _, test := range []struct {
		name           string
		store, another Store
		clock, second  Clock
		shared         bool
	}{
		{"same", one, one, clock, clock, true},
		{"equal", storeOf{one}, storeOf{one}, clock, clock, true},
		{"observed", watching{storeOf{one}}, storeOf{one}, clock, clock, true},
		{"other store", one, other, clock, clock, false},
		{"other clock", one, one, clock, late, false},
		{"nothing to tell them by", blank{}, blank{}, clock, clock, false},
		{"nothing to point at", &blank{}, &blank{}, clock, clock, false},
		{"not to be compared", unlike{list: []int{1}}, unlike{list: []int{1}}, clock, clock, false},
	} {
		a, b := bell{look: 1}, bell{look: 2}
		x, y := joinAlarm(test.store, test.clock, &a), joinAlarm(test.another, test.second, &b)
		if (x == y) != test.shared {
			t.Errorf("%s: shared is %t", test.name, x == y)
		}
		x.leave(&a)
		y.leave(&b)
	}
	alarms.Lock()
	defer alarms.Unlock()
	if len(alarms.all) != 0 {
		t.Errorf("%d alarms are left", len(alarms.all))
	}
}
