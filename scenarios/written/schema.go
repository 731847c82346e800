package written

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// object is a JSON object.
type object map[string]any

// durations are what time.ParseDuration takes, without a sign.
const durations = `^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`

// Schema returns the JSON Schema of a file that Parse reads: draft 2020-12, indented, with a
// newline at its end. Parse also refuses what it leaves open, such as a target that is not
// there.
func Schema() []byte {
	properties := object{scheduleKey: object{"type": "array", "items": stepSchema(), "description": "what is done to whom, and when"}}
	for _, f := range fields {
		s := typeSchema(reflect.TypeOf(f.at(new(File))).Elem())
		s["description"] = f.such
		properties[f.name] = s
	}
	properties["name"].(object)["pattern"] = nameOf.String()
	properties["lease"].(object)["pattern"] = durations
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(object{ // of text and numbers
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a scenario of Recount",
		"type": "object", "properties": properties, "required": []string{"name", "summary"}, "additionalProperties": false,
	})
	return b.Bytes()
}

// typeSchema is the schema of a field's type.
func typeSchema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[sim.Topology]():
		return object{"enum": []sim.Topology{sim.Sentinel, sim.Cluster, sim.Quorum}}
	case t.Kind() == reflect.Map: // of promises
		return object{"type": "object", "propertyNames": object{"enum": checker.Promises}, "additionalProperties": object{"type": "string", "minLength": 1}}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case t.Kind() == reflect.Int:
		return object{"type": "integer", "minimum": 0}
	default:
		return object{"type": "number", "minimum": 0}
	}
}

func stepSchema() object {
	var names []string
	for _, f := range faults.Catalogue() {
		names = append(names, f.Name())
	}
	duration := object{"type": "string", "pattern": durations}
	properties := object{"at": duration, "for": duration, "fault": object{"enum": names}, "target": object{"type": "string"}, "params": object{"type": "object"}}
	return object{"type": "object", "properties": properties, "required": []string{"at", "fault", "target"}, "additionalProperties": false}
}
