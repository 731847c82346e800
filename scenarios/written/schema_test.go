package written_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/written"
)

// Every printed scenario and the example fit the schema. What has another form does not,
// and Parse refuses it as well.
func TestSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(written.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text []byte) error {
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return schema.Validate(v)
	}
	example, err := os.ReadFile("testdata/crash-then-cut.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(printed(), example) {
		if err := validate(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	const head = "name: mine\nsummary: s\n"
	step := func(text string) string { return head + "schedule:\n  - {" + text + "}\n" }
	for _, text := range []string{
		"summary: s\n", "name: mine\n", "name: my/own\nsummary: s\n", "- a\n", head + "node: 3\n", head + "lease: 1\n", head + "lease: 5 seconds\n",
		head + "nodes: three\n", head + "nodes:\n", head + "steadfast: maybe\n", head + "excess: 500ms\n", head + "return: -1\n", head + "topology: ring\n",
		head + "waived: {Stabel: x}\n", head + "waived: {Stable: ''}\n", head + "schedule: crash\n", head + "schedule:\n  - crash\n",
		step("at: 1s, until: 2s, fault: pause, target: all"), step("for: 2s, fault: pause, target: all"), step("at: 1 s, for: 2s, fault: pause, target: all"),
		step("at: -1s, for: 2s, fault: pause, target: all"), step("at: 1s, for: 2s, fault: pausse, target: all"), step("at: 1s, for: 2s, fault: pause"),
	} {
		_, refused := written.Parse("my.yaml", []byte(text))
		if fits := validate([]byte(text)) == nil; fits || refused == nil {
			t.Errorf("%q: fits the schema: %v; Parse says %v", text, fits, refused)
		}
	}
}

// printed are all scenarios of the catalogue that a file can hold.
func printed() (all [][]byte) {
	for _, s := range scenarios.Every() {
		if text, err := written.Marshal(s); err == nil {
			all = append(all, text)
		}
	}
	return all
}
