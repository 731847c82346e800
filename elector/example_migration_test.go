package elector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// The functions of this file stand in docs/migration.md, word by word; a test
// at the root compares them.

func open(addr string) (*redisstore.Store, error) {
	return redisstore.New(&redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{})
}

func runLeading(ctx context.Context, store elector.Store, work func(context.Context)) error {
	e, err := elector.New(store, elector.Config{
		Election: "billing",
		Lease:    15 * time.Second,
		Renew:    5 * time.Second,
		Retry:    2 * time.Second,
		Once:     true,
		OnStarted: func(ctx context.Context, _ *elector.Term) {
			work(ctx)
		},
		OnStopped: func(_ *elector.Term, why elector.Reason) {
			slog.Info("stopped leading", "why", why)
		},
		OnLeader: func(l elector.Leader) {
			slog.Info("new leader", "id", l.ID)
		},
	})
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

func locked(ctx context.Context, store elector.Store, work func(context.Context, uint64) error) error {
	e, err := elector.New(store, elector.Config{Election: "my-global-mutex", Lease: 8 * time.Second})
	if err != nil {
		return err
	}
	term, err := e.Campaign(ctx) // waits, as Lock does
	if err != nil {
		return err
	}
	err = work(term.Context(), term.Token()) // renewed meanwhile
	return errors.Join(err, term.Resign(ctx))
}

func obtained(ctx context.Context, store elector.Store, work func(context.Context, uint64) error) error {
	e, err := elector.New(store, elector.Config{Election: "my-key", Lease: 10 * time.Second})
	if err != nil {
		return err
	}
	term, err := e.TryAcquire(ctx) // asks once, as Obtain does
	if err != nil {
		return err // *elector.HeldError says who holds it, and for how long
	}
	err = work(term.Context(), term.Token()) // renewed meanwhile
	return errors.Join(err, term.Resign(ctx))
}

// hold waits for the old lock and keeps it, until release is called. The
// context that it returns is done when the old lock is lost.
type hold func(context.Context) (held context.Context, release context.CancelFunc, err error)

// bridged is work for OnStarted that holds the old lock as well.
func bridged(old hold, work func(context.Context, *elector.Term)) func(context.Context, *elector.Term) {
	return func(ctx context.Context, t *elector.Term) {
		held, release, err := old(ctx)
		if err != nil {
			return // the term ends, and another candidate tries
		}
		defer release()
		work(held, t)
	}
}

// An address that nobody answers at is no error here: the elector waits for it.
func Example_migrateStore() {
	store, err := open("127.0.0.1:6379")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	for _, key := range store.Keys("billing") {
		fmt.Println(strings.HasPrefix(key, redisstore.DefaultPrefix))
		break
	}
	// Output: true
}

// What client-go's RunOrDie does: one term, then Run returns.
func Example_migrateClientGo() {
	ctx, cancel := context.WithCancel(context.Background())
	err := runLeading(ctx, memstore.New(memstore.Options{}), func(ctx context.Context) {
		fmt.Println("leading")
		cancel() // the process is asked to end
		<-ctx.Done()
		fmt.Println("cleaned up")
	})
	fmt.Println(err)
	// Output:
	// leading
	// cleaned up
	// <nil>
}

// What redsync's Lock, Extend and Unlock do.
func Example_migrateRedsync() {
	store := memstore.New(memstore.Options{})
	for range 2 {
		err := locked(context.Background(), store, func(ctx context.Context, token uint64) error {
			fmt.Println("locked, with token", token)
			return ctx.Err()
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// locked, with token 1
	// locked, with token 2
}

// What redislock's Obtain, Refresh and Release do.
func Example_migrateRedislock() {
	ctx, store := context.Background(), memstore.New(memstore.Options{})
	err := obtained(ctx, store, func(context.Context, uint64) error {
		err := obtained(ctx, store, func(context.Context, uint64) error { return nil })
		held := new(elector.HeldError)
		refused := errors.As(err, &held)
		fmt.Println("a second one is refused:", refused && held.Token == 1)
		return nil
	})
	fmt.Println(err)
	// Output:
	// a second one is refused: true
	// <nil>
}

// While old processes still run, the new ones work only with the old lock.
func Example_migrateBridge() {
	var oldLock sync.Mutex // stands for the one in Redis or Kubernetes
	oldLock.Lock()         // an old process has it
	asked := make(chan struct{})
	old := func(ctx context.Context) (context.Context, context.CancelFunc, error) {
		close(asked)
		oldLock.Lock()
		held, cancel := context.WithCancel(ctx)
		return held, func() { cancel(); oldLock.Unlock() }, nil
	}
	e, err := elector.New(memstore.New(memstore.Options{}), elector.Config{
		Election: "billing",
		Logger:   quiet,
		Once:     true,
		OnStarted: bridged(old, func(ctx context.Context, t *elector.Term) {
			fmt.Println("the new process works with token", t.Token())
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- e.Run(context.Background()) }()
	<-asked
	fmt.Println("the new process leads and waits:", e.IsLeader())
	oldLock.Unlock() // the old process has ended
	fmt.Println(<-done)
	fmt.Println("the old lock is free again:", oldLock.TryLock())
	// Output:
	// the new process leads and waits: true
	// the new process works with token 1
	// <nil>
	// the old lock is free again: true
}
