package stage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

const sec = time.Second

// fakeWorld does what the faults of these tests ask, in a second each unless
// it says otherwise, and writes it down. The embedded nil World makes every
// other act a panic.
type fakeWorld struct {
	faults.World
	now  func() time.Duration
	fail map[string]error         // by "act node"
	take map[string]time.Duration // by "act"; 1s

	mu   sync.Mutex
	acts []string
}

func (w *fakeWorld) act(ctx context.Context, name, node string) (string, error) {
	w.mu.Lock()
	w.acts = append(w.acts, fmt.Sprintf("%v %s %s", w.now(), name, node))
	w.mu.Unlock()
	took, given := w.take[name]
	if !given {
		took = sec
	}
	if !Sleep(ctx, took) {
		return "", ctx.Err()
	}
	if err := w.fail[name+" "+node]; err != nil {
		return "", err
	}
	return node + " " + name, nil
}

func (w *fakeWorld) Each(n int, act func(i int)) { Each(n, act) }

func (w *fakeWorld) only(_ string, err error) error { return err }

func (w *fakeWorld) Cut(ctx context.Context, node string, _ faults.Cut) (string, error) {
	return w.act(ctx, "cut", node)
}

func (w *fakeWorld) Mend(ctx context.Context, node string) error {
	return w.only(w.act(ctx, "mend", node))
}

func (w *fakeWorld) Kill(ctx context.Context, node string) (string, error) {
	return w.act(ctx, "kill", node)
}

func (w *fakeWorld) Launch(ctx context.Context, node string) error {
	return w.only(w.act(ctx, "launch", node))
}

func (w *fakeWorld) SetClockRate(ctx context.Context, node string, rate float64) (string, error) {
	return w.act(ctx, "clock", fmt.Sprintf("%s %g", node, rate))
}

func (w *fakeWorld) DeleteLeases(ctx context.Context) (string, error) {
	return w.act(ctx, "delete", "leases")
}

func (w *fakeWorld) StopBeforeWrite(ctx context.Context, node string) (string, error) {
	return w.act(ctx, "hold", node)
}

func (w *fakeWorld) ContinueWrite(ctx context.Context, node string) (string, error) {
	return w.act(ctx, "unhold", node)
}

// stage is a driver with a fake world, in a bubble whose time 0 is the run's.
type stage struct {
	*Driver
	fake     *fakeWorld
	progress []string
}

func newStage(leader string) *stage {
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin) }
	s := &stage{fake: &fakeWorld{now: now, fail: map[string]error{}, take: map[string]time.Duration{}}}
	recorder := history.NewRecorder(now)
	leaders := NewLeadership([]string{"n1", "n2", "n3"})
	recorder.Observe(leaders.See)
	var mu sync.Mutex
	s.Driver = &Driver{
		World: s.fake, Recorder: recorder, Leaders: leaders, Patience: 10 * sec,
		Report: func(step faults.Step, targets []string, on bool) {
			mu.Lock()
			defer mu.Unlock()
			s.progress = append(s.progress, fmt.Sprintf("%v %s %v %v", now(), step.Fault.Name(), targets, on))
		},
	}
	if leader != "" {
		s.elect(leader, 1)
	}
	return s
}

// elect makes node the leader and lets it write.
func (s *stage) elect(node string, token uint64) {
	s.Recorder.Stamp(history.Event{Kind: history.Elected, Node: node, Token: token})
	s.Recorder.Stamp(history.Event{Kind: history.Ok, Call: history.Write, Node: node, Token: token})
}

