package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/space"
)

// leaning is a case of a space that this test brings along: it breaks its obligation where
// it has an odd number of steps.
type leaning struct {
	Number uint64
	Steps  []string
}

func (c leaning) Features() []string { return []string{"steps"} }

func (c leaning) Simpler() []leaning {
	if len(c.Steps) < 3 {
		return nil
	}
	return []leaning{{c.Number, c.Steps[:len(c.Steps)-2]}}
}

func (c leaning) Run(context.Context) (o space.Outcome) {
	if len(c.Steps)%2 == 1 {
		o.Findings = append(o.Findings, space.Finding{Obligation: "stands straight", Details: "it leans"})
	}
	o.Log = c.Steps
	recorder := history.NewRecorder(func() time.Duration { return 0 })
	o.History = recorder.History(history.Header{Scenario: "leaning", Subject: "nobody", World: "bubble", Nodes: []string{"n1"}, Lease: time.Second})
	return o
}

var leanings = search.NewSpace("leanings", "what a test needs", func(number uint64) leaning {
	return leaning{number, strings.Fields("one two three four five six seven eight nine ten")[:4+number%6]}
}, func(leaning, *checker.Result) []space.Finding { return nil }, space.Obligations{"stands straight": "nothing leans"})

// A search finds a broken obligation, says what the documents say, and writes a page and a
// file that replay repeats; so does the command that it names.
func TestFuzzInFindsAndReplays(t *testing.T) {
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, "fuzz", "--in", "leanings", "--seed", "2", "--cases", "50", "--out", dir)
	if r.status != statusBroken || !strings.Contains(r.out, "stands straight is broken: it leans\n  the documents say: nothing leans\n") {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	page, err := os.ReadFile(filepath.Join(dir, "fuzz.html"))
	if err != nil || !bytes.Contains(page, []byte("stands straight is broken")) || bytes.Contains(page, []byte("http:")) {
		t.Errorf("%v: %d bytes", err, len(page))
	}
	files, err := filepath.Glob(filepath.Join(dir, "stands-straight-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || !bytes.Contains(text, []byte(`"one"`)) || bytes.Contains(text, []byte(`"two"`)) {
		t.Errorf("it was not shrunk: %v\n%s", err, text)
	}
	for _, name := range []string{".log", "/history.jsonl", "/report.html"} {
		if _, err := os.Stat(strings.TrimSuffix(files[0], ".json") + name); err != nil {
			t.Error(err)
		}
	}
	again := chaos(t, t.Context(), nil, "replay", files[0], "--out", filepath.Join(dir, "again"))
	if again.status != statusBroken || !strings.Contains(again.out, "it fails: stands straight is broken: it leans; the documents say: nothing leans") {
		t.Errorf("status %d\n%s%s", again.status, again.out, again.errors)
	}
	mended := bytes.Replace(text, []byte(`"one"`), []byte(`"one", "two"`), 1)
	if err := os.WriteFile(files[0], mended, 0o600); err != nil {
		t.Fatal(err)
	}
	again = chaos(t, t.Context(), nil, "replay", files[0])
	if again.status != statusKept || !strings.Contains(again.out, "it does not fail any more: stands straight is kept in 3 of 3 runs") {
		t.Errorf("status %d\n%s%s", again.status, again.out, again.errors)
	}
	_, command, _ := strings.Cut(r.out, "as drawn: chaos ")
	command, _, _ = strings.Cut(command, "\n")
	drawn := chaos(t, t.Context(), nil, append(strings.Fields(command), "--json", "--out", filepath.Join(dir, "drawn"))...)
	var object searchObject
	if err := json.Unmarshal([]byte(drawn.out), &object); err != nil || len(object.Failures) != 1 || object.Failures[0].Says != "nothing leans" || object.Cases != 1 {
		t.Errorf("%v: %+v", err, object)
	}
	if r := chaos(t, t.Context(), nil, "replay", files[0], "--world", "live"); r.status != statusUsage {
		t.Errorf("on real Redis: status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// Every space that ships can be searched from the command line, and a search that is
// stopped says so.
func TestFuzzInEverySpace(t *testing.T) {
	withGoAlone(t)
	for _, s := range search.Spaces {
		r := chaos(t, t.Context(), nil, "fuzz", "--in", s.Name, "--seed", "2", "--cases", "1", "--out", t.TempDir())
		if r.status != statusKept || !strings.Contains(r.out, "1 case in ") {
			t.Errorf("%s: status %d\n%s%s", s.Name, r.status, r.out, r.errors)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := chaos(t, ctx, nil, "fuzz", "--in", "jobs", "--seed", "1", "--out", t.TempDir())
	if r.status != statusStopped || !strings.Contains(r.out, "0 cases") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}
