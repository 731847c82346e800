package bubble

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/candidate"
)

// newClock is the clock of a process that begins now.
func newClock() *clock {
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin) }
	p := &process{node: &node{run: &run{recorder: history.NewRecorder(now)}}, sleeping: -1}
	return &clock{Clock: candidate.NewClock(now, 1), process: p}
}

// near reports whether something took so long, and no longer than a timer is late.
func near(got, want time.Duration) bool { return got >= want && got <= want+lateness }

// Who stands still reads its clock when it goes on, and its timers fire then; one
// that is stopped meanwhile does not.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		begin := time.Now()
		fired := make(chan time.Duration, 1)
		c.AfterFunc(time.Second, func() { fired <- time.Since(begin) })
		never := c.AfterFunc(time.Second, func() { t.Error("a timer fired that was stopped") })
		c.process.gate.Close()
		time.AfterFunc(time.Minute, func() {
			if !never.Stop() || never.Stop() {
				t.Error("a timer that waits is not stopped once")
			}
			c.process.gate.Open()
		})
		if got := c.Now(); got != time.Minute {
			t.Errorf("the clock showed %v to who stood still for a minute", got)
		}
		if at := <-fired; at != time.Minute {
			t.Errorf("the timer fired after %v", at)
		}
	})
}

// The timers of a suspended machine stand still, its clock does not.
func TestClockOfSuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		begin := time.Now()
		fired := make(chan time.Duration, 2)
		c.AfterFunc(10*time.Second, func() { fired <- time.Since(begin) })
		time.Sleep(4 * time.Second)
		c.process.sleep(true)
		c.process.gate.Close()
		time.Sleep(time.Hour)
		c.process.sleep(false)
		c.process.gate.Open()
		if got := c.Now(); got != time.Hour+4*time.Second {
			t.Errorf("the clock shows %v", got)
		}
		c.AfterFunc(time.Second, func() { fired <- time.Since(begin) })
		for _, want := range []time.Duration{time.Hour + 5*time.Second, time.Hour + 10*time.Second} {
			if at := <-fired; !near(at, want) {
				t.Errorf("a timer fired after %v, want %v", at, want)
			}
		}
	})
}

// Who is killed while its machine is suspended waits for no waking: what is left of it
// must end.
func TestKilledInItsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.process.stop, c.process.ended = func() {}, make(chan struct{})
		fired := make(chan struct{})
		c.AfterFunc(10*time.Second, func() { close(fired) })
		c.process.sleep(true)
		c.process.gate.Close()
		time.Sleep(time.Second)
		c.process.kill(history.EndOfRun)
		c.process.sleep(true) // the fault does not know
		select {
		case <-fired:
		case <-time.After(time.Hour):
			t.Error("a timer does not fire")
		}
	})
}
