package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplayLive shows that a case runs on real Redis until the chance of its
// failing is known well enough, and that what does not fail is said with how
// well that is known.
func TestReplayLive(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server on PATH")
	}
	path := filepath.Join(t.TempDir(), "case.json")
	text := `{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":2,"lease":"15s","renew":"5s","retry":"1s","drift":0.01,
		"broke":"AtMostOneLeader","schedule":[{"at":"1s","for":"1s","fault":"pause","target":"the leader"}],"quiet":"20s"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, "replay", path, "--world", "live", "--lease", "500ms", "--runs", "4", "--redis", "process")
	if r.status != statusKept || !strings.Contains(r.out, "fails 0 of 4, 95 % interval 0 % to 49 %") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}
