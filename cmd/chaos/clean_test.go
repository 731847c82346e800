package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

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
