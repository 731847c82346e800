package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios/league"
)

// TestLeague shows a league of two bugs, one hunted by random schedules and one
// by a scenario, and what the elector without a bug survived: as text and as an
// object, which has the fields that others rely on.
func TestLeague(t *testing.T) {
	args := []string{"trial", "--league", "renews-when-half-over", "fence-open", "--seeds", "3", "--schedules", "20"}
	r := chaos(t, t.Context(), nil, args...)
	if r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, part := range []string{"renews-when-half-over", "by random schedules", "by scenario store-clock-leap", "2 of 2 planted bugs found, from 3 seeds each", "no false alarm"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("nothing says %q:\n%s", part, r.out)
		}
	}
	if strings.Contains(r.out, "those scenarios") {
		t.Errorf("scenarios are counted, and the elector without a bug ran none:\n%s", r.out)
	}
	for line := range strings.Lines(r.out) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	r = chaos(t, t.Context(), nil, append(args, "--json")...)
	var object struct {
		Mutants []struct {
			Name         string
			Found        bool
			Promise      checker.Promise
			Schedules    int
			Seconds      float64
			ShrunkFaults *int `json:"shrunk_faults"`
		}
		CleanSchedules int  `json:"clean_schedules"`
		FalseAlarms    *int `json:"false_alarms"`
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	if len(object.Mutants) != 2 || object.CleanSchedules != 20 || object.FalseAlarms == nil || *object.FalseAlarms != 0 {
		t.Fatalf("%+v", object)
	}
	for i, promise := range []checker.Promise{checker.LeaseLinearizable, checker.FencedWrites} {
		if m := object.Mutants[i]; !m.Found || m.Promise != promise || m.Schedules < 1 || m.Seconds <= 0 || m.ShrunkFaults == nil {
			t.Errorf("%+v, want it to be found by %s", m, promise)
		}
	}
}

// TestLeagueWritesTable shows that --update writes the sentence of the clean run,
// and leaves what was not done as it is.
func TestLeagueWritesTable(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	file := filepath.Join(t.TempDir(), "league.md")
	before := "# L\n<!-- clean -->\nold\n<!-- end -->\n<!-- league -->\nkept\n<!-- end -->\nafter\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := chaos(t, t.Context(), nil, "trial", "--league", "--seeds", "0", "--schedules", "10", "--update", file); r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"10 random schedules of the production elector", "<!-- league -->\nkept\n<!-- end -->", "\nafter\n"} {
		if !strings.Contains(string(after), part) {
			t.Errorf("%q is not in\n%s", part, after)
		}
	}
	if strings.Contains(string(after), "old") {
		t.Errorf("the old sentence stands:\n%s", after)
	}
}

// TestLeagueWritesRow shows that a bug that is hunted alone gets its row anew,
// in its place, and that the others keep theirs.
func TestLeagueWritesRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "league.md")
	kept, after := "| `wall-clock` | clock | kept |\n", "| `fence-open` | kept too |\n"
	before := "<!-- clean -->\nold\n<!-- end -->\n<!-- league -->\n" + kept + "| `renews-when-half-over` | script | old |\n" + after + "<!-- end -->\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := chaos(t, t.Context(), nil, "trial", "--league", "renews-when-half-over", "--seeds", "2", "--update", file); r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), kept)
	row, _, both := strings.Cut(rest, after)
	if !ok || !both || !strings.HasPrefix(row, "| `renews-when-half-over` | script | renew ") || !strings.Contains(row, "| LeaseLinearizable | 2 |") || strings.Count(row, "\n") != 1 {
		t.Errorf("the rows are not as they should be:\n%s", text)
	}
	if !strings.Contains(string(text), "<!-- clean -->\nold\n") {
		t.Errorf("what was not done was written:\n%s", text)
	}
}

// TestLeagueVerdict shows that a bug that one seed does not find fails the
// league, and so does a false alarm.
func TestLeagueVerdict(t *testing.T) {
	found := league.Entry{Sightings: []league.Sighting{{Found: true}, {Found: true}}}
	missed := league.Entry{Sightings: []league.Sighting{{Found: true}, {}}}
	for _, test := range []struct {
		table league.Table
		want  checker.Verdict
	}{
		{league.Table{Entries: []league.Entry{found}}, checker.Pass},
		{league.Table{Entries: []league.Entry{found, missed}}, checker.Fail},
		{league.Table{Clean: league.Clean{Alarms: []league.Alarm{{}}}}, checker.Fail},
	} {
		if got := (&leagueRun{table: test.table}).verdict(); got != test.want {
			t.Errorf("%+v: %v, want %v", test.table, got, test.want)
		}
	}
	if line := leagueLine(&missed); !strings.Contains(line, "NOT FOUND") {
		t.Errorf("%q", line)
	}
}

// TestLeagueMisuse shows that flags and names that make no sense are refused
// with what is wrong.
func TestLeagueMisuse(t *testing.T) {
	for want, args := range map[string][]string{
		`no planted bug is called "gone"`: {"gone"},
		"--seeds -1":                      {"--seeds", "-1"},
		"--schedules -1":                  {"--schedules", "-1"},
		"there is nothing to do":          {"--seeds", "0", "--schedules", "0"},
		"--lease means nothing":           {"--lease", "2s"},
		"no such file":                    {"--update", "gone.md"},
		"has no part between":             {"--update", "trial_league_test.go"},
	} {
		r := chaos(t, t.Context(), nil, append([]string{"trial", "--league"}, args...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) {
			t.Errorf("%v: status %d, %q; want %q", args, r.status, r.errors, want)
		}
	}
}

// TestMutantsAreSubjects shows that planted bugs are listed, and run by name.
func TestMutantsAreSubjects(t *testing.T) {
	if r := chaos(t, t.Context(), nil, "list", "--mutants"); r.status != statusKept || !strings.Contains(r.out, "  wall-clock ") {
		t.Errorf("status %d\n%s", r.status, r.out)
	}
	if r := chaos(t, t.Context(), nil, "run", "--world", "virtual", "store-clock-leap", "--subject", "fence-refuses-equal", "--out", t.TempDir()); r.status != statusBroken {
		t.Errorf("status %d\n%s", r.status, r.out)
	}
	r := chaos(t, t.Context(), nil, "fuzz", "--subject", "nobody")
	if r.status != statusUsage || strings.Contains(r.errors, "wall-clock") || !strings.Contains(r.errors, "chaos list --mutants") {
		t.Errorf("status %d, %q", r.status, r.errors)
	}
}