// faults are the recorded events of faults, in short: with off events, since
// when, whether effective, and by what evidence. Those on that do not say what they
// do to their targets, and those off that do, say so.
func (s *stage) faults() []string {
	var events []string
	for _, e := range s.Recorder.History(history.Header{}).Events {
		if e.Kind != history.Fault {
			continue
		}
		text := fmt.Sprintf("%v %s %s %s %v", e.At, e.ID, e.Fault, e.Phase, e.Targets)
		if on := e.Phase == history.On; on != (e.Effect != nil) || on && *e.Effect != history.EffectOf(e.Fault) {
			text += fmt.Sprintf(" with the effect %+v", e.Effect)
		}
		if e.Phase == history.Off {
			since := "never"
			if e.Since != nil {
				since = e.Since.String()
			}
			text += fmt.Sprintf(" since %s effective %v: %s", since, *e.Effective, e.Evidence)
		}
		events = append(events, text)
	}
	return events
}

func (s *stage) expect(t *testing.T, err error, wantErr string, acts, events []string) {
	t.Helper()
	if err == nil && wantErr != "" || err != nil && (wantErr == "" || !strings.Contains(err.Error(), wantErr)) {
		t.Errorf("the error is %v, want %q", err, wantErr)
	}
	// What happens at one moment happens in any order.
	if !slices.Equal(slices.Sorted(slices.Values(s.fake.acts)), slices.Sorted(slices.Values(acts))) {
		t.Errorf("the world was asked for\n  %s\nwant\n  %s", strings.Join(s.fake.acts, "\n  "), strings.Join(acts, "\n  "))
	}
	if got := s.faults(); !slices.Equal(got, events) {
		t.Errorf("recorded\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(events, "\n  "))
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		if v, _ := s.Leaders.View(); !slices.Contains(v.Running, node) {
			t.Errorf("%s still counts as disturbed", node)
		}
	}
}

// cut and crash differ in when they end: a cut may be gone from the moment in
// which healing begins, a crash lasts until the process is there again.
func cut(at, length time.Duration, target faults.Target) faults.Step {
	return faults.Step{At: at, For: length, Fault: faults.Partition{How: faults.CutBoth}, Target: target}
}

func crash(at, length time.Duration, target faults.Target) faults.Step {
	return faults.Step{At: at, For: length, Fault: faults.Crash{}, Target: target}
}

// A fault is put on at its time, is in force for as long as it should be from
// the moment in which it was seen, and is taken off. It counts as on from
// before the first act; a cut is off before it is mended, a crash after the
// process was started again.
func TestDriverStampsAndHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		err := s.Drive(t.Context(), faults.Schedule{crash(20*sec, 3*sec, faults.Leader), cut(5*sec, 4*sec, faults.Leader)})
		s.expect(t, err, "", []string{"5s cut n1", "10s mend n1", "20s kill n1", "24s launch n1"}, []string{
			"5s f1 partition on [n1]", "10s f1 partition off [n1] since 6s effective true: n1 cut",
			"20s f2 crash on [n1]", "25s f2 crash off [n1] since 21s effective true: n1 kill",
		})
		want := []string{"5s partition [n1] true", "11s partition [n1] false", "20s crash [n1] true", "25s crash [n1] false"}
		if !slices.Equal(s.progress, want) {
			t.Errorf("progress %q, want %q", s.progress, want)
		}
	})
}

// Where a world is slow to heal, a fault does not begin before the one before it on the
// same target is over; one that should begin during it does, and so does one elsewhere.
func TestDriverKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		s.fake.take["launch"] = 12 * sec
		err := s.Drive(t.Context(), faults.Schedule{
			crash(sec, 3*sec, faults.Node("n2")), cut(2*sec, sec, faults.Node("n2")),
			crash(10*sec, 3*sec, faults.Node("n2")), cut(11*sec, sec, faults.Node("n3")),
		})
		s.expect(t, err, "", []string{
			"1s kill n2", "2s cut n2", "4s mend n2", "5s launch n2", "11s cut n3", "13s mend n3", "17s kill n2", "21s launch n2",
		}, []string{
			"1s f1 crash on [n2]", "2s f2 partition on [n2]", "4s f2 partition off [n2] since 3s effective true: n2 cut",
			"11s f4 partition on [n3]", "13s f4 partition off [n3] since 12s effective true: n3 cut",
			"17s f1 crash off [n2] since 2s effective true: n2 kill",
			"17s f3 crash on [n2]", "33s f3 crash off [n2] since 18s effective true: n2 kill",
		})
	})
}

