package quorumstore_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// Five independent stores make one that survives the loss of any two.
func ExampleNew() {
	var nodes []store.Store
	for range 5 {
		nodes = append(nodes, memstore.New(memstore.Options{})) // redisstore in production
	}
	store, err := quorumstore.New(nodes, quorumstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := elector.New(store, elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	term, err := e.Campaign(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("leads with token", term.Token())
	if err := term.Resign(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: leads with token 1
}

// In production the nodes are Redis servers without replication, each on a
// machine of its own. The caller that opens the nodes must close them.
func ExampleNew_redis() {
	addrs := []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.4:6379", "10.0.0.5:6379"}
	var nodes []store.Store
	for _, addr := range addrs {
		node, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = node.Close() }() // nothing is left to be sent
		nodes = append(nodes, node)
	}
	store, err := quorumstore.New(nodes, quorumstore.Options{
		Names: addrs,
		OnError: func(node, call string, err error) {
			slog.Warn("a node failed", "node", node, "call", call, "error", err)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := elector.New(store, elector.Config{Election: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Run(context.Background()))
}
