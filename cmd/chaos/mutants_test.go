package main

import (
	"strings"
	"testing"
)

// TestMutants shows that mutants are listed by kind and shown as a change, in 80 columns,
// and that every wrong use gets one line that says what to do.
func TestMutants(t *testing.T) {
	r := chaos(t, t.Context(), nil, "mutants", "list", "fence", "--source", "../..")
	if r.status != statusKept || !strings.Contains(r.out, "fence-open") || strings.Contains(r.out, "tokens-as-text") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for line := range strings.Lines(r.out) {
		if len(line) > 81 {
			t.Errorf("too wide: %q", line)
		}
	}
	r = chaos(t, t.Context(), nil, "mutants", "show", "tokens-as-text", "--source", "../..")
	if r.status != statusKept || !strings.Contains(r.out, "elector/redisstore/scripts/counting.lua\n-   if #a ~= #b") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, test := range []struct{ args, want string }{
		{"list --source " + t.TempDir(), "no clone of Recount is here"},
		{"show fence-opn --source ../..", "did you mean fence-open?"},
		{"hunt --budget 1ms --source ../..", "give a second or more"},
		{"hunt --out x --source ../..", "give --shard"},
		{"hunt --sound fence-open --source ../..", "leave out names"},
		{"hunt fence-open --update no-such-page.md --source ../..", "no-such-page.md"},
	} {
		r := chaos(t, t.Context(), nil, append([]string{"mutants"}, strings.Fields(test.args)...)...)
		if r.status != statusUsage || strings.Count(r.errors, "\n") != 1 || !strings.Contains(r.errors, test.want) {
			t.Errorf("%s: status %d\n%s%s", test.args, r.status, r.out, r.errors)
		}
	}
}
