package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/documented"
)

// judgedRun runs one scenario with a subject and returns its report.
func judgedRun(t *testing.T, args ...string) reports.Report {
	t.Helper()
	r := chaos(t, t.Context(), nil, append([]string{"run", "--json"}, append(args, small(t.TempDir())...)...)...)
	var printed struct{ Runs []reports.Report }
	if err := json.Unmarshal([]byte(r.out), &printed); err != nil || len(printed.Runs) != 1 {
		t.Fatalf("chaos run %v: %v, status %d\n%s%s", args, err, r.status, r.out, r.errors)
	}
	return printed.Runs[0]
}

// broken are the promises that a report asks for and finds broken.
func broken(r *reports.Report) []checker.Promise {
	var list []checker.Promise
	for _, p := range r.Promises {
		if p.Verdict == checker.Fail {
			list = append(list, p.Promise)
		}
	}
	return list
}

// In both worlds the same promises of the documented electors break, and an elector without
// tokens is not asked for what it does not promise. Titan's pause may hit it between GET and
// EXPIRE: then it renews the lease of another. Titan, Sovereign and Arco believe until they are told
// otherwise: where an answer is late, their beliefs outlast the lease. How long a failover
// takes is not judged in the live world, beside other tests.
func TestDocumentedElectorsInBothWorlds(t *testing.T) {
	for _, c := range []struct {
		subject, scenario string
		broken            []checker.Promise
		seldom            []checker.Promise // broken besides, at times
	}{
		{"titan", "pause-leader", []checker.Promise{checker.AtMostOneLeader}, []checker.Promise{checker.LeaseLinearizable, checker.BeliefWithinLease}},
		{"sovereign", "pause-leader", []checker.Promise{checker.LeaseLinearizable, checker.AtMostOneLeader}, []checker.Promise{checker.BeliefWithinLease}},
		{"honua", "steady", nil, nil},
		{"arco-postgres", "pause-leader", []checker.Promise{checker.AtMostOneLeader}, []checker.Promise{checker.BeliefWithinLease, checker.Stable}},
	} {
		for _, world := range []string{liveWorld, virtualWorld} {
			t.Run(c.subject+"/"+world, func(t *testing.T) {
				t.Parallel()
				if why := subjectOf(c.subject).absent("")[world]; why != "" {
					t.Skip(why)
				}
				r := judgedRun(t, c.scenario, "--world", world, "--subject", c.subject)
				got := slices.DeleteFunc(broken(&r), func(p checker.Promise) bool {
					return slices.Contains(c.seldom, p) || p == checker.FailoverBound && world == liveWorld
				})
				if !slices.Equal(got, c.broken) {
					t.Errorf("it breaks %v, want %v: %+v", got, c.broken, r.Promises)
				}
				tokens := subjectOf(c.subject).waived == nil
				asked := slices.ContainsFunc(r.Promises, func(p reports.Promise) bool { return p.Promise == checker.TokensIncrease })
				if asked != tokens {
					t.Errorf("TokensIncrease is asked for: %v", asked)
				}
			})
		}
	}
}

// What happens to Redis does not happen to those who keep their leases
// elsewhere: such a scenario is left out, and refused when it is asked for.
func TestScenariosOfASubject(t *testing.T) {
	for _, s := range scenarios.Every() {
		for _, e := range documented.Electors() {
			applies, why := subjectOf(e.Name).applies(s)
			elsewhere := e.Store != documented.Redis && s.NeedsPrivateStore()
			counter := slices.Contains(s.Faults(), "counter-deleted") || transfers(s) || s.NeedsPasswordFile()
			if applies == (elsewhere || counter || s.Topology != "") || applies != (why == "") {
				t.Errorf("%s, %s: %v, %q", e.Name, s.Name, applies, why)
			}
		}
		if applies, _ := subjectOf("recount").applies(s); !applies {
			t.Errorf("%s does not apply to the production elector", s.Name)
		}
	}
	r := chaos(t, t.Context(), nil, append([]string{"run", "store-pause", "--world", virtualWorld, "--subject", "arco-postgres"}, small(t.TempDir())...)...)
	if r.status != 64 || !strings.Contains(r.errors, "in PostgreSQL") {
		t.Errorf("status %d: %s", r.status, r.errors)
	}
	r = chaos(t, t.Context(), nil, "list")
	for _, e := range documented.Electors() {
		if !strings.Contains(r.out, "\n  "+e.Name+" ") {
			t.Errorf("chaos list does not name %s", e.Name)
		}
	}
}
