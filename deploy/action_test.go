package deploy_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"maps"
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

	"github.com/recount-io/recount/internal/race"
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
	w := realWorkflow(t)
	w.inputs["scenarios"] = "steady"
	// One that has nothing to do with an election keeps no promise that there be a leader.
	w.write("candidate", "#!/bin/sh\nexec cat >/dev/null\n")
	w.step("build", 0)
	status := w.step("run", 1, 2)
	if want := fmt.Sprintf("report=%[1]s\njunit=%[1]s/junit.xml\nstatus=%[2]d\n", w.inputs["report"], status); w.read("output") != want {
		t.Errorf("the outputs are %q, want %q", w.read("output"), want)
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if junit := w.read("report/junit.xml"); xml.Unmarshal([]byte(junit), &suites) != nil || len(suites.Suites) != 1 || len(suites.Suites[0].Cases) == 0 {
		t.Errorf("JUnit's XML is %s", junit)
	}
	if summary := w.read("summary"); !strings.Contains(summary, "steady") {
		t.Errorf("the summary is %s", summary)
	}
}

// The action measures the failovers of a candidate that keeps every promise, and adds them to
// the summary. A condition that holds beside a baseline fails the step.
func TestActionMeasuresFailovers(t *testing.T) {
	w := realWorkflow(t)
	plain := exec.Command("go", "build", "-o", filepath.Join(w.temp, "candidate"), "./plain")
	plain.Dir, plain.Env = mustAbsolute(t, filepath.Join("..", "examples", "candidates", "go")), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := plain.CombinedOutput(); err != nil {
		t.Fatalf("the candidate: %v\n%s", err, out)
	}
	w.step("build", 0)
	maps.Copy(w.inputs, map[string]string{"scenarios": "steady", "failover": "resign", "failovers": "10"})
	w.step("run", 0, 2) // 2: the machine was busy
	if outputs, want := w.read("output"), "comment="+filepath.Join(w.inputs["report"], "failover", "failovers.md")+"\n"; !strings.Contains(outputs, want) || !strings.Contains(outputs, "failover-status=") {
		t.Errorf("the outputs are %q, want %q in them, and a status", outputs, want)
	}
	if summary, comment := w.read("summary"), w.read("report/failover/failovers.md"); !strings.HasSuffix(summary, comment) || !strings.Contains(comment, "| resign |") {
		t.Errorf("the summary is %s\nwant the failovers at its end, which are %s", summary, comment)
	}

	before := filepath.Join(w.temp, "before")
	if err := os.Rename(filepath.Join(w.inputs["report"], "failover"), before); err != nil {
		t.Fatal(err)
	}
	maps.Copy(w.inputs, map[string]string{"baseline": before, "fail-if": "resign.total.p50 > 100x\nresign.total.p50 > 0.001x\n"})
	w.forget("output")
	w.step("run", 1, 2) // 2: that of the scenario
	if outputs := w.read("output"); !strings.Contains(outputs, "failover-status=1\n") {
		t.Errorf("the outputs are %q, want a condition that holds; the failovers are %s", outputs, w.read("report/failover/failovers.md"))
	}
}

