package written_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/written"
	"github.com/recount-io/recount/sim/virtual"
)

// Every scenario of the catalogue that a file can hold is the same plan after it was
// printed and read; only those drawn for each run are refused.
func TestPrintedScenarioIsTheSamePlan(t *testing.T) {
	refused := map[string]bool{}
	for _, s := range scenarios.Every() {
		text, err := written.Marshal(s)
		if err != nil {
			refused[s.Name] = true
			continue
		}
		f, err := written.Parse(s.Name+".yaml", text)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		set := scenarios.Settings{Subject: "recount", Seed: 7, Lease: f.Lease}
		want, err := s.Plan(set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Scenario.Plan(set)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(faults.Target{})); diff != "" {
			t.Errorf("%s (-catalogue +file):\n%s\n%s", s.Name, diff, text)
		}
		if f.Scenario.Alone != s.Alone || f.Scenario.Long != s.Long || f.Scenario.Summary != s.Summary || f.Scenario.Breaks != s.Breaks {
			t.Errorf("%s: read as %+v", s.Name, f.Scenario)
		}
	}
	if diff := cmp.Diff(map[string]bool{"mixed": true, "late-release": true}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// The example is a scenario that the production elector passes in virtual time.
func TestExamplePasses(t *testing.T) {
	path := filepath.Join("testdata", "crash-then-cut.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := written.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	o := scenarios.Runner{World: &virtual.World{}, Logs: func(string) (string, error) { return "", nil }}.
		Run(t.Context(), []scenarios.Scenario{f.Scenario}, scenarios.Settings{Subject: "recount", Seed: 1, Lease: f.Lease})[0]
	if o.Err != nil || o.Verdict() != checker.Pass || len(o.Plan.Schedule) != 2 || o.Plan.Nodes != 3 {
		t.Errorf("%v, %v, plan %+v", o.Verdict(), o.Err, o.Plan)
	}
}

// Each mistake is one line with the file, the line and what to do.
func TestMistakes(t *testing.T) {
	const head = "name: mine\nsummary: s\n"
	step := func(text string) string { return head + "schedule:\n  - {" + text + "}\n" }
	for _, c := range []struct{ text, want string }{
		{"", `my.yaml:1: the file is empty; "chaos list --yaml crash-leader"`},
		{"summary: s\n", "my.yaml:1: name is missing; give letters"},
		{"name: mine\n", "my.yaml:1: summary is missing; give what"},
		{"name: my/own\nsummary: s\n", "my.yaml:1: name has no value that a run can use; give letters"},
		{"- a\n", "my.yaml:1: a scenario is a list; give fields"},
		{"name: a\n\tsummary: b\n", "my.yaml:2: this is not YAML"},
		{head + "---\nname: b\n", "a file holds one scenario; give each"},
		{head + "node: 3\n", `my.yaml:3: there is no field "node"; did you mean name or nodes`},
		{head + "name: again\n", "my.yaml:3: name stands in line 1 already; leave one"},
		{head + "lease: 1\n", "my.yaml:3: lease has no value that a run can use; give a time"},
		{head + "lease: 5 seconds\n", "my.yaml:3: lease has no value that a run can use; give a time"},
		{head + "nodes: three\n", `my.yaml:3: nodes is "three"; give a number`},
		{head + "nodes: 0\n", "my.yaml:3: nodes has no value that a run can use; give a number"},
		{head + "nodes:\n", "my.yaml:3: nodes is empty; give a number"},
		{head + "steadfast: maybe\n", `my.yaml:3: steadfast is "maybe"; give true`},
		{head + "excess: 500ms\n", `my.yaml:3: excess is "500ms"; give a number of leases`},
		{head + "return: -1\n", "my.yaml:3: return has no value that a run can use; give a number of leases"},
		{head + "quiet: .nan\n", "my.yaml:3: quiet has no value that a run can use; give a number of leases"},
		{head + "drift: 0.9\n", "my.yaml:3: drift has no value that a run can use; give a share"},
		{head + "topology: ring\n", "my.yaml:3: topology has no value that a run can use; give sentinel"},
		{head + "waived: {Stabel: x}\n", `my.yaml:3: no promise is called "Stabel"; give one of WellFormed`},
		{head + "waived: {Stable: ''}\n", "my.yaml:3: Stable is waived without a reason; say why"},
		{head + "schedule: crash\n", `my.yaml:3: schedule is "crash"; give a list of steps`},
		{head + "schedule:\n  - crash\n", `my.yaml:4: a step is "crash"; give fields`},
		{step("at: 1s, until: 2s, fault: pause, target: all"), `my.yaml:4: there is no field "until"; give one of at, for`},
		{step("at: 1s, at: 2s, fault: pause, target: all"), "my.yaml:4: at stands in line 4 already; leave one"},
		{step("for: 2s, fault: pause, target: all"), `my.yaml:4: pause: "at" is missing: give a time`},
		{step("at: 1 s, for: 2s, fault: pause, target: all"), `my.yaml:4: pause: "at" is "1 s": give a time`},
		{step("at: -1s, for: 2s, fault: pause, target: all"), `my.yaml:4: pause: "at" is -1s: give a time`},
		{step("at: 1s, fault: pause, target: all"), `my.yaml:4: pause: "for" is missing: give how long`},
		{step("at: 1s, for: 2s, fault: pausse, target: all"), `my.yaml:4: no fault is called "pausse": did you mean pause`},
		{step("at: 1s, for: 2s, fault: pause"), `my.yaml:4: pause: "target" is missing: give "the leader"`},
		{step("at: 1s, for: 2s, fault: pause, target: n9"), `my.yaml:4: there is no "n9"; give one of n1 to n5`},
		{step("at: 1s, for: 2s, fault: pause, target: store"), "my.yaml:4: pause hits candidates"},
		{step("at: 1s, for: 2s, fault: store-pause, target: all"), "my.yaml:4: store-pause hits the store"},
		{step("at: 1s, for: 2s, fault: store-pause, target: store-1"), "my.yaml:4: store-1 is one of several servers; give the store"},
		{step("at: 1s, for: 2s, fault: latency, target: all"), "my.yaml:4: latency: base_ms is missing: give"},
	} {
		_, err := written.Parse("my.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "my.yaml:") {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}
