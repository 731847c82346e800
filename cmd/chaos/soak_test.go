package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSoak shows that a short soak runs, judges and reports, and names its seed.
func TestSoak(t *testing.T) {
	withoutRace(t) // its candidates are programs, and scenarios/soak has the race detector
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server on PATH")
	}
	r := chaos(t, t.Context(), nil, "soak", "--for", "5s", "--elections", "10", "--groups", "1", "--seed", "7", "--out", t.TempDir())
	if r.status != statusKept || !strings.Contains(r.out, "soak: seed 7, 10 elections in 1 groups") || !strings.Contains(r.out, "no promise was broken") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestSoakBadInput shows that what makes no sense is said in one line.
func TestSoakBadInput(t *testing.T) {
	for args, want := range map[string]string{
		"--for -1s":                "above 0",
		"--lease 1ms":              "at least 100ms",
		"--elections 1 --groups 2": "an election for each",
		"--leak memory":            "goroutine or descriptor",
	} {
		r := chaos(t, t.Context(), nil, append([]string{"soak"}, strings.Fields(args)...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
}
