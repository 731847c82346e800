//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKilledHarness shows that after a kill -9 of the harness in the middle of
// a run none of its processes is left two seconds later, a suspended candidate
// included, and that the next run works.
func TestKilledHarness(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	for _, redis := range []string{"process", "embedded"} {
		t.Run(redis, func(t *testing.T) {
			if _, err := exec.LookPath("redis-server"); redis == "process" && err != nil {
				t.Skip("there is no redis-server on PATH")
			}
			dir := t.TempDir()
			harness := startHarness(t, append([]string{"run", "pause-leader", "--redis", redis}, small(dir)...)...)
			awaitFile(t.Context(), filepath.Join(dir, "pause-leader", "logs", "n3.log"))
			family := descendants(t, harness.Process.Pid)
			awaitStopped(t, family)
			if err := harness.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = harness.Wait() // killed: that it failed is no news
			deadline := time.Now().Add(2 * time.Second)
			for left := alive(family); len(left) > 0; left = alive(family) {
				if time.Now().After(deadline) {
					t.Fatalf("still there after two seconds: %v", left)
				}
				<-time.After(10 * time.Millisecond)
			}
			next, _ := decided(t, nil, append([]string{"run", "steady", "--redis", redis}, quick()...)...)
			if !next.kept() {
				t.Errorf("the next run: status %d\n%s%s", next.status, next.out, next.errors)
			}
		})
	}
}

// startHarness starts chaos as a process of its own, which is ended with the
// test at the latest.
func startHarness(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asChaos+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, mostly
	return cmd
}

// member is a process, told from a later one with the same number by the time
// at which it started.
type member struct {
	pid           int
	name, started string
	state         string
	parent        int
}

// descendants are the processes below pid. It waits until a full house is
// there: the supervisor and three candidates at least.
func descendants(t *testing.T, pid int) []member {
	t.Helper()
	for {
		below := map[int]bool{pid: true}
		var family []member
		for grown := true; grown; {
			grown = false
			for _, m := range processes() {
				if below[m.parent] && !below[m.pid] {
					below[m.pid], grown = true, true
					family = append(family, m)
				}
			}
		}
		if len(family) >= 4 {
			return family
		}
		if t.Context().Err() != nil {
			t.Fatal("the harness never had its processes")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// awaitStopped returns once one of the family is suspended: the pause of the
// scenario is on.
func awaitStopped(t *testing.T, family []member) {
	t.Helper()
	for t.Context().Err() == nil {
		for _, m := range family {
			if now, found := process(m.pid); found && now.state == "T" {
				return
			}
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("no candidate was ever suspended")
}

func alive(family []member) []string {
	var left []string
	for _, m := range family {
		if now, found := process(m.pid); found && now.started == m.started && now.state != "Z" {
			left = append(left, fmt.Sprintf("%s (%d)", m.name, m.pid))
		}
	}
	return left
}

func processes() []member {
	entries, _ := filepath.Glob("/proc/[0-9]*") // fails only for a bad pattern
	var all []member
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(filepath.Base(entry), &pid); err != nil {
			continue
		}
		if m, found := process(pid); found {
			all = append(all, m)
		}
	}
	return all
}

// process reads what /proc tells about a process.
func process(pid int) (member, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return member{}, false
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	words := strings.Fields(string(stat[end+1:]))
	m := member{pid: pid, name: string(stat[open+1 : end]), state: words[0], started: words[19]}
	_, err = fmt.Sscan(words[1], &m.parent)
	return m, err == nil
}
