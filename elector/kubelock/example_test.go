package kubelock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/recount-io/recount/elector/kubelock"
	"github.com/recount-io/recount/elector/memstore"
)

// client-go's own elector, with a lease in a store of leases. For controller-runtime the lock
// is manager.Options.LeaderElectionResourceLockInterface.
func Example() {
	store := memstore.New(memstore.Options{}) // in production: redisstore, pgstore or quorumstore
	lock, err := kubelock.New(store, kubelock.Options{Election: "controller"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   5 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				fmt.Println("leads, and writes with token", lock.Token())
				stop()
			},
			OnStoppedLeading: func() { fmt.Println("stopped, and has token", lock.Token()) },
		},
	})
	// Output:
	// leads, and writes with token 1
	// stopped, and has token 0
}
