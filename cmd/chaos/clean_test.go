package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// chaos clean shows what runs have left, keeps its hands off what goes on and off what
// is somebody else's, and removes the rest when it is told to.
func TestClean(t *testing.T) {
	t.Parallel()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	theirs := []string{"theirs", "recount:{billing}:token", "recount:run-of-theirs:a", "recount:run-1234567:x"}
	old := []string{"recount:run-0123abcd:{e1}:token", "recount:run-0123abcd:{e1}:lease", "recount:run-ffffffff:lock"}
	going := "recount:run-11112222:{e1}:guard"
	for _, key := range append(append([]string{going}, theirs...), old...) {
		if err := server.Set(key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	server.SetTTL(going, 90_000_000_000)
	server.SetTTL("recount:run-ffffffff:lock", 3_600_000_000_000)
	env := map[string]string{"RECOUNT_REDIS": "redis://" + server.Addr()}

	r := chaos(t, t.Context(), env, "clean")
	want := `recount:run-0123abcd:  2 keys, which stay
recount:run-11112222:  1 keys, which end within 1m30s: the run goes on, or ended a moment ago
recount:run-ffffffff:  1 keys, which end within 1h0m0s
Nothing was removed. With --yes the keys of 2 runs are.
`
	if r.status != statusKept || r.out != want {
		t.Errorf("status %d\n%s%swant\n%s", r.status, r.out, r.errors, want)
	}
	if n := len(server.Keys()); n != 8 {
		t.Fatalf("%d keys are left of 8", n)
	}
	var c cleaned
	r = chaos(t, t.Context(), env, "clean", "--yes", "--json")
	if err := json.Unmarshal([]byte(r.out), &c); err != nil || c.Removed != 3 || len(c.Runs) != 3 {
		t.Errorf("%v\n%s%s", err, r.out, r.errors)
	}
	if left := strings.Join(server.Keys(), " "); len(server.Keys()) != 5 || strings.Contains(left, "0123abcd") {
		t.Errorf("keys left: %v", left)
	}
	if r := chaos(t, t.Context(), env, "clean", "--yes", "--prefix", "other:"); r.status != statusKept || !strings.Contains(r.out, "nothing to remove") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, spec := range []string{"", "process", "redis://127.0.0.1:1"} {
		if r := chaos(t, t.Context(), nil, "clean", "--redis", spec); r.status != statusUsage || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%q: status %d\n%s", spec, r.status, r.errors)
		}
	}
}
