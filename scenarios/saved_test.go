package scenarios_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/virtual"
)

// TestSavedFailures shows that what was broken once is not broken again: every
// failure that "chaos fuzz" found and that somebody has put into testdata. They
// are the first thing to run after a change, in no time:
// go test -run Saved ./scenarios.
func TestSavedFailures(t *testing.T) {
	eachSaved(t, "testdata", func(t *testing.T, path string, c fuzz.Case) {
		_, result, err := c.Try(t.Context(), &virtual.World{})
		if err != nil {
			t.Fatal(err)
		}
		if failed, broken := fuzz.Verdict(result); broken {
			t.Errorf("%s is broken again: %s\nchaos replay scenarios/%s", failed.Promise, failed.Reason, path)
		}
	})
}

// TestSavedInBubble does so with what only a bubble has shown.
func TestSavedInBubble(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one goroutine at a time: see docs/architecture.md#the-worlds
	eachSaved(t, filepath.Join("testdata", "bubble"), func(t *testing.T, _ string, c fuzz.Case) {
		for _, f := range search.Try(t, search.OfPlan(c.Plan())).Findings {
			t.Errorf("%s is broken again: %s", f.Obligation, f.Details)
		}
	})
}

// eachSaved tries all failures of a folder.
func eachSaved(t *testing.T, folder string, try func(t *testing.T, path string, c fuzz.Case)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no saved failure: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := fuzz.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			try(t, path, c)
		})
	}
}

// TestDrawnSchedules shows that the production elector keeps every promise in
// schedules that rapid draws. What breaks one is saved by rapid, and "chaos
// replay" reads that file.
func TestDrawnSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fuzz.Cases(fuzz.Pins{Subject: "recount"}, nil).Draw(t, "case")
		_, result, err := c.Try(t.Context(), &virtual.World{})
		if err != nil {
			t.Fatal(err)
		}
		if failed, broken := fuzz.Verdict(result); broken {
			t.Fatalf("%s is broken: %s", failed.Promise, failed.Reason)
		}
	})
}
