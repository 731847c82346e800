//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim/live/docker"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// TestContainersRefused shows what the world of containers says of what it cannot do,
// before anything is asked of Docker, and of a Docker that does not answer.
func TestContainersRefused(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
	for args, want := range map[string]string{
		"crash-leader":                              "Docker does not answer; start its daemon, or set DOCKER_HOST",
		"crash-leader --image x":                    "Docker does not answer",
		"crash-leader --redis process":              "--redis means nothing with --world containers",
		"crash-leader --exec true":                  "give the image of one candidate with --image",
		"crash-leader --subject titan":              "titan cannot run in containers",
		"crash-leader --world live --image x":       "--image means nothing with --world live",
		"crash-leader --world virtual --image x":    "--image means nothing with --world virtual",
		"no-such-scenario":                          "no-such-scenario",
		"crash-leader --rolling --duration 100h":    "--rolling means nothing with --world containers",
		"crash-leader --toxiproxy 127.0.0.1:1":      "--toxiproxy means nothing with --world containers",
		"crash-leader --lock-key x --world virtual": "--lock-key means nothing",
	} {
		r := chaos(t, t.Context(), nil, append([]string{"run", "--world", "containers", "--out", t.TempDir()}, strings.Fields(args)...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%s: status %d, want %q in one line:\n%s", args, r.status, want, r.errors)
		}
	}
}

// TestContainersLacks shows that a scenario which needs more than Docker can do to a
// host is refused where it is named, with those that it can.
func TestContainersLacks(t *testing.T) {
	needContainers(t)
	r := chaos(t, t.Context(), nil, "run", "--world", "containers", "--out", t.TempDir(), "latency-spike")
	if r.status != statusUsage || !strings.Contains(r.errors, "Docker's networks cannot be made slow") || !strings.Contains(r.errors, "partition-leader, ") {
		t.Errorf("status %d\n%s", r.status, r.errors)
	}
}

// needContainers skips where Docker, or its image of Redis, is not.
func needContainers(t *testing.T) {
	t.Helper()
	image := cmp.Or(os.Getenv(redisserver.ImageVariable), redisserver.DefaultImage)
	if said, err := exec.CommandContext(t.Context(), "docker", "image", "inspect", image).CombinedOutput(); err != nil {
		t.Skipf("no containers here: %v: %s", err, said)
	}
}

// TestKilledHarnessOfContainers shows that after a kill -9 of the harness in the
// middle of a run Docker has nothing of it any more: no container, a paused one
// included, no network and no image.
func TestKilledHarnessOfContainers(t *testing.T) {
	needContainers(t)
	dir := t.TempDir()
	harness := startHarness(t, append([]string{"run", "pause-leader", "--world", "containers"}, small(dir)...)...)
	awaitFile(t.Context(), filepath.Join(dir, "pause-leader", "logs", "n3.log"))
	mark := fmt.Sprintf("label=%s=%d", docker.Label, harness.Process.Pid)
	for !strings.Contains(of(t, "ps", "--filter", mark, "--format", "{{.Status}}"), "Paused") {
		if t.Context().Err() != nil {
			t.Fatal("no container was ever paused")
		}
	}
	all := func() string {
		return of(t, "ps", "--all", "--quiet", "--filter", mark) + of(t, "network", "ls", "--quiet", "--filter", mark) + of(t, "images", "--quiet", "--filter", mark)
	}
	if n := strings.Count(all(), "\n"); n < 7 { // four containers, two networks, an image
		t.Errorf("only %d things of Docker's carry the mark of the harness", n)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // killed: that it failed is no news
	killed := time.Now()
	for left := all(); left != ""; left = all() {
		if time.Since(killed) > time.Minute {
			t.Fatalf("still there after a minute:\n%s", left)
		}
	}
	t.Logf("all was gone after %v", time.Since(killed))
}

// of is what docker says.
func of(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "docker", args...).Output()
	if err != nil {
		t.Fatalf("docker %v: %v", args, err)
	}
	return string(said)
}
