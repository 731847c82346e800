package quorumstore_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/quorumstore"
)

// clock is the clock of a bubble.
type clock struct{ now func() time.Duration }

func (c clock) Now() time.Duration { return c.now() }

func (c clock) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

func (b *bench) elector(id string) *elector.Elector {
	b.Helper()
	e, err := elector.New(b.open(quorumstore.Options{}), elector.Config{
		Election: election, ID: id, Lease: ttl, Clock: clock{b.now}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (b *bench) campaign(e *elector.Elector) *elector.Term {
	b.Helper()
	term, err := e.Campaign(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return term
}

// resign ends a term, whatever becomes of its lease.
func resign(term *elector.Term) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = term.Resign(ctx) // the nodes may be away
}

// An elected leader stays the leader while a minority of the nodes dies, while
// the dead come back without their data, and while the others die after that.
func TestLeaderOutlivesMinority(t *testing.T) {
	for _, m := range []mode{down, hanging, deaf, mute} {
		inBubble(t, 5, func(b *bench) {
			leader := b.elector("a")
			term := b.campaign(leader)
			defer resign(term)
			for _, dead := range [][]int{{0, 1}, {2, 3}, {4, 0}} {
				b.set(m, dead...)
				time.Sleep(5 * ttl)
				if !leader.IsLeader() {
					b.Fatalf("mode %d: deposed at %v by the loss of %v", m, b.now(), dead)
				}
				for _, n := range dead {
					b.nodes[n].forget()
				}
				b.set(up, dead...)
				time.Sleep(3 * ttl)
			}
			if !leader.IsLeader() || term.Context().Err() != nil {
				b.Errorf("mode %d: deposed at %v", m, b.now())
			}
		})
	}
}

// When a majority of the nodes dies, the leader steps down by its deadline, and
// when they are back, somebody leads again, with a larger token.
func TestLeaderStepsDownWithoutMajority(t *testing.T) {
	for _, m := range []mode{down, hanging, deaf, mute} {
		inBubble(t, 5, func(b *bench) {
			leader := b.elector("a")
			term := b.campaign(leader)
			time.Sleep(ttl)
			b.set(m, 0, 1, 2)
			deadline := b.now() + ttl
			<-term.Context().Done()
			if b.now() > deadline || leader.IsLeader() {
				b.Errorf("mode %d: leads until %v, want %v at the latest", m, b.now(), deadline)
			}
			time.Sleep(ttl)
			resign(term)
			b.set(up, 0, 1, 2)
			next := b.campaign(b.elector("b"))
			defer resign(next)
			if next.Token() <= term.Token() {
				b.Errorf("mode %d: token %d after %d", m, next.Token(), term.Token())
			}
		})
	}
}

// A leader that resigns hands over at once, and one that is gone is followed
// after its lease, also while a minority of the nodes is away.
func TestHandOver(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		b.set(hanging, 1, 4)
		first := b.campaign(b.elector("a"))
		elected := make(chan *elector.Term, 1)
		go func() {
			if term, err := b.elector("b").Campaign(b.Context()); err == nil {
				elected <- term
			}
		}()
		time.Sleep(2 * ttl)
		resigned := b.now()
		go resign(first)
		second := <-elected
		defer resign(second)
		if b.now()-resigned > 20*time.Millisecond || second.Token() <= first.Token() {
			b.Errorf("token %d after %d, %v after the resignation", second.Token(), first.Token(), b.now()-resigned)
		}
	})
}
