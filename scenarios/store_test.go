package scenarios_test

import (
	"errors"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// altered is the production elector's machine with its requests or the answers
// to them changed.
type altered struct {
	virtual.Decider
	request func(*machine.Request)
	answer  func(machine.Call, *machine.Input)
	calls   map[uint64]machine.Call // by number of the request
}

func (a *altered) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Kind == machine.Answer && a.answer != nil {
		a.answer(a.calls[in.Request], &in)
	}
	out := a.Decider.Step(now, in)
	for i := range out.Requests {
		a.calls[out.Requests[i].Number] = out.Requests[i].Call
		if a.request != nil {
			a.request(&out.Requests[i])
		}
	}
	return out
}

func alter(request func(*machine.Request), answer func(machine.Call, *machine.Input)) virtual.Subject {
	return virtual.Subject{Unprotected: true, Decide: func(cfg machine.Config) virtual.Decider {
		return &altered{machine.New(cfg), request, answer, map[uint64]machine.Call{}}
	}}
}

// The production elector without one of the things that it does for the sake
// of a store that does not keep its word. What the store's own protection would
// make up for is shown without it.
var (
	withoutFloor = alter(func(r *machine.Request) { r.Floor = 0 }, nil)

	staysOnLoss = alter(nil, func(call machine.Call, in *machine.Input) {
		if call == machine.Renew && in.Result == machine.NotHeld {
			in.Result, in.Err = machine.Unknown, errors.New("taken for a passing failure")
		}
	})

	withoutRepair = virtual.Subject{Scripts: virtual.Scripts{Acquire: &redismodel.Script{
		Name: "acquire", Run: func(c *redismodel.Call) redismodel.Reply {
			if _, found := c.Get(c.Keys[0]); !found || c.PTTL(c.Keys[0]) >= 0 {
				return redismodel.Acquire.Run(c)
			}
			return c.Array(redismodel.Integer(0), redismodel.Text("0"), redismodel.Text("somebody"),
				redismodel.Integer(100), redismodel.Integer(0), redismodel.Integer(0))
		},
	}}}

	takesStale = virtual.Subject{Unprotected: true, Scripts: virtual.Scripts{Acquire: &redismodel.Script{
		Name: "acquire", Run: func(c *redismodel.Call) redismodel.Reply {
			if c.PTTL(c.Keys[0]) > c.Int(c.Args[2]) {
				c.Del(c.Keys[0]) // "nobody asks for so long a lease"
			}
			return redismodel.Acquire.Run(c)
		},
	}}}
)

// Every fault on what the store keeps is one that an elector without the
// handling of it does not survive.
func TestStoreFaultsBite(t *testing.T) {
	if race.Enabled {
		t.Skip("runs of one goroutine, which are run without the race detector")
	}
	for _, test := range []struct {
		scenario string
		subject  virtual.Subject
		breaks   checker.Promise
	}{
		{"counter-deleted", withoutFloor, checker.TokensIncrease},
		{"store-rewind", withoutFloor, checker.TokensIncrease},
		{"store-failover", withoutFloor, checker.TokensIncrease},
		{"store-split", staysOnLoss, checker.StepsDownOnLoss},
		{"key-overwritten", staysOnLoss, checker.StepsDownOnLoss},
		{"key-overwritten", withoutRepair, checker.LeaderReturns},
		{"ttl-removed", withoutRepair, checker.LeaderReturns},
		{"store-clock-back", takesStale, checker.AtMostOneLeader},
	} {
		t.Run(test.scenario+"/"+string(test.breaks), func(t *testing.T) {
			found, err := scenarios.Find(test.scenario)
			if err != nil {
				t.Fatal(err)
			}
			caught := 0
			for seed := range uint64(10) {
				o := alone(t, found[0], test.subject, seed)
				for _, f := range o.Result.Asked {
					if f.Promise == test.breaks && f.Verdict == checker.Fail {
						caught++
					}
				}
			}
			t.Logf("caught in %d of 10 runs", caught)
			if caught < 5 {
				t.Errorf("caught in %d of 10 runs only", caught)
			}
		})
	}
}