// What is over at once is not held and not healed; its event off comes after
// the act.
func TestDriverInstantFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		err := s.Drive(t.Context(), faults.Schedule{{At: 5 * sec, For: 99 * sec, Fault: faults.KeyDeleted{}, Target: faults.Store}})
		s.expect(t, err, "", []string{"5s delete leases"}, []string{
			"5s f1 key-deleted on [store]", "6s f1 key-deleted off [store] since 6s effective true: leases delete",
		})
	})
}

// What only healing can show is part of the evidence; the events carry the
// fault's parameters.
func TestDriverEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		err := s.Drive(t.Context(), faults.Schedule{
			{At: sec, For: sec, Fault: faults.PauseBeforeWrite{}, Target: faults.Leader},
			{At: 20 * sec, For: sec, Fault: faults.ClockRate{Rate: 0.5}, Target: faults.Node("n2")},
		})
		s.expect(t, err, "", []string{"1s hold n1", "3s unhold n1", "20s clock n2 0.5", "22s clock n2 1"}, []string{
			"1s f1 pause-before-write on [n1]", "3s f1 pause-before-write off [n1] since 2s effective true: n1 hold; n1 unhold",
			"20s f2 clock-rate on [n2]", "23s f2 clock-rate off [n2] since 21s effective true: n2 0.5 clock; n2 1 clock",
		})
		for _, e := range s.Recorder.History(history.Header{}).Events {
			if e.Fault == "clock-rate" && !reflect.DeepEqual(e.Params, map[string]any{"rate": 0.5}) {
				t.Errorf("event %d has the parameters %v", e.Seq, e.Params)
			}
		}
	})
}

// A fault without effect is recorded as that, is healed all the same, and is
// no error: the checkers judge it. That holds for what healing finds, too.
func TestDriverNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		s.fake.fail["cut n1"] = faults.NoEffect("answered in %v", time.Millisecond)
		s.fake.fail["unhold n1"] = faults.NoEffect("accepted")
		err := s.Drive(t.Context(), faults.Schedule{
			cut(5*sec, 4*sec, faults.Leader),
			{At: 20 * sec, For: sec, Fault: faults.PauseBeforeWrite{}, Target: faults.Leader},
		})
		s.expect(t, err, "", []string{"5s cut n1", "10s mend n1", "20s hold n1", "22s unhold n1"}, []string{
			"5s f1 partition on [n1]", "10s f1 partition off [n1] since 6s effective false: answered in 1ms",
			"20s f2 pause-before-write on [n1]",
			"22s f2 pause-before-write off [n1] since 21s effective false: n1 hold; accepted",
		})
	})
}

// A fault that could not be put on, and so not be taken off either, says why once, and
// in one line whomever it is meant for.
func TestDriverNoEffectIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		var acts []string
		for _, node := range []string{"n1", "n2", "n3"} {
			for _, rate := range []string{" 2", " 1"} {
				s.fake.fail["clock "+node+rate] = faults.NoEffect("%s cannot be told its clocks", node)
			}
			acts = append(acts, "0s clock "+node+" 2", "2s clock "+node+" 1")
		}
		err := s.Drive(t.Context(), faults.Schedule{{For: sec, Fault: faults.ClockRate{Rate: 2}, Target: faults.All}})
		s.expect(t, err, "", acts, []string{
			"0s f1 clock-rate on [n1 n2 n3]",
			"3s f1 clock-rate off [n1 n2 n3] since 1s effective false: n1 cannot be told its clocks; n2 cannot be told its clocks; n3 cannot be told its clocks",
		})
	})
}

