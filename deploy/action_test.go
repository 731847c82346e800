package deploy_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/internal/raced"
)

// action is all that action.yml may have: what GitHub would not know is none of these.
type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description string
		Required    bool
		Default     *string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	ID    string
	If    string
	Uses  string
	With  map[string]string
	Shell string
	Env   map[string]string
	Run   string
}

// readAction reads an action, and finds what is wrong with it.
func readAction(text []byte) (a action, wrong []string) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&a); err != nil {
		return a, []string{err.Error()}
	}
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		wrong = append(wrong, "it is no composite action with a name and a description")
	}
	named := func(pattern string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		return names
	}
	used := named(`\$\{\{ inputs\.([\w-]+) \}\}`)
	for _, name := range used {
		if _, is := a.Inputs[name]; !is {
			wrong = append(wrong, "there is no input "+name)
		}
	}
	for name, in := range a.Inputs {
		if in.Description == "" || in.Required == (in.Default != nil) || !slices.Contains(used, name) {
			wrong = append(wrong, "the input "+name+" is not described, has no default, or is not used")
		}
	}
	var steps []string
	for _, s := range a.Runs.Steps {
		steps = append(steps, s.ID)
		if (s.Uses == "") == (s.Run == "") || (s.Run != "") != (s.Shell == "bash") {
			wrong = append(wrong, fmt.Sprintf("the step %q does not do one thing, in bash", s.ID))
		}
		if strings.Contains(s.Run, "${{") { // what somebody else may have written would be run
			wrong = append(wrong, fmt.Sprintf("the step %q has an expression in its text", s.ID))
		}
	}
	for _, name := range named(`\$\{\{ steps\.([\w-]+)\.`) {
		if !slices.Contains(steps, name) {
			wrong = append(wrong, "there is no step "+name)
		}
	}
	return a, wrong
}

func actionText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("action", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The action is one that GitHub can read: every input is used and every name is there; and
// what is wrong is noticed.
func TestAction(t *testing.T) {
	text := actionText(t)
	if _, wrong := readAction(text); len(wrong) > 0 {
		t.Error(wrong)
	}
	for _, change := range [][2]string{
		{"using:", "uses:"}, {"inputs.seed", "inputs.sed"}, {"steps.run.", "steps.ran."}, {"shell: bash", "shell: sh"}, {"required: true", "required: false"}, {`"$EXEC"`, "${{ inputs.exec }}"},
	} {
		if _, wrong := readAction(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)); len(wrong) == 0 {
			t.Errorf("nothing is wrong with %q", change[1])
		}
	}
}

// The steps of the action that are commands do here what they do there: they build chaos,
// run a candidate, which is a program of somebody else's, and say where the report is. A
// promise that is broken fails the step.
func TestActionRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the action's commands are for bash, on Linux or macOS")
	}
	if testing.Short() {
		t.Skip("it runs candidates in real time, and -short is given")
	}
	if raced.Enabled {
		t.Skip("the chaos that the action builds is not built for the race detector")
	}
	a, _ := readAction(actionText(t))
	place, temp := mustAbsolute(t, "action"), t.TempDir()
	inputs := map[string]string{"exec": "'" + mustAbsolute(t, filepath.Join(temp, "candidate")) + "'", "scenarios": "steady", "seed": "1", "redis": "embedded", "report": filepath.Join(temp, "report")}
	// One that has nothing to do with an election keeps no promise that there be a leader.
	if err := os.WriteFile(filepath.Join(temp, "candidate"), []byte("#!/bin/sh\nexec cat >/dev/null\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	var status string
	for _, step := range a.Runs.Steps {
		if step.Run == "" {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run) // as GitHub starts it
		cmd.Dir = temp
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GITHUB_ACTION_PATH="+place, "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary"))
		for name, value := range step.Env {
			input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
			value, given := inputs[input]
			if of := a.Inputs[input]; !given && of.Default != nil {
				value = *of.Default
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if step.ID == "run" {
			status = fmt.Sprint(cmd.ProcessState.ExitCode())
		}
		if err != nil && step.ID != "run" || step.ID == "run" && status != "1" && status != "2" {
			t.Fatalf("the step %s: %v\n%s", step.ID, err, out)
		}
	}
	outputs, err := os.ReadFile(filepath.Join(temp, "output"))
	if want := fmt.Sprintf("report=%[1]s\njunit=%[1]s/junit.xml\nstatus=%[2]s\n", inputs["report"], status); err != nil || string(outputs) != want {
		t.Errorf("%v: the outputs are %q, want %q", err, outputs, want)
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	junit, err := os.ReadFile(filepath.Join(inputs["report"], "junit.xml"))
	if err != nil || xml.Unmarshal(junit, &suites) != nil || len(suites.Suites) != 1 || len(suites.Suites[0].Cases) == 0 {
		t.Errorf("%v: JUnit's XML is %s", err, junit)
	}
	if summary, err := os.ReadFile(filepath.Join(temp, "summary")); err != nil || !strings.Contains(string(summary), "steady") {
		t.Errorf("%v: the summary is %s", err, summary)
	}
}

func mustAbsolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The image's last stage has nothing but the binary in it.
func TestActionDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("action", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FROM golang:1.26 AS build\n", "RUN CGO_ENABLED=0 go build ", " ./cmd/chaos\n", " AS chaos-redis\n", "redis-server", "\nFROM scratch AS chaos\nCOPY --from=build /chaos /chaos\nUSER 65534:65534\nENTRYPOINT [\"/chaos\"]\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in it", want)
		}
	}
}
