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
// second one finds it taken, although it is done. The job may take up to an hour. A host
// that cannot find out within ten minutes whether the job runs says so.
func ExampleRun() {
	store := memstore.New(memstore.Options{}) // in production: redisstore, pgstore or quorumstore
	for _, host := range []string{"host-a", "host-b"} {
		job := func(_ context.Context, t *elector.Term) error {
			fmt.Println("the report is made, with token", t.Token())
			return nil
		}
		err := joblock.Run(context.Background(), store,
			elector.Config{Election: "nightly-report", ID: host, Logger: quiet},
			joblock.Options{AtLeast: 5 * time.Minute, AtMost: time.Hour, Wait: 10 * time.Minute}, job)
		var held *elector.HeldError
		switch {
		case errors.As(err, &held):
			fmt.Println(host, "need not run it")
		case errors.Is(err, joblock.ErrUndecided):
			fmt.Println(host, "did not run it, and perhaps nobody did:", err)
		case err != nil:
			fmt.Println(host, "ran it in vain, or could not:", err)
		default:
			fmt.Println(host, "ran it")
		}
	}
	// Output:
	// the report is made, with token 1
	// host-a ran it
	// host-b need not run it
}