// A world that could not do what it was asked to is an error that names the
// step; the fault is not effective, is healed all the same, and the steps
// after it go on.
func TestDriverWorldErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		s.fake.fail["kill n1"] = errors.New("no such process")
		s.fake.fail["mend n1"] = errors.New("proxy gone")
		err := s.Drive(t.Context(), faults.Schedule{crash(5*sec, sec, faults.Leader), cut(20*sec, sec, faults.Leader)})
		s.expect(t, err, "sim: crash at 5s for 1s on the leader: no such process", []string{"5s kill n1", "7s launch n1", "20s cut n1", "22s mend n1"}, []string{
			"5s f1 crash on [n1]", "8s f1 crash off [n1] since 6s effective false: no such process",
			"20s f2 partition on [n1]", "22s f2 partition off [n1] since 21s effective false: n1 cut; proxy gone",
		})
		if err == nil || !strings.Contains(err.Error(), "sim: partition at 20s for 1s on the leader: proxy gone") {
			t.Errorf("%v: says nothing of the way that was not mended", err)
		}
	})
}

// A fault meant for the leader waits for one, within its patience, and is held
// for its whole time then; one meant for all waits for nobody.
func TestDriverWaitsForLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("")
		time.AfterFunc(9*sec, func() { s.elect("n3", 7) })
		err := s.Drive(t.Context(), faults.Schedule{cut(5*sec, 4*sec, faults.Leader), crash(sec, sec, faults.Node("n1"))})
		s.expect(t, err, "", []string{"1s kill n1", "3s launch n1", "9s cut n3", "14s mend n3"}, []string{
			"1s f1 crash on [n1]", "4s f1 crash off [n1] since 2s effective true: n1 kill",
			"9s f2 partition on [n3]", "14s f2 partition off [n3] since 10s effective true: n3 cut",
		})
	})
}

// A fault for which no leader comes is recorded as missed: it took no effect.
// The world is asked for nothing.
func TestDriverMissesLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("")
		err := s.Drive(t.Context(), faults.Schedule{cut(5*sec, 4*sec, faults.Follower)})
		s.expect(t, err, "", nil, []string{
			"15s f1 partition on []",
			"15s f1 partition off [] since never effective false: faults: nobody leads, so there is no saying who is a follower",
		})
	})
}

// Two faults at once hit two nodes: the second one for the leader waits until
// the first is over or somebody else leads; one for a follower looks for
// another follower.
func TestDriverLooksElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		time.AfterFunc(12*sec, func() { s.elect("n2", 2) })
		err := s.Drive(t.Context(), faults.Schedule{cut(5*sec, 20*sec, faults.Leader), crash(6*sec, 2*sec, faults.Leader), cut(13*sec, 2*sec, faults.Leader)})
		acts := []string{"5s cut n1", "12s kill n2", "15s launch n2", "16s cut n2", "19s mend n2", "26s mend n1"}
		if err != nil || !slices.Equal(s.fake.acts, acts) {
			t.Errorf("%v, acts %q, want %q", err, s.fake.acts, acts)
		}
	})
}

// A fault on all candidates hits all of them at one moment, however long it
// takes to put it on, and so it heals.
func TestDriverHitsAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		err := s.Drive(t.Context(), faults.Schedule{cut(sec, 4*sec, faults.All)})
		s.expect(t, err, "", []string{"1s cut n1", "1s cut n2", "1s cut n3", "6s mend n1", "6s mend n2", "6s mend n3"}, []string{
			"1s f1 partition on [n1 n2 n3]", "6s f1 partition off [n1 n2 n3] since 2s effective true: n1 cut; n2 cut; n3 cut",
		})
	})
}

// A candidate whose clock is wrong runs and leads all the same: that is when
// it must be cut off. The cut comes at its time, and not after the clocks were
// put right.
func TestDriverCutsWhileClocksAreWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		s.fake.take["clock"] = 0
		err := s.Drive(t.Context(), faults.Schedule{
			{At: sec, For: 8 * sec, Fault: faults.ClockRate{Rate: 0.5}, Target: faults.All},
			cut(2*sec, 3*sec, faults.Leader),
		})
		s.expect(t, err, "", []string{
			"1s clock n1 0.5", "1s clock n2 0.5", "1s clock n3 0.5", "2s cut n1", "6s mend n1", "9s clock n1 1", "9s clock n2 1", "9s clock n3 1",
		}, []string{
			"1s f1 clock-rate on [n1 n2 n3]", "2s f2 partition on [n1]", "6s f2 partition off [n1] since 3s effective true: n1 cut",
			"9s f1 clock-rate off [n1 n2 n3] since 1s effective true: n1 0.5 clock; n2 0.5 clock; n3 0.5 clock; n1 1 clock; n2 1 clock; n3 1 clock",
		})
	})
}

