//go:build linux || darwin

package redisserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

func openArranged(t *testing.T, kind string) (context.Context, *arranged, redis.UniversalClient) {
	t.Helper()
	for _, program := range []string{topology.ServerProgram, topology.SentinelProgram} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not on PATH")
		}
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s, err := Arrange(ctx, kind, Options{})
	ok(t, err)
	a, is := s.(*arranged)
	if !is {
		t.Fatalf("%T", s)
	}
	t.Cleanup(func() { ok(t, a.Close()) })
	client := redis.NewUniversalClient(a.Universal())
	t.Cleanup(func() { ok(t, client.Close()) })
	return ctx, a, client
}

// A primary that is severed and then lost takes with it what only it had. Its
// place is taken by a replica, which lacks that, and it comes back as a replica.
func TestArrangedLoses(t *testing.T) {
	for _, kind := range []string{Sentinel, Cluster} {
		t.Run(kind, func(t *testing.T) {
			ctx, a, client := openArranged(t, kind)
			ok(t, client.Set(ctx, "{e}:kept", "1", 0).Err())
			ok(t, a.Sever(ctx, "{e}:kept"))
			if n, err := a.Lacks(ctx); err != nil || n != 0 {
				t.Errorf("replicas lack %d bytes (%v) of a primary that wrote nothing", n, err)
			}
			ok(t, client.Set(ctx, "{e}:lost", "1", 0).Err())
			if n, err := a.Lacks(ctx); err != nil || n <= 0 {
				t.Errorf("replicas lack %d bytes (%v)", n, err)
			}
			ok(t, a.Lose(ctx, "{e}:kept"))
			addr, err := a.Promoted(ctx)
			ok(t, err)
			t.Logf("%s was promoted", addr)
			found, err := client.Exists(ctx, "{e}:kept").Result()
			for err != nil && ctx.Err() == nil { // until the client knows
				if c, is := client.(*redis.ClusterClient); is {
					c.ReloadState(ctx) // it would not ask by itself because of a dead node
				}
				found, err = client.Exists(ctx, "{e}:kept").Result()
			}
			gone, err2 := client.Exists(ctx, "{e}:lost").Result()
			if ok(t, errors.Join(err, err2)); found != 1 || gone != 0 {
				t.Errorf("%d key that the replica had, %d that it did not have", found, gone)
			}
			old := a.old
			ok(t, a.Rejoin(ctx))
			role := func() string { fields, _ := old.Info(ctx, "replication"); return fields["role"] }
			for role() != "slave" {
				if err := pause(ctx); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// An isolated primary goes on serving those who ask it, while Sentinels promote
// a replica, and loses what was written to it meanwhile.
func TestArrangedIsolates(t *testing.T) {
	ctx, a, client := openArranged(t, Sentinel)
	addr, err := a.Isolate(ctx, "k")
	ok(t, err)
	promoted, err := a.Promoted(ctx)
	ok(t, err)
	if addr == promoted {
		t.Fatal("the isolated primary was promoted")
	}
	old := redis.NewClient(a.Options())
	defer func() { ok(t, old.Close()) }()
	ok(t, old.Set(ctx, "k", "old", 0).Err())
	ok(t, client.Set(ctx, "k", "new", 0).Err())
	ok(t, a.Rejoin(ctx))
	for {
		if got, err := old.Get(ctx, "k").Result(); err == nil && got == "new" {
			return
		}
		if err := pause(ctx); err != nil {
			t.Fatalf("the old primary does not follow: %v", err)
		}
	}
}

// Close leaves no process, and no folder. What is for a server that stands
// alone says so.
func TestArrangedCloses(t *testing.T) {
	ctx, a, _ := openArranged(t, Cluster)
	var pids []int
	for _, s := range a.one.servers() {
		fields, err := s.Info(ctx, "server")
		ok(t, err)
		var pid int
		_, err = fmt.Sscan(fields["process_id"], &pid)
		ok(t, err)
		pids = append(pids, pid)
	}
	var shared *Error
	if err := a.Pause(ctx); !errors.As(err, &shared) || shared.Kind != Shared {
		t.Errorf("to pause them: %v", err)
	}
	ok(t, a.Close())
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d lives on", pid)
		}
	}
	if _, err := os.Stat(a.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	if _, err := Arrange(ctx, "ring", Options{}); err == nil {
		t.Error("an arrangement that there is not")
	}
}
