package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/fuzz"
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

// TestReplaySaysWhatItIsFor shows that of several broken promises a replay names
// the one that the case is kept for, and the first where that one is kept.
func TestReplaySaysWhatItIsFor(t *testing.T) {
	r := &checker.Result{Asked: []checker.Finding{
		{Promise: checker.LeaseLinearizable, Verdict: checker.Fail, Reason: "a"},
		{Promise: checker.AtMostOneLeader, Verdict: checker.Fail, Reason: "b"},
		{Promise: checker.Stable, Verdict: checker.Pass},
	}}
	for was, want := range map[checker.Promise]checker.Promise{
		checker.AtMostOneLeader: checker.AtMostOneLeader, checker.Stable: checker.LeaseLinearizable, "": checker.LeaseLinearizable,
	} {
		c := fuzz.Case{Failed: fuzz.Failed{Promise: was}}
		if got := conclude("file", &c, r); got.Promise != want || got.Verdict != checker.Fail {
			t.Errorf("kept for %q: %+v, want %s", was, got, want)
		}
	}
}

// TestReplayUndecided shows that a run whose faults took no effect decides nothing.
func TestReplayUndecided(t *testing.T) {
	r := &checker.Result{Asked: []checker.Finding{
		{Promise: checker.WellFormed, Verdict: checker.Unknown, Reason: "a"}, {Promise: checker.AtMostOneLeader, Verdict: checker.Pass},
		{Promise: checker.FailoverBound, Verdict: checker.Unknown},
	}}
	for _, was := range []checker.Promise{"", checker.AtMostOneLeader} {
		if got := conclude("file", &fuzz.Case{Failed: fuzz.Failed{Promise: was}}, r); got.Verdict != checker.Unknown || got.Promise != checker.WellFormed {
			t.Errorf("kept for %q: %+v", was, got)
		}
	}
}

// TestReplayLiveRefuses shows that a case that only the virtual world can carry out
// is refused elsewhere, and what to do about it.
func TestReplayLiveRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "case.json")
	text := `{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":2,"lease":"15s","renew":"5s","retry":"1s","drift":0.01,
		"hands_over":true,"broke":"AtMostOneLeader","schedule":[],"quiet":"20s"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, "replay", path, "--world", "live")
	if r.status != 64 || !strings.Contains(r.errors, path) || !strings.Contains(r.errors, "leave them out") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if r := chaos(t, t.Context(), nil, "replay", path); r.status != statusKept {
		t.Errorf("in virtual time: status %d\n%s%s", r.status, r.out, r.errors)
	}
}
