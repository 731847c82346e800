// The command redislock is a candidate that leads as long as it holds a lock of
// github.com/bsm/redislock, as that library's README has it: Obtain, then
// Refresh now and then, and Release. A lock knows no time at which it ends; it
// is lost when Refresh says so.
//
// With -deadline the candidate keeps a deadline of its own, counted from before
// each request.
//
//	chaos run partition-leader --exec bin/redislock
//	chaos run partition-leader --exec 'bin/redislock -deadline'
package main

import (
	"context"
	"flag"
	"log"
	"time"

	"github.com/bsm/redislock"

	"github.com/recount-io/recount/examples/candidates/go/internal/candidate"
)

func main() {
	deadline := flag.Bool("deadline", false, "keep a deadline beside the lock")
	flag.Parse()
	candidate.Main(func(ctx context.Context, c *candidate.Candidate) error { return lead(ctx, c, *deadline) })
}

func lead(ctx context.Context, c *candidate.Candidate, deadline bool) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // the process ends
	locker := redislock.New(client)
	for ctx.Err() == nil {
		t := term{Candidate: c, keepsDeadline: deadline}
		sent := time.Now()
		if t.lock, err = locker.Obtain(ctx, c.Election+":lock", c.Lease, nil); err != nil {
			candidate.Rest(ctx, c.Retry)
			continue
		}
		c.Lost(t.hold(ctx, sent))
		if err := t.lock.Release(context.WithoutCancel(ctx)); err != nil {
			log.Print("release: ", err)
		}
	}
	return ctx.Err()
}

type term struct {
	*candidate.Candidate
	lock          *redislock.Lock
	keepsDeadline bool
	deadline      time.Time // zero if none is kept
}

// hold works and refreshes until the term is over, and returns why it is. The
// request that granted the lock was sent no earlier than sent.
func (t *term) hold(ctx context.Context, sent time.Time) string {
	t.begin(sent)
	for due := time.Now().Add(t.Renew); ctx.Err() == nil; {
		if t.expired() {
			return "expired"
		}
		if time.Now().Before(due) {
			t.Work(ctx, t.deadline)
			continue
		}
		sent := time.Now()
		if err := t.lock.Refresh(ctx, t.Lease, nil); err != nil {
			log.Print("refresh: ", err)
			return "superseded"
		}
		due = time.Now().Add(t.Renew)
		if !t.expired() {
			t.begin(sent)
		}
	}
	return "resigned"
}

// begin begins the belief that follows from a request sent then, or extends it.
func (t *term) begin(sent time.Time) {
	if t.keepsDeadline {
		t.deadline = sent.Add(t.Lease * 99 / 100)
	}
	if !t.expired() {
		t.Leads(t.deadline)
	}
}

func (t *term) expired() bool { return t.keepsDeadline && !time.Now().Before(t.deadline) }
