//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
)

// While an elector runs of which nothing is known but what is read off the wire, each of
// its keys has a time to live, and the register names it. When the run is killed, chaos
// clean finds what is left, and what others have stays.
func TestCleanAfterKill(t *testing.T) {
	t.Parallel()
	address := startRedis(t)
	admin := client(t, address)
	do(t, admin, "SET theirs untouched")
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("there is no redis-cli on PATH")
	}
	elector := filepath.Join(t.TempDir(), "elector")
	if err := os.WriteFile(elector, []byte(heartbeats), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	harness := startHarness(t, append([]string{"run", "pause-leader", "--exec", elector, "--redis", "redis://" + address}, small(t.TempDir())...)...)
	run, names := awaitRegistered(t, admin)
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // killed: that it failed is no news
	t.Logf("%s: %v", run, names)
	do(t, admin, "SET", run+"late", "1") // as an elector may do in the last second
	do(t, admin, "HSET", inspection.Register("recount:"), run, fmt.Sprintf(`{"keys":[%q,%q],"seen_ms":1}`, run+"late", names[0]))
	r := chaos(t, t.Context(), nil, "clean", "--redis", "redis://"+address, "--scan", "--yes")
	if r.status != statusKept || !strings.Contains(r.out, "which stay") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if keys, err := admin.Keys(t.Context(), "*").Result(); err != nil || !slices.Equal(keys, []string{"theirs"}) {
		t.Errorf("keys left: %v, %v", keys, err)
	}
}

// heartbeats takes a lock, and says that it lives under a key of each node.
const heartbeats = `#!/bin/sh
while sleep 0.1; do
	redis-cli -u "$RECOUNT_REDIS_URL" SET "$RECOUNT_ELECTION:lock" "$RECOUNT_NODE" NX PX 800
	redis-cli -u "$RECOUNT_REDIS_URL" SET "$RECOUNT_ELECTION:heartbeat:$RECOUNT_NODE" 1 PX 900
done >/dev/null 2>&1
`

// awaitRegistered waits until the register names every key of the run that is there, and
// each has a time to live, the register, too.
func awaitRegistered(t *testing.T, admin *redis.Client) (run string, names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var why string
	for ctx.Err() == nil {
		run, names, why = registeredNow(t, admin)
		if why == "" {
			return run, names
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal(why)
	return "", nil
}

func registeredNow(t *testing.T, admin *redis.Client) (run string, names []string, why string) {
	t.Helper()
	register := inspection.Register("recount:")
	for name, text := range admin.HGetAll(t.Context(), register).Val() {
		var e struct{ Keys []string }
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		run, names = name, e.Keys
	}
	keys := admin.Keys(t.Context(), "recount:*").Val()
	foreign := 0 // of the elector, and not of the harness
	for _, key := range keys {
		switch left := admin.PTTL(t.Context(), key).Val(); {
		case left == -1:
			return run, names, key + " has no time to live"
		case left > 24*time.Hour:
			t.Fatalf("%s has %v to live", key, left)
		case key == register || left == -2:
		case !slices.Contains(names, key):
			return run, names, key + " is not in the register"
		case strings.Contains(key, ":heartbeat:"):
			foreign++
		}
	}
	if foreign == 0 {
		return run, names, fmt.Sprintf("no key of the elector is there: %v", keys)
	}
	return run, names, ""
}
