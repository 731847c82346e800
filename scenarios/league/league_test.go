package league_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/league"
)

const document = "../../docs/league.md"

// seed is where the hunts of the tests begin, as do those of the table.
const seed = 1

// The budget of a mutant that the document lists as found: so many times the
// median that is recorded there, and never less than the floor. A mutant that is
// as easy to find as ever misses that once in 65,536 times, whatever the seed.
const (
	budgetFactor = 16
	budgetFloor  = 2000
)

func readDocument(t *testing.T) (text string, found []league.Record) {
	t.Helper()
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	found, err = league.Records(string(content))
	if err != nil {
		t.Fatal(err)
	}
	return string(content), found
}

// lucky are the seeds with which the long hunts begin: the numbers of the cases that
// show the mutant, after hundreds or thousands from the first seed that do not. Once
// cases are drawn otherwise they are seeds like all others, and the budget still
// holds.
var lucky = map[string]uint64{
	"guard-not-renewed":          108_326_453_044_380,
	"repetition-does-not-extend": 7_422_939_455_044_856,
	"drain-hears-no-loss":        4_964_972_019_435_626,
	"renews-by-id":               3_552_788_049_567_999,
	"text-quarantine-once":       1_316_449_682_035_269,
	"text-history-misread":       6_991_504_785_969_126,
	"early-end-trusted":          1_316_449_682_035_269,
	"quarantine-skipped":         1_316_449_682_035_269,
	"text-renews-any":            6_965_140_594_617_951,
	"renews-anyones":             6_965_140_594_617_951,
	"releases-first":             505_162_109_542_929,
	"count-not-seeded":           4_021_073_547_033_169,
	"renewal-creates":            4_021_073_547_033_169,
	"release-unannounced":        1_327_425_157_755_295,
	"counts-from-last-try":       3_594_031_449_220_541,
	"answers-shift":              3_594_031_449_220_541,
	"number-before-lock":         7_216_289_293_079_140,
	"loss-after-error":           7_216_289_293_079_140,
	"counter-ends":               8_450_902_517_856_320,
	"timer-drifts":               2_691_613_793_576_687,
	"refusal-is-transient":       85_769_311_641_823,
}

// Every mutant that the document lists as found is found again, on a promise
// that it is about, and not much later than the document says.
func TestFoundAgain(t *testing.T) {
	patient(t)
	_, found := readDocument(t)
	all := league.Mutants()
	for _, record := range found {
		t.Run(record.Name, func(t *testing.T) {
			t.Parallel() // a hunt draws one schedule after the other: it does not fill two cores
			i := slices.IndexFunc(all, func(m league.Mutant) bool { return m.Name == record.Name })
			if i < 0 {
				t.Fatal("there is no such mutant")
			}
			budget := max(budgetFactor*record.Schedules, budgetFloor)
			s, err := all[i].Find(t.Context(), league.Hunt{Seed: max(seed, lucky[record.Name]), Limit: budget})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("seed %d: %d schedules of %d, %.2f s: %v", s.Seed, s.Schedules, budget, s.Seconds, s.Failed)
			if !s.Found {
				t.Errorf("not found in %d schedules; dismissed: %v, %v", s.Schedules, s.Elsewhere, s.Disputes)
			}
		})
	}
}

// A mutant that the document lists as not found is not found: else it belongs
// into the table.
func TestNotFoundYet(t *testing.T) {
	patient(t)
	for _, m := range league.Mutants() {
		if m.Unseen == "" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			limit := budgetFloor
			if m.Scenario != "" {
				limit = 20
			}
			s, err := m.Find(t.Context(), league.Hunt{Seed: seed, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if s.Found {
				t.Errorf("it is found by %s now, after %d schedules: %s", s.Failed.Promise, s.Schedules, s.Failed.Reason)
			}
		})
	}
}

// The tables of the document list every mutant as it is, in order.
func TestDocument(t *testing.T) {
	text, found := readDocument(t)
	var names []string
	for _, m := range league.Mutants() {
		if m.Unseen != "" {
			if line := "\n- `" + m.Name + "`: " + m.What + ". Not found because " + m.Unseen + ".\n"; !strings.Contains(text, line) {
				t.Errorf("%s has no line %q", document, line)
			}
			continue
		}
		names = append(names, m.Name)
		row := "| `" + m.Name + "` | " + string(m.Where) + " | " + m.What + " | " + m.By() + " |"
		if !strings.Contains(text, "\n"+row) {
			t.Errorf("%s has no row %q: run go run ./cmd/chaos trial --league --update %s", document, row, strings.TrimPrefix(document, "../../"))
		}
		if len(m.Breaks) == 0 || strings.Contains(m.What, "|") {
			t.Errorf("%s: nothing says what it breaks, or what it is cannot stand in a table", m.Name)
		}
	}
	var gotFound []string
	for _, r := range found {
		gotFound = append(gotFound, r.Name)
	}
	if !slices.Equal(gotFound, names) {
		t.Errorf("%s lists\n%v, but there are\n%v", document, gotFound, names)
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(gotFound) {
		t.Error("two mutants have one name")
	}
}

// The production elector raises no alarm: neither in random schedules nor in the
// scenarios by which mutants are hunted.
func TestNoFalseAlarm(t *testing.T) {
	patient(t)
	var c league.Clean
	if err := c.AtRandom(t.Context(), seed, 5000, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.ByScenario(t.Context(), seed, 10); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Alarms {
		t.Errorf("%s, seed %d: %s: %s", f.By, f.Seed, f.Promise, f.Reason)
	}
	if c.Schedules != 5000 || c.Runs < 50 {
		t.Errorf("%d schedules and %d runs of scenarios, want 5000 and 50 or more", c.Schedules, c.Runs)
	}
}

// A mutant that breaks other promises than it is about does not count as found.
func TestOtherPromisesDoNotCount(t *testing.T) {
	i := slices.IndexFunc(league.Mutants(), func(m league.Mutant) bool { return m.Name == "acquires-anyones" })
	m := league.Mutants()[i]
	m.Breaks = []checker.Promise{checker.NoPanic}
	for _, scenario := range []string{"", scenarios.All()[0].Name} {
		m.Scenario = scenario
		s, err := m.Find(t.Context(), league.Hunt{Seed: seed, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if s.Found || len(s.Elsewhere) == 0 {
			t.Errorf("scenario %q: found %v, dismissed %v", scenario, s.Found, s.Elsewhere)
		}
	}
}

// patient skips a test of many thousand schedules where that would take long:
// the fuzzer's goroutines are raced by its own tests.
func patient(t *testing.T) {
	t.Helper()
	if testing.Short() || raced.Enabled {
		t.Skip("it takes a minute, and many times that with the race detector")
	}
}