// A run that is stopped in the middle of a fault heals it at once and returns;
// what did not begin never does, is recorded as missed, and is no error.
func TestDriverStopsInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		ctx, cancel := context.WithTimeout(t.Context(), 8*sec)
		defer cancel()
		err := s.Drive(ctx, faults.Schedule{cut(5*sec, 99*sec, faults.Leader), crash(9*sec, sec, faults.Node("n3"))})
		s.expect(t, err, "", []string{"5s cut n1", "8s mend n1"}, []string{
			"5s f1 partition on [n1]",
			"8s f2 crash on []", "8s f2 crash off [] since never effective false: the run was stopped before it was put on",
			"8s f1 partition off [n1] since 6s effective true: n1 cut",
		})
		if s.Recorder.Now() != 9*sec {
			t.Errorf("it took until %v", s.Recorder.Now())
		}
	})
}

// A run that is stopped while a fault is being put on is not broken by what
// then went wrong; a fault that waited for a leader is missed for that reason.
func TestDriverStopsWhileApplying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("")
		s.fake.take["kill"] = 3 * sec
		ctx, cancel := context.WithTimeout(t.Context(), 2*sec)
		defer cancel()
		err := s.Drive(ctx, faults.Schedule{crash(sec, sec, faults.Node("n1")), cut(sec, sec, faults.Leader)})
		s.expect(t, err, "", []string{"1s kill n1", "2s launch n1"}, []string{
			"1s f1 crash on [n1]",
			"2s f2 partition on []", "2s f2 partition off [] since never effective false: the run was stopped before it was put on",
			"3s f1 crash off [n1] since 2s effective false: context deadline exceeded",
		})
	})
}

// Healing is bounded: a world that hangs does not hang the run.
func TestDriverHealingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("n1")
		s.fake.take["mend"] = time.Hour
		err := s.Drive(t.Context(), faults.Schedule{cut(sec, sec, faults.Leader)})
		s.expect(t, err, "deadline exceeded", []string{"1s cut n1", "3s mend n1"}, []string{
			"1s f1 partition on [n1]", "3s f1 partition off [n1] since 2s effective false: n1 cut; context deadline exceeded",
		})
		if s.Recorder.Now() != 3*sec+sim.HealTime {
			t.Errorf("it took until %v", s.Recorder.Now())
		}
	})
}

// The same seed hits the same nodes; it is the step's number and the seed that
// decide, not who comes first.
func TestDriverSeed(t *testing.T) {
	hit := func(seed uint64) (nodes string) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("n1")
			s.Seed = seed
			s.fake.take = map[string]time.Duration{"cut": 0, "mend": 0}
			var schedule faults.Schedule
			for i := range 12 {
				schedule = append(schedule, cut(time.Duration(i)*sec, sec/2, faults.Follower))
			}
			if err := s.Drive(t.Context(), schedule); err != nil {
				t.Error(err)
			}
			for _, act := range s.fake.acts {
				if strings.Contains(act, "cut") {
					nodes += act[len(act)-1:]
				}
			}
		})
		return nodes
	}
	if a, b := hit(1), hit(1); a != b || len(a) != 12 || strings.Trim(a, "23") != "" {
		t.Errorf("one seed hits %s, then %s", a, b)
	}
	if a, b := hit(1), hit(2); a == b || !strings.Contains(a, "2") || !strings.Contains(a, "3") {
		t.Errorf("two seeds hit %s and %s", a, b)
	}
}
