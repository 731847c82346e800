package controller

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/recount-io/recount/elector/kubelock"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/topology"
)

// replica is one of the deployment.
type replica struct {
	lock  *kubelock.Lock
	leads chan uint64 // the token with which its work has begun
	stop  func()
	ended chan error // of the manager
}

// start starts a manager that has no API server: it has only work that needs leader election.
func start(t *testing.T, store *redisstore.Store, id string) *replica {
	t.Helper()
	lock, err := kubelock.New(store, kubelock.Options{Election: "controller", ID: id})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, lock)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{lock: lock, leads: make(chan uint64, 1), ended: make(chan error, 1)}
	work := manager.RunnableFunc(func(ctx context.Context) error {
		r.leads <- lock.Token()
		<-ctx.Done()
		return nil
	})
	if err := m.Add(work); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.ended <- m.Start(ctx) }()
	return r
}

// One of two managers leads. When it is stopped it releases the lease, and the other one leads
// with a larger token.
func TestManagersTakeTurns(t *testing.T) {
	log.SetLogger(logr.Discard())
	server := topology.Single(t)
	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr}}, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Vouch(t.Context(), "controller"); err != nil { // a new server: nobody waits for a lease that is forgotten
		t.Fatal(err)
	}
	leader, other := start(t, store, "one"), start(t, store, "two")
	var token uint64
	select {
	case token = <-leader.leads:
	case token = <-other.leads:
		leader, other = other, leader
	}
	if other.lock.Token() != 0 || token == 0 {
		t.Errorf("the tokens are %d and %d", token, other.lock.Token())
	}
	leader.stop()
	if next := <-other.leads; next <= token {
		t.Errorf("the next leader has token %d after %d", next, token)
	}
	other.stop()
	for _, r := range []*replica{leader, other} {
		if err := <-r.ended; err != nil {
			t.Errorf("a manager that was stopped: %v", err)
		}
	}
}
