//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/campaign"
)

// podContainer is what the tests read of a container.
type podContainer struct {
	Name string
	Args []string
	Env  []struct{ Name, Value string }
}

// jobContainers are all containers of the Job in a manifest of deploy/campaign.
func jobContainers(t *testing.T, name string) []podContainer {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "campaign", name))
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Template struct {
				Spec struct {
					InitContainers []podContainer `yaml:"initContainers"`
					Containers     []podContainer
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	return append(job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers...)
}

// call is the call of chaos in the container that has such a name, with values in
// place of its variables; those that are given go before its own.
func (c *podContainer) call(values map[string]string) []string {
	var pairs []string
	for _, v := range c.Env {
		if value, given := values[v.Name]; given {
			v.Value = value
		}
		pairs = append(pairs, "$("+v.Name+")", v.Value)
	}
	replacer := strings.NewReplacer(pairs...)
	var args []string
	for _, arg := range c.Args {
		args = append(args, replacer.Replace(arg))
	}
	return args
}

// TestCampaignIsDeployed shows that every call of chaos in deploy/campaign is one
// that it understands: command, flags and values.
func TestCampaignIsDeployed(t *testing.T) {
	calls := map[string][]string{}
	for _, name := range []string{"job.yaml", "job-s3.yaml", "merge.yaml"} {
		c := jobContainers(t, name)[0]
		calls[name] = c.call(map[string]string{"SHARD": "0"})
	}
	workflow, err := os.ReadFile(filepath.Join("..", "..", "deploy", "campaign", "github-actions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(workflow)) {
		if _, text, ok := strings.Cut(line, "run: ./chaos "); ok {
			text = strings.NewReplacer("${{ inputs.seed }}", "7", "${{ inputs.schedules }}", "100", "${{ matrix.shard }}", "20").Replace(text)
			words := strings.Fields(text)
			calls["github-actions.yaml "+words[0]] = words
		}
	}
	if len(calls) != 5 {
		t.Fatalf("found %d calls: %v", len(calls), calls)
	}
	for name, args := range calls {
		root := Main{}.command()
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			t.Errorf("%s: %v is no command: %v", name, args, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if shard, ok := f.Value.(*campaign.Shard); ok && shard.Index != shard.Of {
				t.Errorf("%s: the last shard is %v", name, shard)
			}
		})
	}
}

// fleet runs shards of the Job in the manifest, each as a process.
type fleet struct {
	container podContainer
	values    map[string]string
	dir       string
}

// start starts a shard; 0 is the last one, as Kubernetes counts.
func (f *fleet) start(t *testing.T, index int) (shard *exec.Cmd, running func()) {
	t.Helper()
	f.values["SHARD"] = strconv.Itoa(index)
	args := f.container.call(f.values)
	at := slices.Index(args, "--out=/campaign")
	if at < 0 {
		t.Fatalf("the shard writes elsewhere: %v", args)
	}
	args[at] = "--out=" + f.dir
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shard = exec.Command(self, append(args, "--workers=1", "--subject="+seldom)...)
	shard.Env = append(os.Environ(), asChaos+"=1")
	out, err := shard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	shard.Stderr = os.Stderr
	if err := shard.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shard.Process.Kill() }) // it has ended, mostly
	lines := bufio.NewReader(out)
	return shard, func() {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, "shard") {
			t.Errorf("shard %d says %q: %v", index, line, err)
		}
	}
}

// merged is what chaos merge says of a campaign as an object, and the exit status.
func merged(t *testing.T, want int, args ...string) map[string]any {
	t.Helper()
	r := chaos(t, t.Context(), nil, append([]string{"merge", "--json"}, args...)...)
	if r.status != want {
		t.Fatalf("status %d, want %d\n%s%s", r.status, want, r.out, r.errors)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(r.out), &object); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	return object
}

// same are what a campaign came to that must be the same however it was divided.
func same(object map[string]any) string {
	var found []any
	for _, f := range object["failures"].([]any) {
		failure := f.(map[string]any)
		delete(failure, "file")
		found = append(found, failure)
	}
	text, err := json.Marshal([]any{object["schedules"], object["coverage"], object["confidence"], object["verdict"], found})
	if err != nil {
		panic(err) // it was JSON before
	}
	return string(text)
}

// TestCampaign shows the whole road of deploy/campaign/job.yaml, with eight
// processes in place of pods: one is killed and leaves no file, one runs twice.
// What they leave is merged to what one run of the same seed gives, less what was
// lost, and says so; and once the lost shard was run, to all of it.
func TestCampaign(t *testing.T) {
	if race.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	const shards, lost, repeated = 8, 3, 5
	dir := t.TempDir()
	values := map[string]string{"SEED": "7", "SCHEDULES": "2048", "SHARDS": "8"}
	f := fleet{jobContainers(t, "job.yaml")[0], values, filepath.Join(dir, "campaign")}
	killed, running := f.start(t, lost)
	running()
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // killed: that it failed is no news
	// Two at a time: those of a campaign share nothing.
	for i := 0; i < shards; i += 2 {
		var pair []*exec.Cmd
		for _, index := range []int{i, i + 1} {
			if index != lost {
				shard, _ := f.start(t, index)
				pair = append(pair, shard)
			}
		}
		for _, shard := range pair {
			if err := shard.Wait(); err != nil {
				t.Fatalf("%v: %v", shard.Args, err)
			}
		}
	}
	again := f
	again.dir = filepath.Join(dir, "again")
	twice, _ := again.start(t, repeated)
	if err := twice.Wait(); err != nil {
		t.Fatal(err)
	}
	// One run of the same seed.
	f.values["SHARDS"], f.dir = "1", filepath.Join(dir, "one")
	one, _ := f.start(t, 0)
	if err := one.Wait(); err != nil {
		t.Fatal(err)
	}
	whole := merged(t, statusBroken, f.dir, "--out", filepath.Join(dir, "whole"))

	less := merged(t, statusBroken, filepath.Join(dir, "campaign"), again.dir, "--out", filepath.Join(dir, "less"))
	if got := campaignSummary(less); got != "8 shards, missing [3], repeated [5], disputed []" {
		t.Error(got)
	}
	if n := less["schedules"].(float64); n != whole["schedules"].(float64)-256 {
		t.Errorf("%v schedules came back of %v", n, whole["schedules"])
	}
	// The lost one runs at last, and what was merged is merged with it.
	f.values["SHARDS"], f.dir = "8", filepath.Join(dir, "late")
	late, _ := f.start(t, lost)
	if err := late.Wait(); err != nil {
		t.Fatal(err)
	}
	all := merged(t, statusBroken, filepath.Join(dir, "less", campaignFile), f.dir, "--out", filepath.Join(dir, "all"))
	if got := campaignSummary(all); got != "8 shards, missing [], repeated [], disputed []" {
		t.Error(got)
	}
	if got, want := same(all), same(whole); got != want {
		t.Errorf("eight shards come to\n%s\none run comes to\n%s", got, want)
	}
}
