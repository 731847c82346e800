package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Faults on the server itself are possible on a Redis that others use only where its
// owner marked it with its own name. The message says how, the server is as before in the
// end, and what no client can do is refused all the same.
func TestOwnThisRedis(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	address := startRedis(t, "maxmemory-policy allkeys-lfu")
	admin := client(t, address)
	do(t, admin, "SET theirs untouched")
	url := "redis://" + address + "/3"
	run := func(scenario string, args ...string) result {
		t.Helper()
		args = append([]string{"run", scenario, "--redis", url}, args...)
		return chaos(t, t.Context(), nil, append(args, small(filepath.Join(t.TempDir(), "out"))...)...)
	}
	refused(t, run("flush"), "only a private one may be hit: use --redis process, docker or embedded for it, --world virtual, or if nobody would miss the server's data --own-this-redis")
	unmarked := run("flush", "--own-this-redis")
	refused(t, unmarked, "is not marked as yours to disturb")
	_, words, says := strings.Cut(strings.TrimSpace(unmarked.errors), "SET ")
	if !says || !strings.Contains(unmarked.errors, " -n 3 SET recount:own-this-redis ") {
		t.Fatalf("it does not say how: %s", unmarked.errors)
	}
	owner := admin.Conn()
	defer func() { _ = owner.Close() }() // nothing is under way
	if err := owner.Select(t.Context(), 3).Err(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Set(t.Context(), "recount:own-this-redis", "another's name", 0).Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, run("flush", "--own-this-redis"), "is not marked")
	mark := strings.Fields(words)
	if err := owner.Set(t.Context(), mark[0], mark[1], 0).Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, run("store-pause", "--own-this-redis"), "hits the server's process, which no client can")
	for _, scenario := range []string{"flush", "eviction", "scripts-flushed"} {
		// What becomes of the promises is for others to say.
		if r := run(scenario, "--own-this-redis"); r.status == statusUsage || r.status == statusFailed {
			t.Errorf("%s: status %d\n%s%s", scenario, r.status, r.out, r.errors)
		}
	}
	for setting, want := range map[string]string{"maxmemory": "0", "maxmemory-policy": "allkeys-lfu"} {
		if now := admin.ConfigGet(t.Context(), setting).Val()[setting]; now != want {
			t.Errorf("%s is %s and was %s", setting, now, want)
		}
	}
	if got := admin.Get(t.Context(), "theirs").Val(); got != "untouched" {
		t.Errorf("a key of another database: %q", got)
	}
	refused(t, chaos(t, t.Context(), nil, "run", "steady", "--redis", "process", "--own-this-redis", "--out", t.TempDir()), "--own-this-redis means nothing for a private Redis")
}
