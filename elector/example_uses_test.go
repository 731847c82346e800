package elector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
)

// quiet keeps the examples' output to what they print themselves.
var quiet = slog.New(slog.DiscardHandler)

// configured is the part of a candidate's ID that was configured; the rest is
// random.
func configured(id string) string {
	return id[:strings.LastIndexByte(id, '/')]
}

// A cron job that runs on every machine and must do its work on one of them:
// with Once, Run ends after one term.
func ExampleElector_Run_once() {
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{
		Election: "daily-report",
		Logger:   quiet,
		Once:     true,
		OnStarted: func(_ context.Context, t *elector.Term) {
			fmt.Println("writing the report with token", t.Token())
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Run(context.Background()))
	// Output:
	// writing the report with token 1
	// <nil>
}

// A function that may be called everywhere and does its work on the leader
// only, as a handler of requests or a scheduled task.
func ExampleElector_OnlyLeader() {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{Election: "aggregation", Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	aggregate := e.OnlyLeader(func(ctx context.Context, t *elector.Term) error {
		fmt.Println("aggregating with token", t.Token())
		return ctx.Err() // done when the caller's context is, or the term's
	})

	fmt.Println(errors.Is(aggregate(ctx), elector.ErrNotLeading))
	term, err := e.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(aggregate(ctx))
	_ = term.Resign(ctx) // the lease would end by itself
	// Output:
	// true
	// aggregating with token 1
	// <nil>
}

// One critical operation: ask once, and go away if somebody else is at it.
func ExampleElector_TryAcquire() {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	for _, id := range []string{"a", "b"} {
		e, err := elector.New(store, elector.Config{Election: "migration", ID: id, Logger: quiet})
		if err != nil {
			fmt.Println(err)
			return
		}
		term, err := e.TryAcquire(ctx)
		if held := new(elector.HeldError); errors.As(err, &held) {
			fmt.Println(id, "lets", configured(held.Holder), "do it")
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(id, "migrates with token", term.Token())
		defer func() { _ = term.Resign(ctx) }()
	}
	// Output:
	// a migrates with token 1
	// b lets a do it
}

// candidates starts one elector for each ID. The first one leads when it
// returns. stop ends them all.
func candidates(led chan<- string, cfg elector.Config, ids ...string) (electors map[string]*elector.Elector, stop func()) {
	store := memstore.New(memstore.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	electors = map[string]*elector.Elector{}
	var running sync.WaitGroup
	for i, id := range ids {
		cfg.ID, cfg.Logger = id, quiet
		cfg.Priority = i // each one is preferred to those before it
		begun, watching := make(chan struct{}), make(chan struct{})
		var once, heard sync.Once
		cfg.OnStarted = func(ctx context.Context, _ *elector.Term) {
			once.Do(func() { close(begun) })
			led <- id
			<-ctx.Done()
		}
		cfg.OnLeader = func(elector.Leader) { heard.Do(func() { close(watching) }) }
		e, err := elector.New(store, cfg)
		if err != nil {
			panic(err)
		}
		electors[id] = e
		running.Go(func() { _ = e.Run(ctx) })
		if i == 0 {
			<-begun
		}
		<-watching // it competes, and the store has heard of it
	}
	return electors, func() { cancel(); running.Wait() }
}

// The leader hands over to a candidate that it names: before its machine is
// taken away, say.
func ExampleElector_Transfer() {
	led := make(chan string, 10)
	electors, stop := candidates(led, elector.Config{Election: "billing"}, "a", "b", "c")
	defer stop()
	fmt.Println(<-led, "leads")

	if err := electors["a"].Transfer(context.Background(), "c"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-led, "leads")
	// Output:
	// a leads
	// c leads
}

// With priorities and Failback, the leadership goes back to the preferred
// candidate as soon as it is there again. Here b comes later, and is preferred.
func ExampleConfig_failback() {
	led := make(chan string, 10)
	_, stop := candidates(led, elector.Config{
		Election: "billing",
		Lease:    200 * time.Millisecond,
		Failback: 200 * time.Millisecond,
	}, "a", "b")
	defer stop()
	fmt.Println(<-led, "leads")
	fmt.Println(<-led, "leads")
	// Output:
	// a leads
	// b leads
}

// Candidates lists who competes, with their priorities.
func ExampleElector_Candidates() {
	led := make(chan string, 10)
	electors, stop := candidates(led, elector.Config{Election: "billing"}, "a", "b")
	defer stop()
	all, err := electors["a"].Candidates(context.Background())
	for _, c := range all {
		fmt.Println(configured(c.ID), "with priority", c.Priority)
	}
	fmt.Println(err)
	// Output:
	// a with priority 0
	// b with priority 1
	// <nil>
}

// History tells who led before, the latest first.
func ExampleElector_History() {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	for _, id := range []string{"a", "b"} {
		e, err := elector.New(store, elector.Config{Election: "billing", ID: id, Logger: quiet})
		if err != nil {
			fmt.Println(err)
			return
		}
		term, err := e.Campaign(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if id == "a" {
			_ = term.Resign(ctx)
			continue
		}
		terms, err := e.History(ctx, 10)
		for _, t := range terms {
			fmt.Println(configured(t.ID), "had token", t.Token, "and its term is over:", !t.Ended.IsZero())
		}
		fmt.Println(err)
		_ = term.Resign(ctx)
	}
	// Output:
	// b had token 2 and its term is over: false
	// a had token 1 and its term is over: true
	// <nil>
}

// Several elections in one process need one Elector each, and share a store
// with its connections.
func ExampleNew_several() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store := memstore.New(memstore.Options{})
	led := make(chan string)
	var running sync.WaitGroup
	for _, election := range []string{"billing", "cleanup", "reports"} {
		e, err := elector.New(store, elector.Config{
			Election: election,
			Logger:   quiet,
			OnStarted: func(ctx context.Context, _ *elector.Term) {
				led <- election
				<-ctx.Done()
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		running.Go(func() { _ = e.Run(ctx) })
	}
	for range 3 {
		fmt.Println("leads", <-led)
	}
	cancel()
	running.Wait()
	// Unordered output:
	// leads billing
	// leads cleanup
	// leads reports
}

// A preset is a Config with durations that fit together, to begin with.
func ExampleFast() {
	cfg := elector.Fast()
	cfg.Election = "billing"
	fmt.Println(cfg.Lease, elector.Balanced().Lease, elector.Quiet().Lease)

	cfg.Renew = 5 * time.Second // does not fit: New says so
	_, err := elector.New(memstore.New(memstore.Options{}), cfg)
	fmt.Println(err)
	// Output:
	// 3s 15s 1m0s
	// elector: Config.Renew: is 5s and Lease is 3s; a lease must be renewed before it ends: Renew < Lease
}

// OnEvent gets every transition, in order: for listeners of a program's own.
func ExampleConfig_onEvent() {
	store := memstore.New(memstore.Options{})
	e, err := elector.New(store, elector.Config{
		Election: "billing",
		Logger:   quiet,
		Once:     true,
		OnEvent: func(ev elector.Event) {
			switch ev.Kind {
			case event.StateChanged:
				fmt.Println("state changed:", ev.State)
			case event.Elected:
				fmt.Println("leadership acquired: token", ev.Token)
			case event.Deposed:
				fmt.Println("leadership lost:", ev.Reason)
			case event.Trouble:
				fmt.Println("election failed:", ev.Err)
			}
		},
		OnStarted: func(context.Context, *elector.Term) {},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = e.Run(context.Background())
	// Output:
	// state changed: candidate
	// state changed: leader
	// leadership acquired: token 1
	// state changed: draining
	// state changed: stopped
	// leadership lost: resigned
}
