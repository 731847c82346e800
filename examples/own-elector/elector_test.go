package elector_test

import (
	"context"
	"testing"

	elector "github.com/recount-io/recount/examples/own-elector"
	"github.com/recount-io/recount/scenarios/chaostest"
)

// The elector keeps its promises when leaders crash, are cut off, and stand still.
func TestElector(t *testing.T) {
	chaostest.Run(t, compete, chaostest.Scenarios("crash-leader", "partition-leader", "pause-leader"))
}

func compete(ctx context.Context, c *chaostest.Candidate) error {
	return elector.New(elector.Config{
		Redis: c.RedisOptions(), Key: c.Election, ID: c.ID, Lease: c.Lease,
		OnElected: c.Elected, OnExtended: c.Extended, OnDeposed: c.Deposed,
	}).Run(ctx)
}
