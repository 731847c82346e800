package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// job is all that the manifests of a campaign may have: a field that Kubernetes
// would drop, because its name is spelled wrongly, is none of these.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   jobMeta
	Spec       struct {
		CompletionMode  string `yaml:"completionMode"`
		Completions     int
		Parallelism     int
		BackoffLimit    *int `yaml:"backoffLimit"`
		BackoffPerIndex *int `yaml:"backoffLimitPerIndex"`
		MaxFailed       *int `yaml:"maxFailedIndexes"`
		TTL             int  `yaml:"ttlSecondsAfterFinished"`
		Template        struct {
			Metadata jobMeta
			Spec     struct {
				RestartPolicy   string `yaml:"restartPolicy"`
				Token           *bool  `yaml:"automountServiceAccountToken"`
				SecurityContext struct {
					RunAsNonRoot bool              `yaml:"runAsNonRoot"`
					RunAsUser    int               `yaml:"runAsUser"`
					FSGroup      int               `yaml:"fsGroup"`
					Seccomp      map[string]string `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				InitContainers []jobContainer `yaml:"initContainers"`
				Containers     []jobContainer
				Volumes        []struct {
					Name  string
					Claim *struct {
						Name string `yaml:"claimName"`
					} `yaml:"persistentVolumeClaim"`
					Empty *struct{} `yaml:"emptyDir"`
				}
			}
		}
	}
}

type jobMeta struct {
	Name   string
	Labels map[string]string
}

type jobContainer struct {
	Name, Image string
	Args        []string
	Env         []struct {
		Name, Value string
		ValueFrom   struct {
			Field struct {
				Path string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	EnvFrom []struct {
		Secret struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	SecurityContext struct {
		Escalation   *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool                    `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
	Resources struct{ Requests, Limits map[string]string }
}

// campaignJob reads the Job that a manifest begins with, and that all documents in it
// are YAML.
func campaignJob(t *testing.T, text []byte) (first job, err error) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&first); err != nil {
		return first, err
	}
	rest := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := rest.Decode(new(yaml.Node)); errors.Is(err, io.EOF) {
			return first, nil
		} else if err != nil {
			return first, err
		}
	}
}

func readCampaign(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("campaign", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The Jobs of a campaign have no rights that they do not need, name volumes that
// they have, and are divided into as many shards as there are completions.
func TestCampaignJobs(t *testing.T) {
	for _, name := range []string{"job.yaml", "job-s3.yaml", "merge.yaml"} {
		j, err := campaignJob(t, readCampaign(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := j.Spec.Template.Spec
		if j.APIVersion != "batch/v1" || j.Kind != "Job" || p.RestartPolicy != "Never" || p.Token == nil || *p.Token || !p.SecurityContext.RunAsNonRoot || p.SecurityContext.Seccomp["type"] != "RuntimeDefault" {
			t.Errorf("%s: %s %s, %+v", name, j.APIVersion, j.Kind, p.SecurityContext)
		}
		var volumes []string
		for _, v := range p.Volumes {
			volumes = append(volumes, v.Name)
			if (v.Claim == nil) == (v.Empty == nil) {
				t.Errorf("%s: the volume %s is not of one kind", name, v.Name)
			}
		}
		for _, c := range append(p.InitContainers, p.Containers...) {
			s := c.SecurityContext
			if s.Escalation == nil || *s.Escalation || !s.ReadOnly || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) || c.Resources.Limits["memory"] == "" {
				t.Errorf("%s: container %s has rights that it does not need, or no limit: %+v", name, c.Name, s)
			}
			for _, m := range c.Mounts {
				if !slices.Contains(volumes, m.Name) || !strings.Contains(strings.Join(c.Args, " "), m.Path) {
					t.Errorf("%s: container %s does not use the volume %s", name, c.Name, m.Name)
				}
			}
		}
		if name == "merge.yaml" {
			if j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit != 0 {
				t.Error("a campaign that is broken is merged again and again")
			}
			continue
		}
		shard := append(p.InitContainers, p.Containers...)[0]
		values := map[string]string{}
		for _, v := range shard.Env {
			values[v.Name] = v.Value + v.ValueFrom.Field.Path
		}
		if j.Spec.CompletionMode != "Indexed" || values["SHARDS"] != strconv.Itoa(j.Spec.Completions) || j.Spec.Parallelism > j.Spec.Completions {
			t.Errorf("%s: %s, %d completions, and %s shards", name, j.Spec.CompletionMode, j.Spec.Completions, values["SHARDS"])
		}
		if j.Spec.BackoffPerIndex == nil || j.Spec.MaxFailed == nil || *j.Spec.MaxFailed < j.Spec.Completions {
			t.Errorf("%s: a shard that is lost ends the others", name)
		}
		if values["SHARD"] != "metadata.annotations['batch.kubernetes.io/job-completion-index']" {
			t.Errorf("%s: the shard is %s", name, values["SHARD"])
		}
	}
}

// A field that is spelled wrongly is noticed, and so is a second document that is no
// YAML.
func TestCampaignJobsAreRead(t *testing.T) {
	good := string(readCampaign(t, "job.yaml"))
	for _, bad := range []string{
		strings.Replace(good, "completionMode:", "completionsMode:", 1), strings.Replace(good, "mountPath:", "mountpath:", 1), good + "\n---\n{",
	} {
		if _, err := campaignJob(t, []byte(bad)); err == nil || bad == good {
			t.Error("a bad manifest is read")
		}
	}
}

// The workflow's matrix has every shard once, and each call has their number.
func TestCampaignWorkflow(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Needs    string
			If       string
			Strategy struct {
				FailFast *bool `yaml:"fail-fast"`
				Matrix   struct{ Shard []int }
			}
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(readCampaign(t, "github-actions.yaml"), &workflow); err != nil {
		t.Fatal(err)
	}
	shard, merge := workflow.Jobs["shard"], workflow.Jobs["merge"]
	if shard.Strategy.FailFast == nil || *shard.Strategy.FailFast || merge.Needs != "shard" || merge.If != "always()" {
		t.Error("a shard that is lost ends the campaign")
	}
	calls := 0
	for _, step := range shard.Steps {
		if m := regexp.MustCompile(`--shard \$\{\{ matrix\.shard \}\}/(\d+) `).FindStringSubmatch(step.Run); m != nil {
			calls++
			if m[1] != strconv.Itoa(len(shard.Strategy.Matrix.Shard)) {
				t.Errorf("%s, of %d shards", step.Run, len(shard.Strategy.Matrix.Shard))
			}
		}
	}
	for i, n := range shard.Strategy.Matrix.Shard {
		if n != i+1 {
			t.Errorf("the %d-th shard is %d", i+1, n)
		}
	}
	if calls != 1 || len(shard.Strategy.Matrix.Shard) < 2 {
		t.Errorf("%d calls, shards %v", calls, shard.Strategy.Matrix.Shard)
	}
}

// The image has nothing but the binary in it.
func TestCampaignDockerfile(t *testing.T) {
	text := string(readCampaign(t, "Dockerfile"))
	for _, want := range []string{"RUN CGO_ENABLED=0 go build ", " ./cmd/chaos\n", "\nFROM scratch\n", "\nUSER 65534:65534\n", "ENTRYPOINT [\"/chaos\"]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in it", want)
		}
	}
}
