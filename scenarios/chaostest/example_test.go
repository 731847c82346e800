package chaostest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/scenarios/chaostest"
)

// myElector stands for a team's own elector.
type myElector struct{ *chaostest.Candidate }

func (e myElector) Run(ctx context.Context) error { return sound(ctx, e.Candidate) }

// In a file _test.go of one's own: the function is called TestElector there.
func ExampleRun() {
	compete := func(ctx context.Context, c *chaostest.Candidate) error {
		return myElector{c}.Run(ctx)
	}
	_ = func(t *testing.T) {
		chaostest.Run(t, compete, chaostest.Scenarios("crash-leader", "partition-leader", "pause-leader"))
	}
}

// A function that is already there may be a New by its type.
func ExampleNew() {
	var compete chaostest.New = func(ctx context.Context, c *chaostest.Candidate) error {
		return myElector{c}.Run(ctx)
	}
	_ = compete
}

// The names are those of "chaos list".
func ExampleScenarios() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Scenarios("slow-renewals", "store-pause")) }
}

// Two tests: one for every change, one for the night.
func ExampleWorlds() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Worlds(chaostest.Virtual, chaostest.Bubble)) }
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Worlds(chaostest.Live)) }
}

// The lease is the one that production has: all else follows from it.
func ExampleLease() {
	_ = func(t *testing.T) {
		chaostest.Run(t, sound, chaostest.Lease(15*time.Second), chaostest.Worlds(chaostest.Virtual))
	}
}

// Three replicas compete.
func ExampleCandidates() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Candidates(3)) }
}

// Other random choices than those of seed 1.
func ExampleSeed() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Seed(7)) }
}

// Plans are drawn besides; what fails is saved, and runs first the next time.
func ExampleFuzz() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Fuzz(100)) }
}

// A Redis that runs already: only keys of the run's own are used.
func ExampleRedis() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Redis("redis://staging:6379/0")) }
}

// The reports of all runs stay, also of those that passed.
func ExampleReports() {
	_ = func(t *testing.T) { chaostest.Run(t, sound, chaostest.Reports("reports")) }
}

// An elector that takes its time from Candidate.Clock meets wrong clocks in every world.
func ExampleClocked() {
	clocked := bugs{clocked: true}.compete
	_ = func(t *testing.T) {
		chaostest.Run(t, clocked, chaostest.Clocked(), chaostest.Scenarios("clock-fast", "clock-slow"))
	}
}

// An elector that reports nothing is judged by what it asks of its lock; whether two led
// at one time stays undecided.
func ExampleAllowUnknown() {
	silent := bugs{silent: true}.compete
	_ = func(t *testing.T) { chaostest.Run(t, silent, chaostest.AllowUnknown()) }
}

// What other tests need is not started again for each candidate.
func ExampleChild() {
	_ = func(m *testing.M) {
		if !chaostest.Child() {
			println("start a database for the other tests")
		}
		m.Run()
	}
}

// The client is made in the call of New, from what the candidate gets.
func ExampleCandidate_RedisOptions() {
	_ = func(ctx context.Context, c *chaostest.Candidate) error {
		options := c.RedisOptions()
		options.ReadTimeout = c.Lease / 3
		client := redis.NewClient(options)
		<-ctx.Done()
		return client.Close()
	}
}

// An elector with callbacks reports from them: when it is elected, when its deadline moves,
// and when it does not lead any more.
func ExampleCandidate_Elected() {
	_ = func(ctx context.Context, c *chaostest.Candidate) error {
		onElected := func(token uint64, leaseEnds time.Time) { c.Elected(token, leaseEnds) }
		onRenewed := func(leaseEnds time.Time) { c.Extended(leaseEnds) }
		onDeposed := c.Deposed
		_, _, _ = onElected, onRenewed, onDeposed
		<-ctx.Done()
		return nil
	}
}

// The work of a leader makes its writes itself, and stops at the first that is refused.
func ExampleCandidate_Write() {
	_ = func(ctx context.Context, c *chaostest.Candidate) {
		for ctx.Err() == nil && c.Write() {
			if c.Clock.Sleep(ctx, c.Renew/10) != nil {
				return
			}
		}
	}
}
