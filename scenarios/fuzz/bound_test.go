package fuzz

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// roundNumbers is an election whose bounds can be computed by hand.
var roundNumbers = Limits{
	Lease: 10 * time.Second, Renew: 3 * time.Second, Retry: time.Second, RequestTimeout: 1500 * time.Millisecond,
	Drift: 0.2, Candidates: 10, Least: time.Millisecond, Most: 10 * time.Millisecond, Timer: time.Millisecond,
	Service: 100 * time.Microsecond, Write: 2 * time.Millisecond,
}

// The bound of a failover is the sum that docs/failover.md tells of.
func TestFailoverLimit(t *testing.T) {
	b, err := roundNumbers.FailoverLimit()
	if err != nil {
		t.Fatal(err)
	}
	queue := 3 * time.Millisecond           // three requests of ten candidates
	before := 40*time.Millisecond + 2*queue // of the last renewal's messages
	want := map[string]time.Duration{
		"the lease":                      10 * time.Second,
		"the last renewal's way":         before - time.Duration(float64(before)/2.4) + 10*time.Millisecond,
		"the store's last millisecond":   time.Millisecond,
		"the answer that tells the rest": 13 * time.Millisecond,
		"rounded up":                     time.Millisecond,
		"spread":                         2 * time.Millisecond,
		"drift":                          (10*time.Second + 3*time.Millisecond) / 4,
		"timer":                          time.Millisecond,
		"the request":                    33 * time.Millisecond,
		"its answer":                     13 * time.Millisecond,
		"the first write":                2 * time.Millisecond,
	}
	var sum time.Duration
	for _, term := range b {
		if d := term.Length - want[term.Name]; d < 0 || d > time.Microsecond {
			t.Errorf("%s: %v, want %v", term.Name, term.Length, want[term.Name])
		}
		if term.Why == "" {
			t.Errorf("%s: nothing says why", term.Name)
		}
		sum += term.Length
	}
	if len(b) != len(want) || sum != b.Total() || b.Excess() != sum-10*time.Second {
		t.Errorf("the terms %v, total %v, excess %v", b, b.Total(), b.Excess())
	}
	quick := roundNumbers
	quick.Least = 20 * time.Microsecond
	if more, err := quick.FailoverLimit(); err != nil || more[len(more)-1].Name != "a pause" || more.Total()-b.Total() < roundNumbers.Retry {
		t.Errorf("in a network that is faster than the clock's drift within a millisecond: %v, %v", more, err)
	}
	slow := roundNumbers
	slow.Most = 300 * time.Millisecond
	if _, err := slow.FailoverLimit(); !errors.Is(err, ErrNoBound) || strings.Contains(err.Error(), "\n") {
		t.Errorf("where requests may time out: %v", err)
	}
}

// Beyond the guarantee, beliefs overlap, and no more than the formula says: with
// a clock that is too slow, and when the store loses the lease.
func TestOverlapLimit(t *testing.T) {
	base := (&MaximiseOptions{Pins: Pins{Nodes: 3}}).base()
	l := base.Limits()
	for _, test := range []struct {
		name string
		rate float64
		lost bool
		step faults.Step
	}{
		{"a clock at half its rate", 0.5, false, faults.Step{For: time.Minute, Fault: faults.ClockRate{Rate: 0.5}, Target: faults.Leader}},
		{"a clock just too slow", 0.98, false, faults.Step{For: time.Minute, Fault: faults.ClockRate{Rate: 0.98}, Target: faults.Leader}},
		{"a lost lease", 1, true, faults.Step{At: time.Millisecond, Fault: faults.KeyDeleted{}, Target: faults.Store}},
	} {
		c := base
		c.Subject, c.Seed = "recount", 7
		if test.lost { // which the store's protection would make up for
			c.Subject = "open"
		}
		c.Schedule = faults.Schedule{test.step, {At: time.Millisecond / 2, For: time.Minute, Fault: faults.Pause{}, Target: faults.Node("n1")}}
		var most time.Duration
		for node := range 3 { // one of them leads
			c.Schedule[1].Target = faults.Node(nodeNames[node])
			if test.lost { // nobody else asks before the time that it was told
				other := faults.Node(nodeNames[(node+1)%3])
				c.Schedule = append(c.Schedule[:2], faults.Step{At: 2 * time.Millisecond, For: time.Millisecond, Fault: faults.Crash{}, Target: other})
			}
			c.Judge()
			m, err := c.measure(t.Context(), &virtual.World{Subjects: map[string]virtual.Subject{"open": {Unprotected: true}}})
			if err != nil {
				t.Fatal(err)
			}
			if x := m.overlap(false); x.found {
				most = max(most, x.length)
			}
		}
		limit := l.OverlapLimit(test.rate, test.lost)
		if most <= 0 || most > limit {
			t.Errorf("%s: beliefs overlap for %v, the formula says at most %v", test.name, most, limit)
		}
		t.Logf("%s: %v of %v", test.name, most, limit)
	}
	if at := l.OverlapLimit(1-l.Drift, false); at > 0 {
		t.Errorf("within the drift, an overlap of %v", at)
	}
}

// Bounds are those of the case's network, with all that it does to a message.
func TestLimits(t *testing.T) {
	c := (&MaximiseOptions{Network: sim.Network{Latency: 1, Jitter: 2, SpikeRate: 3, Spike: 4, LossRate: 5}}).base()
	if l := c.Limits(); l.Least != 1 || l.Most != 7+sim.Resend || l.Candidates != 5 || l.RequestTimeout != 2500*time.Millisecond || l.Retry != time.Second {
		t.Errorf("%+v", l)
	}
	if c.Judge(); c.Waived[checker.AtMostOneLeader] != "" {
		t.Errorf("waived: %v", c.Waived)
	}
}