// Tokens grow over a store that forgets even if who is elected next has not
// heard of the last one. Without the protection they do not: a newcomer gets a
// token again, though the others know better.
func TestNewcomerAfterLoss(t *testing.T) {
	newcomer := scenarios.Scenario{
		Name: "newcomer", Nodes: 2,
		Schedule: func(s scenarios.Shape) faults.Schedule {
			return faults.Schedule{
				{At: s.Lease, For: s.Lease / 2, Fault: faults.Crash{}, Target: faults.Follower},
				{At: s.Lease * 4 / 3, For: s.Lease / 3, Fault: faults.StoreCrash{}, Target: faults.Store},
			}
		},
	}
	repeated := map[bool]int{}
	for seed := range uint64(20) {
		for _, unprotected := range []bool{false, true} {
			for _, f := range alone(t, newcomer, virtual.Subject{Unprotected: unprotected}, seed).Result.Asked {
				if f.Promise == checker.TokensIncrease && f.Verdict == checker.Fail {
					repeated[unprotected]++
				}
			}
		}
	}
	t.Logf("a token was given again in %d of 20 runs, without protection in %d", repeated[false], repeated[true])
	if repeated[false] > 0 || repeated[true] == 0 {
		t.Error("a token was given again, or never without protection")
	}
}

// A fault on the store that meets nothing to do says so, whatever else is on:
// the run is not a pass.
func TestStoreFaultsThatMiss(t *testing.T) {
	down := faults.Step{At: time.Second, For: 3 * time.Second, Fault: faults.StoreCrash{KeepData: true}, Target: faults.Store}
	split := faults.Step{At: time.Second, For: 3 * time.Second, Fault: faults.StoreSplit{}, Target: faults.Leader}
	deleted := faults.Step{At: 1500 * time.Millisecond, Fault: faults.KeyDeleted{}, Target: faults.Store}
	for name, test := range map[string]struct {
		before faults.Step
		fault  faults.Fault
	}{
		"nothing written since":     {deleted, faults.StoreRewind{By: time.Microsecond}},
		"nothing lags":              {deleted, faults.StoreFailover{Lag: time.Microsecond}},
		"rewind of a dead store":    {down, faults.StoreRewind{By: time.Second}},
		"failover of a dead store":  {down, faults.StoreFailover{Lag: time.Second}},
		"split of a dead store":     {down, faults.StoreSplit{Lag: time.Second}},
		"split of a split store":    {split, faults.StoreSplit{}},
		"crash of a dead store":     {down, faults.StoreCrash{}},
		"pause of a dead store":     {down, faults.StorePause{}},
		"jump of a dead store":      {down, faults.StoreClockJump{By: -time.Second}},
		"flush of a dead store":     {down, faults.ScriptsFlushed{}},
		"deletion in a dead store":  {down, faults.KeyDeleted{}},
		"no counter to delete":      {faults.Step{At: 1900 * time.Millisecond, Fault: faults.CounterDeleted{}, Target: faults.Store}, faults.CounterDeleted{}},
		"no lease to overwrite":     {faults.Step{At: 2 * time.Second, Fault: faults.KeyDeleted{}, Target: faults.Store}, faults.KeyOverwritten{}},
		"no lease that would end":   {faults.Step{At: 2 * time.Second, Fault: faults.TTLRemoved{}, Target: faults.Store}, faults.TTLRemoved{}},
		"a lease that is stolen":    {faults.Step{At: 2 * time.Second, Fault: faults.KeyOverwritten{}, Target: faults.Store}, faults.TTLRemoved{}},
		"split, and nothing on one": {deleted, faults.StoreSplit{}},
	} {
		t.Run(name, func(t *testing.T) {
			target := faults.Store
			if test.fault.Effect().Divides {
				target = faults.Follower
			}
			step := faults.Step{At: 2 * time.Second, For: 20 * time.Millisecond, Fault: test.fault, Target: target}
			s := scenarios.Scenario{Name: name, Nodes: 3, Schedule: func(scenarios.Shape) faults.Schedule {
				return faults.Schedule{test.before, step}
			}}
			o := alone(t, s, virtual.Subject{}, 1)
			for _, f := range o.Result.Asked {
				if f.Promise == checker.WellFormed && f.Verdict != checker.Unknown {
					t.Errorf("%s is %v: %s", f.Promise, f.Verdict, f.Reason)
				}
			}
		})
	}
}

// alone runs a scenario for one subject of its own, in virtual time.
func alone(t *testing.T, s scenarios.Scenario, subject virtual.Subject, seed uint64) scenarios.Outcome {
	t.Helper()
	o := scenarios.Runner{
		World: &virtual.World{Subjects: map[string]virtual.Subject{"broken": subject}},
		Logs:  func(string) (string, error) { return "", nil },
	}.Run(t.Context(), []scenarios.Scenario{s}, scenarios.Settings{Subject: "broken", Seed: seed})[0]
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return o
}