// The step passes every input on to chaos as it was given, adds the failovers to the summary,
// and fails if either command does.
func TestActionPassesInputsOn(t *testing.T) {
	const run, measured = "<run><crash-leader><lo?k><--exec><./my elector><--lease><2s><--lock-key><lo?k*><--seed><7><--out><REPORT>\n",
		"<failover><--exec><./my elector><--lease><2s><--lock-key><lo?k*><--seed><7><--count><"
	whole := map[string]string{
		"exec": "./my elector", "scenarios": "crash-leader lo?k", "lease": "2s", "lock-key": "lo?k*", "seed": "7", "failover": "crash\n resign\n", "failovers": "50", "baseline": "be fore.json",
		"fail-if": "crash.excess.p90 > 1.2x\n\n  resign.total.p50 > +10ms  \n",
	}
	without := maps.Clone(whole)
	without["failover"] = " \n"
	few := maps.Clone(whole)
	for _, name := range []string{"failovers", "baseline", "fail-if"} {
		delete(few, name)
	}
	const both, comment = "report=REPORT\njunit=REPORT/junit.xml\n", "comment=REPORT/failover/failovers.md\n"
	const causes = "><--out><REPORT/failover><--cause><crash><--cause><resign>"
	for _, test := range []struct {
		inputs         map[string]string
		runs, measures int // with what status
		want           int
		calls, outputs string
	}{
		{whole, 0, 0, 0, run + measured + "50" + causes + "<--baseline><be fore.json><--fail-if><crash.excess.p90 > 1.2x><--fail-if><  resign.total.p50 > +10ms  >\n", both + "status=0\nfailover-status=0\n" + comment},
		{few, 0, 0, 0, run + measured + "200" + causes + "\n", both + "status=0\nfailover-status=0\n" + comment},
		{few, 0, 1, 1, run + measured + "200" + causes + "\n", both + "status=0\nfailover-status=1\n" + comment},
		{few, 0, 64, 64, run + measured + "200" + causes + "\n", both + "status=0\nfailover-status=64\n"},
		{few, 1, 0, 1, run + measured + "200" + causes + "\n", both + "status=1\nfailover-status=0\n" + comment},
		{few, 2, 1, 2, run + measured + "200" + causes + "\n", both + "status=2\nfailover-status=1\n" + comment},
		{few, 3, 0, 3, run, both + "status=3\n"},
		{few, 64, 0, 64, run, both + "status=64\n"},
		{without, 0, 1, 0, run, both + "status=0\n"},
		{without, 1, 1, 1, run, both + "status=1\n"},
	} {
		w := newWorkflow(t)
		w.inputs = maps.Clone(test.inputs)
		w.inputs["report"] = "REPORT"
		w.write("lock", "") // what a pattern must not be taken for
		w.write("chaos", fmt.Sprintf(`#!/bin/sh
printf '<%%s>' "$@" >>calls; echo >>calls
[ "$1" = failover ] || exit %d
[ %d = 64 ] || { mkdir -p REPORT/failover; echo failovers >REPORT/failover/failovers.md; }
exit %[2]d
`, test.runs, test.measures))
		w.step("run", test.want)
		if calls, outputs := w.read("calls"), w.read("output"); calls != test.calls || outputs != test.outputs {
			t.Errorf("inputs %q, statuses %d and %d:\nthe calls are\n%swant\n%sthe outputs are\n%swant\n%s", test.inputs, test.runs, test.measures, calls, test.calls, outputs, test.outputs)
		}
		if strings.Contains(test.outputs, comment) && w.read("summary") != "failovers\n" {
			t.Errorf("statuses %d and %d: the summary is %q", test.runs, test.measures, w.read("summary"))
		}
	}
}

// workflow is one in which the action is a step. Everything is in one folder.
type workflow struct {
	*testing.T
	action
	temp   string
	bash   string
	inputs map[string]string
}

func newWorkflow(t *testing.T) *workflow {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the action's commands are for bash, on Linux or macOS")
	}
	a, _ := readAction(actionText(t))
	return &workflow{t, a, t.TempDir(), bash, map[string]string{}}
}

// realWorkflow is one that runs the candidate of that name, in real time.
func realWorkflow(t *testing.T) *workflow {
	t.Helper()
	w := newWorkflow(t)
	if testing.Short() {
		t.Skip("it runs candidates in real time, and -short is given")
	}
	if race.Enabled {
		t.Skip("the chaos that the action builds is not built for the race detector")
	}
	maps.Copy(w.inputs, map[string]string{"exec": "'" + filepath.Join(w.temp, "candidate") + "'", "seed": "1", "redis": "embedded", "report": filepath.Join(w.temp, "report")})
	return w
}

// step runs the commands of a step as GitHub does, and wants one of these exit statuses.
func (w *workflow) step(id string, want ...int) (status int) {
	w.Helper()
	step := w.Runs.Steps[slices.IndexFunc(w.Runs.Steps, func(s actionStep) bool { return s.ID == id })]
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	cmd.Dir = w.temp
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GITHUB_ACTION_PATH="+mustAbsolute(w.T, "action"), "RUNNER_TEMP="+w.temp, "GITHUB_OUTPUT="+filepath.Join(w.temp, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(w.temp, "summary"))
	for name, value := range step.Env {
		input := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(value, "${{ "), " }}"), "inputs.")
		value, given := w.inputs[input]
		if of := w.Inputs[input]; !given && of.Default != nil {
			value = *of.Default
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if status = cmd.ProcessState.ExitCode(); !slices.Contains(want, status) {
		w.Fatalf("the step %s ended with status %d, want one of %d: %v\n%s", id, status, want, err, out)
	}
	return status
}

// write makes a program.
func (w *workflow) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.temp, name), []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		w.Fatal(err)
	}
}

// read reads a file, which must be there.
func (w *workflow) read(name string) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.temp, name))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

func (w *workflow) forget(name string) {
	w.Helper()
	if err := os.Remove(filepath.Join(w.temp, name)); err != nil {
		w.Fatal(err)
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
