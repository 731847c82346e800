package elector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// The first way through: elected, renewed for a minute, stopped.
func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newBubble()
		store := memstore.New(memstore.Options{Now: clock.Now})
		e, err := elector.New(store, elector.Config{Election: "billing", ID: "a", Clock: clock,
			OnEvent:   func(ev elector.Event) { t.Log(ev.At, ev.Kind, ev.State, ev.Token, ev.Reason, ev.Err) },
			OnStarted: func(ctx context.Context, _ *elector.Term) { <-ctx.Done(); time.Sleep(20 * time.Second) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Run(ctx); err != nil {
			t.Fatal(err)
		}
		term, err := e.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := term.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

type bubble struct{ start time.Time }

func newBubble() bubble { return bubble{time.Now()} }

func (b bubble) Now() time.Duration { return time.Since(b.start) }

func (bubble) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }
