package virtual

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim"
)

// begin starts a routine of a test.
func begin(t *testing.T, a *agenda, f func(r *routine)) *routine {
	r := prepare(a, f)
	t.Cleanup(r.end)
	a.plan(a.now, r, 0)
	return r
}

// Routines go on in the order of the times that they sleep to, and the world's
// clock shows those times.
func TestRoutinesSleep(t *testing.T) {
	var a agenda
	var woke []time.Duration
	for _, d := range []time.Duration{3, 1, 2} {
		begin(t, &a, func(r *routine) {
			for range 3 {
				r.sleep(d)
				woke = append(woke, a.now*10+d)
			}
		})
	}
	for a.next(forever) {
		continue
	}
	if want := []time.Duration{11, 22, 21, 33, 31, 42, 63, 62, 93}; !slices.Equal(woke, want) {
		t.Errorf("woke %v, want %v", woke, want)
	}
}

// A wait ends with its signal or its time, whichever comes first; what comes
// later ends no other wait.
func TestRoutineAwaits(t *testing.T) {
	var a agenda
	var s signal
	var came []string
	begin(t, &a, func(r *routine) {
		for range 4 {
			word := "late"
			if r.await(&s, 10) {
				word = "came"
			}
			came = append(came, word+" "+a.now.String())
		}
	})
	for _, at := range []time.Duration{5, 5, 17, 40} { // the second one finds nobody
		a.plan(at, actFunction(s.fire), 0)
	}
	for a.next(100) {
		continue
	}
	if want := []string{"came 5ns", "late 15ns", "came 17ns", "late 27ns"}; !slices.Equal(came, want) {
		t.Errorf("%q, want %q", came, want)
	}
	if len(s.waiting) != 0 {
		t.Errorf("%d still wait", len(s.waiting))
	}
}

type actFunction func()

func (f actFunction) act(uint64) { f() }

// A routine that is ended unwinds from where it waits, once, and one that was
// never begun does nothing.
func TestRoutineEnds(t *testing.T) {
	var a agenda
	var did []string
	f := func(r *routine) {
		defer func() { did = append(did, "deferred") }()
		did = append(did, "begun")
		r.sleep(10)
		did = append(did, "woke")
	}
	never := prepare(&a, f)
	never.end()
	r := begin(t, &a, f)
	a.next(5)
	r.end()
	r.end()
	for a.next(100) {
		continue
	}
	if want := []string{"begun", "deferred"}; !slices.Equal(did, want) || !r.done {
		t.Errorf("did %q, want %q", did, want)
	}
}

// A panic of a routine comes out where the world goes on.
func TestRoutinePanics(t *testing.T) {
	var a agenda
	begin(t, &a, func(r *routine) {
		r.sleep(1)
		panic("not so")
	})
	defer func() {
		if v := recover(); v != "not so" {
			t.Errorf("recovered %v", v)
		}
	}()
	for a.next(10) {
		continue
	}
	t.Error("it went on")
}

// The routines of a process that stands still do not go on, and lose nothing:
// neither a signal nor a time that came meanwhile.
func TestRoutinesOfAPausedProcess(t *testing.T) {
	var did []string
	elector := func(h sim.Host) error {
		reply, _ := h.Do(time.Second, "SET", "a", "b")
		did = append(did, "reply "+reply.(string)+" at "+h.Now().String())
		h.Sleep(time.Second)
		did = append(did, "slept at "+h.Now().String())
		h.Sleep(time.Hour)
		did = append(did, "stopped at "+h.Now().String())
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: elector})
	for _, pause := range []time.Duration{20 * ms, 1500 * ms, 5 * time.Second} {
		r.to(pause)
		r.must(r.Stop(t.Context(), "n1"))
		if pause > 2*time.Second {
			(*order)(r.nodes[0]).act(r.nodes[0].life)
		}
		r.to(pause + 500*ms)
		r.must("", r.Continue(t.Context(), "n1"))
	}
	r.to(6 * time.Second)
	if want := "reply OK at 540.005ms; slept at 2s; stopped at 5.5s"; strings.Join(did, "; ") != want {
		t.Errorf("%q, want %q", did, want)
	}
}
