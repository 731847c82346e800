package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRunsOfOneWorld shows that --runs repeats each scenario in one world, with one seed
// after the other. Every run has a report and its own command, and the summary has the
// median of all runs of a scenario together, which no run of four failovers has, and no p99.
func TestRunsOfOneWorld(t *testing.T) {
	withGoAlone(t)
	for name, world := range map[string][]string{
		"virtual": {"--world", "virtual", "--runs", "8"},
		"live":    {"--redis", "embedded", "--lease", "300ms", "--runs", "2"},
	} {
		dir := t.TempDir()
		r := chaos(t, t.Context(), nil, append([]string{"run", "crash-leader", "--seed", "5", "--out", dir}, world...)...)
		want := regexp.MustCompile(`crash-leader, recount: 8 runs, 32 failovers\. They took p50 \d+, longest \d+ ms; the excess was p50`)
		count := "8"
		if name == "live" {
			want, count = regexp.MustCompile(`crash-leader, recount: 2 runs, \d+ failovers?\. They took (p50 )?\d+`), "2" // the median needs six
		}
		words := strings.Join(strings.Fields(r.out), " ")
		if !want.MatchString(words) || strings.Contains(words, "p99") || !strings.Contains(words, "--runs "+count) {
			t.Errorf("%s: status %d\n%s\n%s", name, r.status, r.out, r.errors)
		}
		for file, part := range map[string]string{
			"crash-leader/1/report.md": "--seed 5 ", "crash-leader/2/report.md": "--seed 6 ", "report.md": "crash-leader, recount: " + count + " runs",
			"index.html": `crash-leader/2/report.html`,
		} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || !strings.Contains(string(text), part) || strings.Contains(file, "/") && strings.Contains(string(text), "--runs") {
				t.Errorf("%s: %s has no %q, or the command of all runs: %v", name, file, part, err)
			}
		}
	}
}
