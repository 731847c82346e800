package written

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// File is a scenario in a file. Its schedule counts in time, so it holds for one lease only.
type File struct {
	Scenario scenarios.Scenario
	Lease    time.Duration
	lease    string
}

// field is one line of a file: its name, what its value looks like, and where the value goes.
type field struct {
	name, such string
	at         func(*File) any
}

var fields = []field{
	{"name", "letters, digits and dashes, such as crash-twice", func(f *File) any { return &f.Scenario.Name }},
	{"summary", "what happens, in one line", func(f *File) any { return &f.Scenario.Summary }},
	{"breaks", "which mistake of an elector it catches", func(f *File) any { return &f.Scenario.Breaks }},
	{"beyond", "what still holds where no elector can keep every promise", func(f *File) any { return &f.Scenario.Beyond }},
	{"lease", "a time above 0s, such as 1s or 500ms", func(f *File) any { return &f.lease }},
	{"nodes", "a number of candidates from 1 to 1000, such as 5", func(f *File) any { return &f.Scenario.Nodes }},
	{"topology", "sentinel, cluster or quorum", func(f *File) any { return &f.Scenario.Topology }},
	{"replicas", "how many replicas must confirm, such as 1", func(f *File) any { return &f.Scenario.Replicas }},
	{"drift", "a share from 0 to 0.5, such as 0.01", func(f *File) any { return &f.Scenario.Drift }},
	{"steadfast", "true if the leader must not change, else false", func(f *File) any { return &f.Scenario.Steadfast }},
	{"needs_leader", "true or false", func(f *File) any { return &f.Scenario.NeedsLeader }},
	{"excess", "a number of leases, such as 0.5", func(f *File) any { return &f.Scenario.Excess }},
	{"return", "a number of leases, such as 1.5", func(f *File) any { return &f.Scenario.Return }},
	{"quiet", "a number of leases, such as 3", func(f *File) any { return &f.Scenario.Quiet }},
	{"alone", "true or false", func(f *File) any { return &f.Scenario.Alone }},
	{"long", "true or false", func(f *File) any { return &f.Scenario.Long }},
	{"waived", "promises with the reason for each, such as {Stable: why}", func(f *File) any { return &f.Scenario.Waived }},
}

const scheduleKey = "schedule"

var stepKeys = []string{"at", "for", "fault", "target", "params"}

// reader reads one file and knows where each value stands.
type reader struct {
	path string
	file File
	at   map[string]int
}

func (r *reader) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.path, line, fmt.Sprintf(format, args...))
}

// Parse reads a scenario from a file with that name. An error is one line with the place
// and what to do.
func Parse(path string, data []byte) (File, error) {
	r := &reader{path: path, file: File{Lease: scenarios.DefaultLease}, at: map[string]int{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return File{}, r.wrong(1, "the file is empty; \"chaos list --yaml crash-leader\" prints one to start from")
	case err != nil:
		return File{}, r.syntax(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, r.wrong(document.Line, "a file holds one scenario; give each a file of its own, without ---")
	}
	keys := []string{scheduleKey}
	for _, f := range fields {
		keys = append(keys, f.name)
	}
	values, err := r.mapping(document.Content[0], "a scenario", keys)
	if err != nil {
		return File{}, err
	}
	for _, f := range fields {
		value, ok := values[f.name]
		if !ok {
			continue
		}
		if value.Tag == "!!null" || value.Decode(f.at(&r.file)) != nil {
			return File{}, r.wrong(value.Line, "%s is %s; give %s", f.name, shown(value), f.such)
		}
	}
	if err := r.check(); err != nil {
		return File{}, err
	}
	return r.file, r.schedule(values[scheduleKey])
}

var syntaxLine = regexp.MustCompile(`line (\d+): `)

// syntax puts an error of the YAML decoder behind the place that it names.
func (r *reader) syntax(err error) error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if at := syntaxLine.FindStringSubmatch(text); at != nil {
		_, _ = fmt.Sscan(at[1], &line)
		text = syntaxLine.ReplaceAllString(text, "")
	}
	return r.wrong(line, "this is not YAML: %s; indent with spaces, not tabs, and write each field as name: value", strings.ReplaceAll(text, "\n", " "))
}

// mapping returns the values of a mapping by their keys, and refuses others than keys.
func (r *reader) mapping(node *yaml.Node, what string, keys []string) (map[string]*yaml.Node, error) {
	if node.Kind != yaml.MappingNode {
		return nil, r.wrong(max(node.Line, 1), "%s is %s; give fields such as %s: value", what, shown(node), keys[len(keys)-1])
	}
	values, lines := map[string]*yaml.Node{}, map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		known := false
		for _, k := range keys {
			known = known || k == key.Value
		}
		switch {
		case !known:
			return nil, r.wrong(key.Line, "there is no field %q; %s", key.Value, spelling.Suggest(key.Value, keys))
		case lines[key.Value] != 0:
			return nil, r.wrong(key.Line, "%s stands in line %d already; leave one of them", key.Value, lines[key.Value])
		case node.Content[i+1].Kind == yaml.AliasNode:
			return nil, r.wrong(key.Line, "%s is an alias; write the value itself", key.Value)
		}
		lines[key.Value], values[key.Value] = key.Line, node.Content[i+1]
		if what == "a scenario" {
			r.at[key.Value] = key.Line
		}
	}
	return values, nil
}

