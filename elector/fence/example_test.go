package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/fence"
)

// A ledger in this process refuses the former leader, which has slept through
// the end of its term.
func ExampleGuard() {
	var guard fence.Guard
	var ledger []string
	book := func(token uint64, entry string) error {
		return guard.Do(token, func() error {
			ledger = append(ledger, entry)
			return nil
		})
	}
	fmt.Println(book(33, "by the first leader"))
	fmt.Println(book(34, "by the second leader"))
	err := book(33, "by the first leader, awake again")
	var stale *fence.StaleError
	fmt.Println(errors.As(err, &stale), stale.Token, stale.Highest)
	fmt.Println(len(ledger), "entries")
	// Output:
	// <nil>
	// <nil>
	// true 33 34
	// 2 entries
}

// A key in Redis, written with the token of the term (elector.Term.Token).
func ExampleRedisGuard() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer func() { _ = client.Close() }()

	ctx := context.Background()
	guard := fence.NewRedisGuard(client)
	fmt.Println(guard.Set(ctx, 34, "report", "second leader's", 0))
	fmt.Println(guard.Set(ctx, 33, "report", "first leader's", 0))
	fmt.Println(client.Get(ctx, "report").Val())
	// Output:
	// <nil>
	// fence: token 33 is stale: the resource has seen token 34, so somebody else leads since; stop working on this term
	// second leader's
}
