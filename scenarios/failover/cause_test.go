package failover

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Causes are found by name, each once and in the order of the names. A name that is none gets
// the one that was meant.
func TestFind(t *testing.T) {
	for _, test := range []struct {
		names, want []string
		err         string
	}{
		{nil, nil, ""},
		{[]string{"pause", "crash", "pause"}, []string{"pause", "crash"}, ""},
		{[]string{"crash", "crsh"}, nil, `no cause of a failover is called "crsh" (did you mean crash?): give some of crash, resign, `},
		{[]string{"earthquake"}, nil, `"earthquake": give some of crash, resign, `},
		{[]string{""}, nil, `""`},
	} {
		found, err := Find(test.names...)
		var got []string
		for _, c := range found {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: found %q, error %v; want %q, %q", test.names, got, err, test.want, test.err)
		}
	}
}

// The scenario of every cause has a valid plan, with as many faults as it promises failovers.
// Each fault hits the leader, or the store, or one candidate after the other, and is over
// before the next one comes. The length of failovers breaks no promise.
func TestEveryCauseHasAPlan(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Causes() {
		if names[c.Name] || c.Summary == "" || c.Times() < 1 {
			t.Errorf("%q: twice %v, summary %q, %d failovers", c.Name, names[c.Name], c.Summary, c.Times())
		}
		names[c.Name] = true
		for i, lease := range []time.Duration{100 * time.Millisecond, time.Second, 15 * time.Second} {
			for seed := range uint64(20) {
				plan, err := c.Scenario().Plan(scenarios.Settings{Subject: "recount", Lease: lease, Seed: 20*uint64(i) + seed})
				if err != nil {
					t.Fatalf("%s, lease %v: %v", c.Name, lease, err)
				}
				if plan.Nodes != DefaultNodes || len(plan.Schedule) != c.Times() || plan.Waived[string(checker.FailoverBound)] == "" || plan.Waived[string(checker.LeaderReturns)] == "" {
					t.Errorf("%s, lease %v: %d candidates, %d faults, waived %v; want %d, %d and the two about the length of failovers", c.Name, lease, plan.Nodes, len(plan.Schedule), plan.Waived, DefaultNodes, c.Times())
				}
				follow(t, c, plan)
			}
		}
	}
}

// follow wants each fault of the plan to hit whom it should, and to be over before the next.
func follow(t *testing.T, c Cause, plan sim.Plan) {
	t.Helper()
	for i, step := range plan.Schedule {
		if !hits(step) && step.Target != faults.Node(plan.NodeNames()[i%plan.Nodes]) {
			t.Errorf("%s, seed %d: fault %d hits %v", c.Name, plan.Seed, i+1, step.Target)
		}
		if i > 0 && plan.Schedule[i-1].End() >= step.At {
			t.Errorf("%s, seed %d: fault %d ends at %v, and the next one begins at %v", c.Name, plan.Seed, i, plan.Schedule[i-1].End(), step.At)
		}
	}
}