func shown(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Tag == "!!null":
		return "empty"
	default:
		return fmt.Sprintf("%q", node.Value)
	}
}

var nameOf = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)

// check refuses values that make no sense.
func (r *reader) check() error {
	s := &r.file.Scenario
	if r.file.lease != "" || r.at["lease"] != 0 {
		r.file.Lease, _ = time.ParseDuration(r.file.lease)
	}
	bad := map[string]bool{
		"lease":    r.file.Lease <= 0,
		"nodes":    r.at["nodes"] != 0 && (s.Nodes < 1 || s.Nodes > 1000),
		"replicas": s.Replicas < 0,
		"drift":    !(s.Drift >= 0 && s.Drift < 0.5),
		"topology": r.at["topology"] != 0 && s.Topology != sim.Sentinel && s.Topology != sim.Cluster && s.Topology != sim.Quorum,
		"name":     r.at["name"] != 0 && !nameOf.MatchString(s.Name),
	}
	for name, n := range map[string]scenarios.Leases{"excess": s.Excess, "return": s.Return, "quiet": s.Quiet} {
		bad[name] = r.at[name] != 0 && !(n > 0 && n < 1e6)
	}
	for _, f := range fields {
		if bad[f.name] {
			return r.wrong(r.at[f.name], "%s has no value that a run can use; give %s", f.name, f.such)
		}
		if (f.name == "name" || f.name == "summary") && r.at[f.name] == 0 {
			return r.wrong(1, "%s is missing; give %s", f.name, f.such)
		}
	}
	var promises []string
	for _, p := range checker.Promises {
		promises = append(promises, string(p))
	}
	for p, why := range s.Waived {
		switch near := spelling.Suggest(string(p), promises); {
		case !strings.Contains(" "+strings.Join(promises, " ")+" ", " "+string(p)+" "):
			return r.wrong(r.at["waived"], "no promise is called %q; %s", p, near)
		case why == "":
			return r.wrong(r.at["waived"], "%s is waived without a reason; say why it does not apply", p)
		}
	}
	return nil
}

// schedule reads the steps.
func (r *reader) schedule(list *yaml.Node) error {
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return r.wrong(list.Line, "schedule is %s; give a list of steps, such as - {at: 1s, for: 2s, fault: pause, target: the leader}", shown(list))
	}
	var all faults.Schedule
	for _, node := range list.Content {
		values, err := r.mapping(node, "a step", stepKeys)
		if err != nil {
			return err
		}
		object := map[string]any{}
		for key, value := range values {
			var v any
			if err := value.Decode(&v); err != nil {
				return r.syntax(err)
			}
			object[key] = v
		}
		text, err := json.Marshal(object)
		if err != nil {
			return r.wrong(node.Line, "params have a key or a value that is no text or number; write them as {base_ms: 40}")
		}
		var step faults.Step
		if err := step.UnmarshalJSON(text); err != nil {
			return r.wrong(node.Line, "%s", strings.TrimPrefix(err.Error(), "faults: "))
		}
		if err := r.meets(node.Line, step); err != nil {
			return err
		}
		all = append(all, step)
	}
	r.file.Scenario.Schedule = func(scenarios.Shape) faults.Schedule { return all }
	return nil
}

// meets refuses a step whose target is not there, or is not one for its fault.
func (r *reader) meets(line int, step faults.Step) error {
	effect, target := step.Fault.Effect(), step.Target.String()
	ofStore := step.Target == faults.Store || faults.IsStoreNode(target)
	switch {
	case effect.Store && !effect.Divides && !ofStore:
		return r.wrong(line, "%s hits the store, and target is %q; give the store", step.Fault.Name(), target)
	case !effect.Store && ofStore:
		return r.wrong(line, "%s hits candidates, and target is %q; give the leader, a follower or a candidate's name", step.Fault.Name(), target)
	case step.Target.NeedsLeader() || step.Target == faults.All || step.Target == faults.Store:
		return nil
	}
	count := r.file.Scenario.Nodes
	if count == 0 {
		count = scenarios.DefaultNodes
	}
	names := sim.Plan{Nodes: count}.NodeNames()
	if ofStore {
		names = nil
		for i := range r.file.Scenario.Topology.Independent() {
			names = append(names, faults.StoreNode(i+1).String())
		}
		if len(names) == 1 {
			return r.wrong(line, "%s is one of several servers; give the store, or topology: quorum", target)
		}
	}
	for _, name := range names {
		if name == target {
			return nil
		}
	}
	return r.wrong(line, "there is no %q; give one of %s to %s", target, names[0], names[len(names)-1])
}
