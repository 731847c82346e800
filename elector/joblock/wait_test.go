package joblock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// hosts run a job at one moment, and return how often it ran and how often it was said to
// be somebody else's.
func hosts(t *testing.T, n int, store func() elector.Store, cfg elector.Config, o joblock.Options) (ran, held int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		own := cfg
		own.ID = fmt.Sprint("host", i)
		s := store()
		all.Go(func() {
			err := joblock.Run(t.Context(), s, own, o, nothing)
			mu.Lock()
			defer mu.Unlock()
			switch other := new(elector.HeldError); {
			case err == nil:
				ran++
			case errors.As(err, &other) && !errors.Is(err, elector.ErrWithheld):
				held++
			default:
				t.Errorf("%s: %v", own.ID, err)
			}
		})
	}
	all.Wait()
	return ran, held
}

// withholding is a store that gives the lock to nobody for a while.
type withholding struct {
	elector.Store
	until time.Time
}

func (w withholding) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if left := time.Until(w.until); left > 0 {
		return store.Grant{}, &elector.HeldError{Withheld: "it may have forgotten a run", Remaining: left}
	}
	return w.Store.Acquire(ctx, a)
}

// A lock that the store withholds is no reason to skip the job: it is waited for, and one
// host runs the job then.
func TestWithheldLockIsWaitedFor(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		w := withholding{r.host(), time.Now().Add(least)}
		began := time.Now()
		ran, held := hosts(t, 3, func() elector.Store { return w }, config(r.clock), joblock.Options{AtLeast: least})
		if took := time.Since(began); ran != 1 || held != 2 || took < least || took > least+time.Minute {
			t.Errorf("the job ran %d times, and %d hosts were told that it is another's, after %v", ran, held, took)
		}
	})
}

// Nobody who waited in vain is told that somebody else runs the job.
func TestWaitEnds(t *testing.T) {
	for name, away := range map[string]bool{"withheld": false, "no answer": true} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T, r *rig) {
				r.away.Store(away)
				began, store := time.Now(), r.host()
				if !away {
					store = withholding{store, began.Add(least)}
				}
				err := joblock.Run(t.Context(), store, config(r.clock), joblock.Options{AtLeast: least, Wait: time.Minute}, nothing)
				took := time.Since(began).Round(time.Second)
				if held := new(elector.HeldError); !errors.Is(err, joblock.ErrUndecided) || errors.As(err, &held) || took != time.Minute {
					t.Errorf("after %v: %v", took, err)
				}
				if !away && !strings.Contains(err.Error(), "it may have forgotten a run") {
					t.Errorf("it does not say why: %v", err)
				}
			})
		})
	}
}

// young are the hosts of the tests on servers that may have forgotten a run.
var young = elector.Config{Election: "nightly", Lease: time.Second, Logger: quiet}

// opener opens a store for each host.
func opener(t *testing.T, options redis.UniversalOptions) func() elector.Store {
	return func() elector.Store {
		s, err := redisstore.New(&options, redisstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// ranOnce fails the test unless of three hosts that start at one moment one runs the job.
func ranOnce(t *testing.T, what string, options redis.UniversalOptions) {
	t.Helper()
	o := joblock.Options{AtLeast: 2 * time.Second, Wait: time.Minute}
	if ran, held := hosts(t, 3, opener(t, options), young, o); ran != 1 || held != 2 {
		t.Errorf("%s: the job ran %d times, and %d hosts were told that it is another's", what, ran, held)
	}
}

// Three hosts start a job at one moment. It runs once: on a Redis that has just started, on
// one that has lost its data, and on a cluster whose witness is not at hand.
func TestJobRunsOnceOnYoungServers(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		ctx, l := topology.For(t, topology.ServerProgram)
		server := topology.Must[*topology.Server](t)(l.Server(ctx, topology.Config{}))
		options := redis.UniversalOptions{Addrs: []string{server.Addr}}
		ranOnce(t, "just started", options)
		if err := errors.Join(server.Kill(), server.Start(ctx)); err != nil {
			t.Fatal(err)
		}
		ranOnce(t, "without its data", options)
	})
	t.Run("a cluster", func(t *testing.T) {
		t.Parallel()
		ctx, l := topology.For(t, topology.ServerProgram)
		cluster := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
		options := redis.UniversalOptions{IsClusterMode: true}
		for _, node := range cluster.Nodes {
			options.Addrs = append(options.Addrs, node.Addr)
		}
		ranOnce(t, "just started", options)
	})
}

// Three hosts start a job at one moment on a Redis that was restarted with its data. A job
// that ran before the restart is not repeated within its least time, and the next one runs
// once.
func TestJobRunsOnceAfterRestartWithData(t *testing.T) {
	ctx, l := topology.For(t, topology.ServerProgram)
	server := topology.Must[*topology.Server](t)(l.Server(ctx, topology.Config{Settings: []string{"--appendonly", "yes", "--appendfsync", "always"}}))
	options := redis.UniversalOptions{Addrs: []string{server.Addr}}
	restart := func() {
		t.Helper()
		if err := errors.Join(server.Kill(), server.Start(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if err := opener(t, options)().(*redisstore.Store).Vouch(t.Context(), "weekly"); err != nil {
		t.Fatal(err)
	}
	weekly := young
	weekly.Election = "weekly"
	for _, want := range [][2]int{{1, 2}, {0, 3}} {
		ran, held := hosts(t, 3, opener(t, options), weekly, joblock.Options{AtLeast: time.Hour, Wait: time.Minute})
		if ran != want[0] || held != want[1] {
			t.Errorf("within the least time: the job ran %d times, and %d hosts were told that it is another's; want %v", ran, held, want)
		}
		restart()
	}
	ranOnce(t, "just restarted", options)
	for store := opener(t, options)(); ; { // until its least time is over
		held, err := store.Leader(t.Context(), young.Election)
		if err != nil {
			t.Fatal(err)
		}
		if held.ID == "" {
			break
		}
		<-time.After(held.Remaining)
	}
	restart()
	ranOnce(t, "restarted with a lock that is over", options)
}
