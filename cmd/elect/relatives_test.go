package main

import (
	"strings"
	"testing"
	"time"
)

// A job is all that is below elect, but for what elect started itself and for orphans of
// another time. A number that was used twice while processes were read is no endless loop.
func TestBelow(t *testing.T) {
	const elect, guard = 10, 11
	born := func(pid, parent int, at time.Duration) relative {
		return relative{pid: pid, parent: parent, born: at}
	}
	all := []relative{
		born(1, 0, 0), born(elect, 1, time.Second), born(guard, elect, 2*time.Second),
		born(12, elect, 2990*time.Millisecond),                                                   // in the last hundredth of a second before the job
		born(20, elect, 3*time.Second), born(21, 20, 9*time.Second), born(22, 21, 9*time.Second), // the job
		born(30, elect, 4*time.Second), // its orphan
		born(40, elect, 6*time.Second), // the next job
		born(50, 1, 4*time.Second),
		born(60, 61, 4*time.Second), born(61, 60, 4*time.Second), // read at two times
	}
	var got []string
	for _, p := range below(all, elect, func(pid int) bool { return pid == guard }, 3*time.Second+time.Millisecond, 5*time.Second) {
		got = append(got, itoa(p.pid))
	}
	if want := "20 30 21 22"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The log names who lives, and no more than ten.
func TestNames(t *testing.T) {
	var list []relative
	for i := range 14 {
		list = append(list, relative{pid: i, name: "sh", dead: i < 2})
	}
	if got, want := names(living(list)), "2 (sh), 3 (sh), 4 (sh), 5 (sh), 6 (sh), 7 (sh), 8 (sh), 9 (sh), 10 (sh), 11 (sh), and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A look that took long because elect itself was stopped does not put off the next one.
func TestRestIsBounded(t *testing.T) {
	for look, want := range map[time.Duration]time.Duration{
		0:                       goneInterval,
		time.Millisecond:        9 * time.Millisecond,
		1300 * time.Millisecond: tracedInterval,
	} {
		if got := rest(look); got != want {
			t.Errorf("after a look of %v it rests for %v, want %v", look, got, want)
		}
	}
}
