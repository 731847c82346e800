package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile takes the settings of a YAML file: one mapping, whose keys are the
// settings' names with "_" for "-".
func (s *Settings) readFile(path string) error {
	if path == "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the settings cannot be read: %w; give another file with --config or %s", err, FileVariable)
	}
	name := filepath.Base(path)
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil // empty, or comments only
	case err != nil:
		return fmt.Errorf("%s is not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s holds more than one document: leave one, and write nothing after a line with ---", name)
	}
	return s.readMapping(name, document.Content[0])
}

func (s *Settings) readMapping(file string, mapping *yaml.Node) error {
	if mapping.Kind == yaml.ScalarNode && mapping.Tag == "!!null" {
		return nil
	}
	if mapping.Kind != yaml.MappingNode {
		return fmt.Errorf("%s line %d: a setting is expected, written as lease: 15s", file, mapping.Line)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		source := fmt.Sprintf("%s line %d", file, name.Line)
		f := find(func(f *field) bool { return key(f.name) == name.Value })
		if f == nil {
			return unknown(name.Value, source)
		}
		if first := seen[f.name]; first != 0 {
			return &Error{f.name, source, fmt.Sprintf("it stands in line %d already: leave one of them", first)}
		}
		seen[f.name] = name.Line
		values, err := f.valuesOf(value)
		if err != nil {
			return &Error{f.name, source, err.Error()}
		}
		if len(values) == 0 {
			continue // a key without a value is left to the defaults
		}
		if err := s.apply(f, source, values); err != nil {
			return err
		}
	}
	return nil
}

// valuesOf are the texts of a node, as they stand in the file.
func (f *field) valuesOf(value *yaml.Node) ([]string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil, nil
	case value.Kind == yaml.ScalarNode:
		return []string{value.Value}, nil
	case value.Kind == yaml.SequenceNode && f.kind == Texts:
		var list []string
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, errors.New("it is a list of texts, and one of them is none")
			}
			list = append(list, item.Value)
		}
		return list, nil
	default:
		return nil, errors.New("one value is expected, written behind the colon")
	}
}
