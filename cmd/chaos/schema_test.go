package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestSchema shows that the reports of runs fit the schema that the program prints:
// of a run that keeps its promises, of runs that break some, and of a live one.
func TestSchema(t *testing.T) {
	printed := chaos(t, t.Context(), nil, "schema", "report")
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(printed.out), &s); err != nil || printed.status != statusKept {
		t.Fatalf("status %d, %v\n%s%s", printed.status, err, printed.out, printed.errors)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"kept":   {"steady", "crash-leader", "--world", "virtual", "--seed", "7"},
		"broken": {"pause-leader", "--world", "virtual", "--seed", "7", "--subject", "sovereign"},
		"live":   {"steady", "--redis", "embedded", "--lease", "300ms", "--duration", "1s"},
	} {
		args = append([]string{"run", "--out", filepath.Join(dir, name)}, args...)
		r := chaos(t, t.Context(), nil, args...)
		files, _ := filepath.Glob(filepath.Join(dir, name, "*", "report.json"))
		if len(files) == 0 || (name == "broken") != (r.status == statusBroken) {
			t.Errorf("%s: status %d, %d reports\n%s%s", name, r.status, len(files), r.out, r.errors)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var report any
			if err := json.Unmarshal(text, &report); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(report); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestSchemaBadInput shows that a name that has no schema gets one line with those that
// have one.
func TestSchemaBadInput(t *testing.T) {
	for _, args := range [][]string{{"schema"}, {"schema", "history"}, {"schema", "report", "report"}} {
		r := chaos(t, t.Context(), nil, args...)
		if r.status != statusUsage || r.out != "" || !strings.Contains(r.errors, "report") || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%v: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
}
