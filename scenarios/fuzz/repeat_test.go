package fuzz

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Wilson's interval, at points that tables have, and when it is narrow enough.
func TestInterval(t *testing.T) {
	for _, test := range []struct {
		fails, runs int
		low, high   float64
		decided     bool
	}{
		{0, 0, 0, 1, false},
		{0, 10, 0, 0.2775, false},
		{0, 12, 0, 0.2425, true},
		{12, 12, 0.7575, 1, true},
		{37, 40, 0.8014, 0.9742, true},
		{5, 10, 0.2366, 0.7634, false},
		{20, 40, 0.3520, 0.6480, false},
	} {
		tally := Tally{Runs: test.runs, Fails: test.fails}
		low, high := tally.Interval()
		if math.Abs(low-test.low) > 0.001 || math.Abs(high-test.high) > 0.001 || tally.Decided() != test.decided {
			t.Errorf("%d of %d: %.4f to %.4f, decided %v; want %+v", test.fails, test.runs, low, high, tally.Decided(), test)
		}
	}
}

// moody is a world in which every third run goes wrong.
type moody struct{ runs atomic.Int64 }

func (m *moody) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	if m.runs.Add(1)%3 == 0 {
		plan.Subject = "believes-too-long"
	}
	return (&virtual.World{Subjects: planted()}).Run(ctx, plan, logs)
}

// A case is repeated until the interval is narrow, or as often as it may be;
// what is undecided does not count.
func TestRepeat(t *testing.T) {
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	c.Schedule = c.Schedule[:1]
	c.Schedule[0].At, c.Schedule[0].For = 3*time.Second, 30*time.Second
	tally, err := c.Repeat(t.Context(), &virtual.World{}, 3, 40, nil)
	if err != nil || tally.Fails != 0 || tally.Runs != 12 {
		t.Errorf("%+v, %v", tally, err)
	}
	reports := 0
	tally, err = c.Repeat(t.Context(), &moody{}, 4, 30, func(Tally) { reports++ })
	if err != nil || tally.Fails != 10 || tally.Runs != 30 || tally.Last.Promise != checker.AtMostOneLeader || reports != 8 {
		t.Errorf("%+v, %v, reported %d times", tally, err, reports)
	}
	// A fault that takes no effect decides nothing.
	c.Schedule[0].Target, c.Nodes = faults.Node("n2"), 2
	c.Schedule = append(c.Schedule, c.Schedule[0])
	c.Schedule[0].Fault, c.Schedule[1].Fault = faults.Crash{}, faults.Crash{}
	tally, err = c.Repeat(t.Context(), &virtual.World{}, 2, 6, nil)
	if err != nil || tally.Runs != 0 || tally.Undecided != 6 {
		t.Errorf("%+v, %v", tally, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Repeat(ctx, &virtual.World{}, 2, 6, nil); err == nil {
		t.Error("a run that is stopped goes on")
	}
}

// A case that is scaled keeps its proportions, and what breaks it.
func TestScaled(t *testing.T) {
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	c.Subject, c.LongLease = "believes-too-long", 30*time.Second
	c.Schedule[0].At, c.Schedule[0].For = 3*time.Second, 30*time.Second
	small := c.Scaled(time.Second)
	if err := small.Validate(); err != nil {
		t.Fatal(err)
	}
	if small.Timings.Lease != time.Second || small.Schedule[0].At != 200*time.Millisecond || small.Schedule[0].For != 2*time.Second || small.Quiet != 2600*time.Millisecond || small.LongLease != 2*time.Second || c.Timings.Lease != 15*time.Second {
		t.Errorf("%#v", small)
	}
	for _, c := range []Case{c, small} {
		_, r, err := c.Try(t.Context(), &virtual.World{Subjects: planted()})
		if err != nil {
			t.Fatal(err)
		}
		if failed, broken := Verdict(r); !broken || failed.Promise != checker.AtMostOneLeader {
			t.Errorf("lease %v: %v", c.Timings.Lease, failed)
		}
	}
}
