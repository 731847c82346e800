package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunBubble shows that scenarios run on the code that ships in fake time, with reports
// and logs, and that the run is repeated by the command that it names.
func TestRunBubble(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, "run", "mixed", "store-failover", "crash-leader", "--world", "bubble", "--seed", "3", "--out", dir)
	if r.status != statusKept || !strings.Contains(r.out, "World: bubble") || !strings.Contains(r.out, "Repeat: chaos run mixed store-failover crash-leader --world bubble") {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if logs, err := filepath.Glob(filepath.Join(dir, "mixed", "logs", "*.log")); err != nil || len(logs) == 0 {
		t.Errorf("logs: %v, %v", logs, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "mixed", "report.json"))
	var report struct{ World, Verdict string }
	if err != nil || json.Unmarshal(text, &report) != nil || report.World != "bubble" || report.Verdict != "pass" {
		t.Errorf("%v: %+v", err, report)
	}
}

// TestRunBubbleRefuses shows that what a bubble cannot do is said in one line, before
// anything is run.
func TestRunBubbleRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"mixed --exec true":            "--exec means nothing with --world bubble",
		"mixed --redis process":        "--redis means nothing with --world bubble",
		"mixed --subject titan":        "titan cannot run in the bubble: give one of recount, recount-unprotected",
		"credentials-rotate":           "ask nobody for a password",
		"mixed --rolling --runs 2":     "--rolling means nothing with --world bubble",
		"mixed --subject nobody-known": "no subject is called",
	} {
		r := chaos(t, t.Context(), nil, append(append([]string{"run"}, strings.Fields(args)...), "--world", "bubble", "--out", filepath.Join(t.TempDir(), "out"))...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
}

// TestFailoverBubble shows that failovers of the code that ships are measured in fake time:
// enough of them for a quantile, within seconds.
func TestFailoverBubble(t *testing.T) {
	withGoAlone(t)
	r := chaos(t, t.Context(), nil, "failover", "--world", "bubble", "--count", "20", "--seed", "3", "--out", t.TempDir())
	if r.status != statusKept || !strings.Contains(r.out, "World: bubble") || !strings.Contains(r.out, "PASS  ") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for args, want := range map[string]string{
		"--prefix x:":     "--prefix means nothing with --world bubble",
		"--exec true":     "--exec means nothing with --world bubble",
		"--subject titan": "titan cannot run in the bubble",
	} {
		r := chaos(t, t.Context(), nil, append([]string{"failover", "--world", "bubble", "--out", filepath.Join(t.TempDir(), "out")}, strings.Fields(args)...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) {
			t.Errorf("%s: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
}
