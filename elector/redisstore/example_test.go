package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
)

// counting is a hook of the program's own, as one for traces or metrics would be.
type counting struct{ pipelines *atomic.Int32 }

func (h counting) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		h.pipelines.Add(1)
		return next(ctx, commands)
	}
}

// Example competes for the lease of the election "billing", until ctx is done.
func Example() {
	ctx := context.Background()

	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{"localhost:6379"}}, redisstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := elector.New(store, elector.Config{
		Election:  "billing",
		OnStarted: func(ctx context.Context, t *elector.Term) { bill(ctx, t.Token()) }, // until ctx is done; a return ends the term
	})
	if err != nil {
		log.Fatal(err)
	}
	err = e.Run(ctx) // until ctx is done: then the work ends, and after it the lease
	if err != nil {
		log.Fatal(err)
	}
}

// bill is the work of the leader, which passes its token on to what it writes to.
func bill(ctx context.Context, token uint64) {
	_ = token
	<-ctx.Done()
}

// A store uses the client that the program has already, and its hooks see what is sent.
func ExampleFromClient() {
	server := miniredis.NewMiniRedis() // a server of yours in production
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{
		Addr:                  server.Addr(),
		MaxRetries:            -1, // before go-redis 9.20; later ones are told of each command
		ContextTimeoutEnabled: true,
	})
	defer func() { _ = client.Close() }()
	hook := counting{new(atomic.Int32)}
	client.AddHook(hook)

	store, err := redisstore.FromClient(client, redisstore.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }() // the client goes on
	ctx := context.Background()
	if err := store.Vouch(ctx, "billing"); err != nil { // only here: this Redis was made a moment ago. A candidate never vouches
		panic(err)
	}
	e, err := elector.New(store, elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	term, err := e.Campaign(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("a token:", term.Token() > 0)
	if err := term.Resign(ctx); err != nil {
		panic(err)
	}
	fmt.Println("the hook has seen it:", hook.pipelines.Load() > 0)
	fmt.Println("the client goes on:", client.Ping(ctx).Val())
	// Output:
	// a token: true
	// the hook has seen it: true
	// the client goes on: PONG
}
