package reports

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/recount-io/recount/checker"
)

// inferred is the schema that the Go types imply.
func inferred(t *testing.T) *jsonschema.Schema {
	t.Helper()
	of := func(s *jsonschema.Schema, err error) *jsonschema.Schema {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := of(jsonschema.For[Report](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[checker.Verdict](): {Type: "string", Enum: []any{checker.Pass.String(), checker.Fail.String(), checker.Unknown.String()}},
		reflect.TypeFor[Quantiles]():       of(jsonschema.For[quantilesObject](nil)), // see its MarshalJSON
	}}))
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "report.json of Recount"
	s.Description = "One run, judged. What ends in _ms is in milliseconds, rounded to a microsecond. docs/reading-a-report.md says what each field means."
	s.Properties["recount_report"].Const = jsonschema.Ptr[any](Version)
	return s
}

// The schema is what the Go types imply, so that it cannot go stale.
func TestSchemaIsOfReport(t *testing.T) {
	want, err := indented("report.schema.json", inferred(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("report.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got := Schema(); string(got) != string(want) {
		t.Error("report.schema.json is not the schema of Report; write it anew with: go test ./reports -update")
	}
}

// Reports of every kind fit the schema, and what is no report does not.
func TestReportsFitSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	fits := func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	for _, name := range []string{"good", "bad", "unknown", "quiet", "leak", "probed"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(string(text)); err != nil {
			t.Errorf("%s.json: %v", name, err)
		}
		for from, to := range map[string]string{
			`"recount_report": 1`: `"recount_report": 2`, `"verdict": "`: `"verdict": "x`, `"seed": `: `"sead": `, `"lease_ms": `: `"lease_ms": "", "l": `, `"count": `: `"counts": `,
		} {
			if changed := strings.Replace(string(text), from, to, 1); changed == string(text) || fits(changed) == nil {
				t.Errorf("%s.json with %s in place of %s fits", name, to, from)
			}
		}
	}
}
