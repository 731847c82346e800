// Package controller is a manager of controller-runtime whose leader is elected in a store of
// leases (Redis, PostgreSQL) in place of the API server. It is an example to copy.
package controller

import (
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/recount-io/recount/elector/kubelock"
)

// NewManager returns a manager that leads while it holds the lock. The durations are such that
// its controllers are told to stop before another manager leads, as long as the process is not
// paused: see kubelock. Controllers send lock.Token with what they write elsewhere.
func NewManager(config *rest.Config, lock *kubelock.Lock) (manager.Manager, error) {
	lease, deadline, retry := 15*time.Second, 5*time.Second, 2*time.Second
	return manager.New(config, manager.Options{
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &lease,
		RenewDeadline:                       &deadline,
		RetryPeriod:                         &retry,
		Metrics:                             server.Options{BindAddress: "0"}, // serve them as your other managers do
	})
}
