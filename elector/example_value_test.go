package elector_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// The leader publishes its address, and another one while it leads. An observer
// learns of both, each beside the term that it belongs to.
func ExampleTerm_Publish() {
	store := memstore.New(memstore.Options{}) // redisstore.New in production
	e, err := elector.New(store, elector.Config{
		Election: "billing", ID: "host-1", Value: "http://host-1:8080",
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	term, err := e.Campaign(ctx)
	if err != nil {
		panic(err)
	}
	soon := elector.ObserveOptions{Poll: 100 * time.Millisecond} // for what changes before it listens
	for leader, err := range elector.Observe(ctx, store, "billing", soon) {
		switch {
		case err != nil:
			fmt.Println("not known:", err)
		case leader.ID == "":
			fmt.Println("nobody leads")
			return
		default:
			fmt.Printf("token %d is at %s\n", leader.Token, leader.Value)
		}
		switch leader.Value {
		case "http://host-1:8080":
			err = term.Publish(ctx, "http://host-1:9090")
		case "http://host-1:9090":
			err = term.Resign(ctx)
		}
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// token 1 is at http://host-1:8080
	// token 1 is at http://host-1:9090
	// nobody leads
}
