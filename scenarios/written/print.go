package written

import (
	"bytes"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
)

// Marshal writes a scenario for the default lease as a file that Parse reads. It is an
// error if the schedule depends on more than the lease and the number of candidates.
func Marshal(s scenarios.Scenario) ([]byte, error) {
	plan, err := s.Plan(scenarios.Settings{})
	if err != nil {
		return nil, err
	}
	for _, set := range []scenarios.Settings{{Seed: 1}, {Foreign: true}} {
		if other, err := s.Plan(set); err != nil || !reflect.DeepEqual(plan.Schedule, other.Schedule) {
			return nil, fmt.Errorf("the schedule of %s is made by Go code for each run, so no file can hold it: run it by its name", s.Name)
		}
	}
	f := File{Scenario: s, lease: scenarios.DefaultLease.String()}
	var b bytes.Buffer
	for _, field := range fields {
		if value := reflect.ValueOf(field.at(&f)).Elem(); !value.IsZero() {
			text, err := yaml.Marshal(map[string]any{field.name: value.Interface()})
			if err != nil {
				return nil, fmt.Errorf("write %s of %s: %w", field.name, s.Name, err)
			}
			b.Write(text)
		}
	}
	if s.Schedule == nil {
		return b.Bytes(), nil
	}
	fmt.Fprintf(&b, "%s:\n", scheduleKey)
	for _, step := range plan.Schedule {
		line, err := lineOf(step)
		if err != nil {
			return nil, fmt.Errorf("write the schedule of %s: %w", s.Name, err)
		}
		fmt.Fprintf(&b, "  - %s", line)
	}
	return b.Bytes(), nil
}

// lineOf is a step in one line, in the words of its JSON.
func lineOf(step faults.Step) ([]byte, error) {
	text, err := step.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	plain(&document)
	return yaml.Marshal(&document)
}

// plain takes the quotes off that JSON needs and YAML does not.
func plain(node *yaml.Node) {
	node.Style &^= yaml.DoubleQuotedStyle
	for _, child := range node.Content {
		plain(child)
	}
}
