package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
)

// leftBehind is a server with what runs have left, and with what is somebody else's.
func leftBehind(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for _, key := range []string{
		"theirs", "recount:{billing}:token", "recount:run-of-theirs:a", "recount:run-1234567:x", "recount:run-0123abcd", // somebody else's
		"recount:run-0123abcd:{e1}:token", "recount:run-0123abcd:{e1}:lease", "recount:run-ffffffff:lock", // old
		"recount:run-11112222:{e1}:guard",   // of a run that goes on
		"recount:run-aaaaaaaa:{e1}:token",   // of an older version: in no register
		"recount:run-bbbbbbbb:{e1}:witness", // the same, and going on
	} {
		if err := server.Set(key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	server.SetTTL("recount:run-11112222:{e1}:guard", 90*time.Second)
	server.SetTTL("recount:run-bbbbbbbb:{e1}:witness", 90*time.Second)
	server.SetTTL("recount:run-ffffffff:lock", time.Hour)
	for run, e := range map[string]map[string]any{
		// A register is a key like any other: what it says of keys of others is not believed.
		"recount:run-0123abcd:": {"seen_ms": 0, "keys": []string{"recount:run-0123abcd:{e1}:token", "recount:run-0123abcd:{e1}:lease", "theirs", "recount:{billing}:token"}},
		"recount:run-ffffffff:": {"seen_ms": 0, "keys": []string{"recount:run-ffffffff:lock", "recount:run-ffffffff:gone"}},
		"recount:run-11112222:": {"seen_ms": time.Now().UnixMilli(), "keys": []string{"recount:run-11112222:{e1}:guard"}},
		"recount:run-33334444:": {"seen_ms": 0, "keys": []string{"recount:run-33334444:gone"}},
		"theirs":                {"seen_ms": 0, "keys": []string{"theirs"}},
	} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		server.HSet(inspection.Register("recount:"), run, string(text))
	}
	return server
}

// chaos clean shows what runs have left, by their register, keeps its hands off what goes
// on and off what is somebody else's, and removes the rest when it is told to.
func TestClean(t *testing.T) {
	t.Parallel()
	server := leftBehind(t)
	server.RequireAuth(secret)
	env := map[string]string{"RECOUNT_REDIS": "redis://:" + secret + "@" + server.Addr()}
	before := server.Keys()

	r := chaos(t, t.Context(), env, "clean")
	want := `recount:run-0123abcd:  2 keys, which stay
recount:run-11112222:  1 keys, which end within 1m30s: the run goes on, or ended a moment ago
recount:run-33334444:  is in the register only
recount:run-ffffffff:  1 keys, which end within 1h0m0s
Nothing was removed. With --yes the keys of 3 runs are.
`
	if r.status != statusKept || r.out != want {
		t.Errorf("status %d\n%s%swant\n%s", r.status, r.out, r.errors, want)
	}
	if now := server.Keys(); !slices.Equal(now, before) {
		t.Fatalf("keys were %v and are %v", before, now)
	}
	var c cleaned
	r = chaos(t, t.Context(), env, "clean", "--yes", "--json")
	if err := json.Unmarshal([]byte(r.out), &c); err != nil || c.Removed != 3 || len(c.Runs) != 4 {
		t.Errorf("%v\n%s%s", err, r.out, r.errors)
	}
	gone := []string{"recount:run-0123abcd:{e1}:token", "recount:run-0123abcd:{e1}:lease", "recount:run-ffffffff:lock"}
	left := slices.DeleteFunc(slices.Clone(before), func(key string) bool { return slices.Contains(gone, key) })
	if now := server.Keys(); !slices.Equal(now, left) {
		t.Errorf("keys are %v, want %v", now, left)
	}
	if fields, err := server.HKeys(inspection.Register("recount:")); err != nil || !slices.Equal(fields, []string{"recount:run-11112222:", "theirs"}) {
		t.Errorf("the register has %v, %v", fields, err)
	}
}

// With --scan, what is in no register is found, too.
func TestCleanScans(t *testing.T) {
	t.Parallel()
	server := leftBehind(t)
	url := "redis://" + server.Addr()
	r := chaos(t, t.Context(), nil, "clean", "--redis", url, "--scan", "--yes")
	if r.status != statusKept || !strings.Contains(r.out, "recount:run-aaaaaaaa:  1 keys, which stay\n") || !strings.Contains(r.out, "Removed 4 keys of 4 runs.") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, key := range []string{"recount:run-bbbbbbbb:{e1}:witness", "recount:run-0123abcd", "recount:run-of-theirs:a"} {
		if !server.Exists(key) {
			t.Errorf("%s is gone", key)
		}
	}
	r = chaos(t, t.Context(), nil, "clean", "--redis", url, "--yes", "--prefix", "other:")
	if r.status != statusKept || !strings.Contains(r.out, "nothing to remove") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, spec := range []string{"", "process", "redis://127.0.0.1:1"} {
		refused(t, chaos(t, t.Context(), nil, "clean", "--redis", spec), "redis")
	}
	refused(t, chaos(t, t.Context(), nil, "clean", "--redis", url, "--prefix", ""), "--prefix is empty")
}

// While an elector runs of which nothing is known but what is read off the wire, each of
// its keys has a time to live, and the register names it. When the run is killed, chaos
// clean finds what is left, and what others have stays.
func TestCleanAfterKill(t *testing.T) {
	t.Parallel()
	address := startRedis(t)
	admin := client(t, address)
	do(t, admin, "SET theirs untouched")
	harness := startHarness(t, append([]string{"run", "pause-leader", "--subject", "sovereign", "--redis", "redis://" + address}, small(t.TempDir())...)...)
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
