package elector_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// Run calls back: OnStarted is the work, and its context ends with the term.
func ExampleElector_Run() {
	store := memstore.New(memstore.Options{})
	ctx, shutdown := context.WithCancel(context.Background())

	e, err := elector.New(store, elector.Config{
		Election: "billing",
		Logger:   slog.New(slog.DiscardHandler),
		OnStarted: func(ctx context.Context, t *elector.Term) {
			fmt.Println("leading with token", t.Token())
			shutdown()   // SIGTERM, say
			<-ctx.Done() // work until told to stop
			fmt.Println("cleaned up; the lease is still held:", t.Check(time.Second) == nil)
		},
		OnStopped: func(_ *elector.Term, why elector.Reason) {
			fmt.Println("stopped:", why)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// leading with token 1
	// cleaned up; the lease is still held: true
	// stopped: stopped
}

// Terms is a loop: its body is the work, and the end of the body resigns.
func ExampleElector_Terms() {
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{Election: "report", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for term, err := range e.Terms(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		// Before a step that takes a second: is so much of the term left?
		if err := term.Check(time.Second); err != nil {
			continue
		}
		fmt.Println("write the report with fencing token", term.Token())
		break // resigns, and competes no more
	}
	// Output: write the report with fencing token 1
}

// Campaign waits for one term and returns it.
func ExampleElector_Campaign() {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{Election: "migration", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	term, err := e.Campaign(ctx)
	if err != nil {
		fmt.Println(err) // ctx's error, if it was done first
		return
	}
	fmt.Println("migrating:", e.IsLeader(), term.Context().Err())
	if err := term.Resign(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("done:", e.IsLeader(), term.Context().Err())
	// Output:
	// migrating: true <nil>
	// done: false context canceled
}

// Observe tells who leads without competing.
func ExampleObserve() {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{Election: "billing", ID: "web-1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	term, err := e.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for leader, err := range elector.Observe(ctx, store, "billing", elector.ObserveOptions{}) {
		fmt.Println(leader.ID == e.ID(), leader.Token, err)
		break
	}
	_ = term.Resign(ctx) // the lease would end by itself
	// Output: true 1 <nil>
}