// Another seed draws other moments, and the same seed the same ones.
func TestMomentsAreDrawnFromTheSeed(t *testing.T) {
	moments := func(seed uint64) string {
		plan, err := one(t, "crash").Scenario().Plan(scenarios.Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(plan.Schedule)
	}
	if one, again, two := moments(1), moments(1), moments(2); one != again || one == two {
		t.Errorf("seed 1 draws\n%s\nand\n%s\nseed 2 draws\n%s", one, again, two)
	}
}

// The moments of the faults are spread evenly over the interval of renewals, whatever that
// is: a fault just after a renewal has the longest wait, and a sample of few phases tells
// nothing about the others.
func TestMomentsAreSpreadOverTheInterval(t *testing.T) {
	for _, c := range Causes() {
		for _, renew := range []time.Duration{time.Second / 3, time.Second / 7} {
			var phases []float64
			for seed := range uint64(200) {
				shape := scenarios.Shape{Lease: time.Second, Renew: renew, Nodes: []string{"n1", "n2", "n3"}, Random: rand.New(rand.NewPCG(seed, 0))}
				for i, step := range c.schedule(shape) {
					phase := step.At - time.Second - time.Duration(float64(i)*float64(c.every)*float64(time.Second))
					phases = append(phases, float64(phase)/float64(renew))
				}
			}
			if d, most := apart(phases), 1.95/math.Sqrt(float64(len(phases))); d > most { // 1 in 1,000 by chance
				t.Errorf("%s, renewed every %v: the distribution of %d phases is %.3f from an even one, want at most %.3f", c.Name, renew, len(phases), d, most)
			}
		}
	}
}

// apart is the distance of Kolmogorov and Smirnov between a sample and the even distribution
// from 0 to 1.
func apart(sample []float64) (distance float64) {
	slices.Sort(sample)
	n := float64(len(sample))
	for i, x := range sample {
		distance = max(distance, float64(i+1)/n-x, x-float64(i)/n)
	}
	return distance
}

// failovers runs a cause with the production elector in virtual time, and returns the
// failovers of each run.
func failovers(t *testing.T, c Cause, runs int, set scenarios.Settings) *Cell {
	t.Helper()
	m := measurement(t, &virtual.World{}, "recount")
	m.Causes, m.Settings = []Cause{c}, set
	m.Precise = func(c *Cell) bool { return len(c.Runs) >= runs }
	cell := run(t, m)[0]
	if cell.Why != "" || len(cell.Runs) != runs {
		t.Fatalf("%s: %d runs: %s", c.Name, len(cell.Runs), cell.Why)
	}
	return cell
}

// In virtual time the faults of every cause hit the leader: the production elector has as
// many failovers as the cause promises in nearly every run, keeps its promises, and changes
// its leader for no other reason. In a rolling restart only the restart of the candidate that
// leads is a failover, which is every third one at the least.
func TestEveryCauseBringsItsFailovers(t *testing.T) {
	for _, c := range Causes() {
		if c.topology != sim.OneServer {
			continue // not in virtual time
		}
		for _, test := range []struct {
			runs int
			set  scenarios.Settings
		}{
			{20, scenarios.Settings{Seed: 1}},
			{4, scenarios.Settings{Seed: 2, Lease: 100 * time.Millisecond}},
			{4, scenarios.Settings{Seed: 3, Lease: 15 * time.Second}},
			{4, scenarios.Settings{Seed: 4, Nodes: 5}},
			{4, scenarios.Settings{Seed: 5, Nodes: 2, Renew: time.Second / 7}},
		} {
			if race.Enabled {
				test.runs = 1
			}
			least := c.Times()
			if c.rolling {
				least /= 3
			}
			whole := 0
			for _, r := range failovers(t, c, test.runs, test.set).Runs {
				if n := len(r.Failovers); n >= least && n <= c.Times() {
					whole++
				}
				if r.Verdict != checker.Pass || len(r.Broken) > 0 || len(r.Unexplained) > 0 || r.Trouble != "" || r.Faults != c.Times() {
					t.Errorf("%s, %+v, seed %d: %v, broken %v, unexplained %v, %d faults, %q", c.Name, test.set, r.Seed, r.Verdict, r.Broken, r.Unexplained, r.Faults, r.Trouble)
				}
			}
			if 10*whole < 9*test.runs {
				t.Errorf("%s, %+v: %d runs of %d have their failovers", c.Name, test.set, whole, test.runs)
			}
		}
	}
}

// What the first crash of a run leaves of the leader's lease is spread evenly between a lease
// and a lease less an interval of renewals: the drawn moments meet renewals at every phase.
// Later crashes of a run would be spread anyway, as far as elections are.
func TestCrashesMeetRenewalsAtEveryPhase(t *testing.T) {
	runs := 300
	if race.Enabled {
		runs = 30
	}
	const lease = time.Second
	c := one(t, "crash")
	c.perRun = 1
	for _, renew := range []time.Duration{lease / 3, lease / 7} {
		var phases []float64
		for _, sample := range failovers(t, c, runs, scenarios.Settings{Seed: 1, Lease: lease, Renew: renew}).Sample(func(f Failover) time.Duration { return f.Wait }) {
			for _, wait := range sample {
				phases = append(phases, float64(lease-wait)/float64(renew))
			}
		}
		// A renewal takes a moment itself, which the interval does not have.
		if d, most := apart(phases), 1.95/math.Sqrt(float64(len(phases)))+.02; d > most || len(phases) < runs*9/10 {
			t.Errorf("renewed every %v: the distribution of %d phases is %.3f from an even one, want at most %.3f, and %d phases", renew, len(phases), d, most, runs)
		}
	}
}
