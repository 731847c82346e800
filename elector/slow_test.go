package elector_test

import (
	"context"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
)

// A store whose every answer takes longer than the time-out, but not twice as
// long, is slow and not dead: a term begins, and goes on for many leases.
func TestSlowStoreIsHeard(t *testing.T) {
	inBubble(t, func(b *bench) {
		const answer = 3 * time.Second // the time-out is 2.5 s at a lease of 15 s
		slow := func(ctx context.Context) error {
			select {
			case <-time.After(answer):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b.store.acquire, b.store.renew = slow, slow
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		term, err := b.elector("a").Campaign(ctx)
		if err != nil {
			b.Fatal(err)
		}
		select {
		case <-term.Context().Done():
			t.Errorf("the term ended after %v", b.clock.Now())
		case <-time.After(5 * time.Minute):
		}
		if term.Token() != 1 || term.Check(0) != nil {
			t.Errorf("token %d, %v", term.Token(), term.Check(0))
		}
		b.resign(term)
	})
}

// slowToTell is a store that takes its time to tell who leads.
type slowToTell struct{ *rigStore }

func (s slowToTell) Leader(ctx context.Context, election string) (elector.Leader, error) {
	select {
	case <-time.After(3 * time.Second): // the time-out is 2.5 s at a lease of 15 s
		return s.rigStore.Leader(ctx, election)
	case <-ctx.Done():
		return elector.Leader{}, ctx.Err()
	}
}

// A caller that asks a slow store who leads gets an answer: a question that is given
// up would cost the connection that the next renewal needs.
func TestSlowStoreTellsWhoLeads(t *testing.T) {
	inBubble(t, func(b *bench) {
		e := b.on(slowToTell{b.store}, "a")
		term := b.campaign(e)
		leader, err := e.Leader(b.Context())
		if err != nil || leader.ID != e.ID() {
			t.Errorf("%+v, %v", leader, err)
		}
		b.resign(term)
	})
}
