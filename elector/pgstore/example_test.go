package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/pgstore"
)

// A lease in a row: the store uses a pool that the program has made for it.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@db1,db2/app?target_session_attrs=read-write")
	if err != nil {
		log.Fatal(err)
	}
	store, err := pgstore.New(pool, pgstore.Options{Table: "app.leases"})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(ctx); err != nil { // or once, by a user that may create tables
		log.Fatal(err)
	}
	e, err := elector.New(store, elector.Config{
		Election: "billing",
		OnStarted: func(ctx context.Context, t *elector.Term) {
			fmt.Println("billing with token", t.Token())
			<-ctx.Done()
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = e.Run(ctx)
	pool.Close() // after the last elector
	log.Fatal(err)
}

// A lease tied to a session: the store makes its own connections, to the server
// and not to a pooler.
func ExampleNewSession() {
	store, err := pgstore.NewSession("host=db1 user=app dbname=app", pgstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := elector.New(store, elector.Config{Election: "billing", Lease: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	term, err := e.Campaign(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("billing with token", term.Token())
	if err := term.Resign(context.Background()); err != nil {
		log.Fatal(err)
	}
	store.Close() // after the last elector
}

// Mistakes are told before anything connects, by the field to change.
func ExampleOptions() {
	_, err := pgstore.NewSession("host=db1", pgstore.Options{Table: "Leases"})
	fmt.Println(err)
	// Output:
	// pgstore: Options.Table: is "Leases"; it must be a name or schema.name of lower-case letters, digits and underscores, with at most 51 characters each
}
