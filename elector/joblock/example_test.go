package joblock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/memstore"
)

// Two hosts start a job at three in the morning, by clocks that differ. The
// second one finds it taken, although it is done. A host to which the store does
// not answer gives up after ten seconds; the job may take up to an hour.
func ExampleRun() {
	store := memstore.New(memstore.Options{}) // in production: redisstore, pgstore or quorumstore
	for _, host := range []string{"host-a", "host-b"} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		patience := time.AfterFunc(10*time.Second, cancel)
		job := func(_ context.Context, t *elector.Term) error {
			patience.Stop()
			fmt.Println("the report is made, with token", t.Token())
			return nil
		}
		err := joblock.Run(ctx, store,
			elector.Config{Election: "nightly-report", ID: host, Logger: quiet},
			joblock.Options{AtLeast: 5 * time.Minute, AtMost: time.Hour}, job)
		var held *elector.HeldError
		switch {
		case errors.As(err, &held):
			fmt.Println(host, "need not run it")
		case err != nil:
			fmt.Println(host, "could not run it:", err)
		default:
			fmt.Println(host, "ran it")
		}
	}
	// Output:
	// the report is made, with token 1
	// host-a ran it
	// host-b need not run it
}
