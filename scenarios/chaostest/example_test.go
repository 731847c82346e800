package chaostest_test

import (
	"context"
	"testing"
	"time"

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

// Plans are drawn besides; what fails is saved, and runs first the next time.
func ExampleFuzz() {
	_ = func(t *testing.T) {
		chaostest.Run(t, sound, chaostest.Fuzz(100), chaostest.Worlds(chaostest.Bubble), chaostest.Lease(5*time.Second))
	}
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

// An elector with callbacks reports from them.
func ExampleCandidate_Elected() {
	_ = func(ctx context.Context, c *chaostest.Candidate) error {
		onElected := func(token uint64, leaseEnds time.Time) { c.Elected(token, leaseEnds) }
		onDeposed := c.Deposed
		_, _ = onElected, onDeposed
		<-ctx.Done()
		return nil
	}
}
