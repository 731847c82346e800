// Package deploy has no code: it holds what puts elect into operation, and the
// test that all of it fits together.
package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/recount-io/recount/elector/settings"
)

// manifest is what the test reads of a Deployment.
type manifest struct {
	Kind string
	Spec struct {
		Replicas int
		Strategy struct {
			RollingUpdate struct {
				MaxUnavailable *int `yaml:"maxUnavailable"`
				MaxSurge       int  `yaml:"maxSurge"`
			} `yaml:"rollingUpdate"`
		}
		Template struct{ Spec pod }
	}
}

type pod struct {
	Patience        int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	InitContainers []container `yaml:"initContainers"`
	Containers     []container
}

type container struct {
	Name          string
	RestartPolicy string `yaml:"restartPolicy"`
	Command, Args []string
	Env           []struct{ Name, Value string }
	Ports         []struct {
		Name          string
		ContainerPort string `yaml:"containerPort"`
	}
	Readiness       probe `yaml:"readinessProbe"`
	Liveness        probe `yaml:"livenessProbe"`
	SecurityContext struct {
		Escalation   *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool                    `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

// deployment reads the first document of a manifest, and that all are YAML.
func deployment(t *testing.T, name string) manifest {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	var first manifest
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&first); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for {
		switch err := decoder.Decode(new(yaml.Node)); {
		case errors.Is(err, io.EOF):
			return first
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// flags are the flags of an argument list, as the settings take them; the rest
// is by name as well.
func flags(args []string) (ours, others map[string][]string) {
	known := map[string]bool{}
	for _, s := range settings.All() {
		known[s.Name] = true
	}
	ours, others = map[string][]string{}, map[string][]string{}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case !strings.HasPrefix(arg, "--"):
		case known[name]:
			ours[name] = []string{value}
		default:
			others[name] = []string{value}
		}
	}
	return ours, others
}

// settingsOf are the settings of the container in which elect runs.
func settingsOf(t *testing.T, c container) (settings.Settings, map[string][]string) {
	t.Helper()
	ours, others := flags(append(c.Command, c.Args...))
	environ := []string{"REDIS_PASSWORD=p@ss"}
	for _, v := range c.Env {
		environ = append(environ, v.Name+"="+v.Value)
	}
	s, err := settings.Load(settings.Sources{Flags: ours, Environ: environ})
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, closer, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = closer.Close() // it never sent anything
	return s, others
}

func parse(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// moment is what elect takes to give the lease back and to end.
const moment = 3 * time.Second

// What both manifests must have: three replicas that are replaced one by one,
// no rights, and probes of paths that elect has, on the port that it serves.
func TestKubernetes(t *testing.T) {
	for _, name := range []string{"run.yaml", "sidecar.yaml"} {
		m := deployment(t, name)
		if m.Kind != "Deployment" || m.Spec.Replicas != 3 {
			t.Errorf("%s: %s of %d", name, m.Kind, m.Spec.Replicas)
		}
		if r := m.Spec.Strategy.RollingUpdate; r.MaxUnavailable == nil || *r.MaxUnavailable != 0 || r.MaxSurge < 1 {
			t.Errorf("%s: an update takes a candidate away before there is another one: %+v", name, r)
		}
		p := m.Spec.Template.Spec
		if !p.SecurityContext.RunAsNonRoot {
			t.Errorf("%s runs as root", name)
		}
		for _, c := range append(p.InitContainers, p.Containers...) {
			s := c.SecurityContext
			if s.Escalation == nil || *s.Escalation || !s.ReadOnly || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: container %s has rights that it does not need: %+v", name, c.Name, s)
			}
		}
		c := append(p.InitContainers, p.Containers...)[0]
		_, others := settingsOf(t, c)
		if c.Readiness.HTTP.Path != "/readyz" || c.Liveness.HTTP.Path != "/healthz" {
			t.Errorf("%s: probes %+v and %+v", name, c.Readiness, c.Liveness)
		}
		port := c.Ports[0]
		if c.Readiness.HTTP.Port != port.Name || c.Liveness.HTTP.Port != port.Name || strings.Join(others["http"], "") != ":"+port.ContainerPort {
			t.Errorf("%s: probes of %s and %s, port %+v, --http %v", name, c.Readiness.HTTP.Port, c.Liveness.HTTP.Port, port, others["http"])
		}
	}
}

// Kubernetes waits for longer than elect keeps the lease for its job.
func TestRunIsGivenTime(t *testing.T) {
	p := deployment(t, "run.yaml").Spec.Template.Spec
	s, _ := settingsOf(t, p.Containers[0])
	if patience := time.Duration(p.Patience) * time.Second; patience < s.DrainTimeout+s.Config().RequestTimeout+moment {
		t.Errorf("terminationGracePeriodSeconds is %v and --drain-timeout is %v", patience, s.DrainTimeout)
	}
}

// The sidecar is one that outlives the program, and the pod has the time for
// both.
func TestSidecarIsGivenTime(t *testing.T) {
	p := deployment(t, "sidecar.yaml").Spec.Template.Spec
	if len(p.InitContainers) != 1 || p.InitContainers[0].RestartPolicy != "Always" {
		t.Fatal("elect is no sidecar that ends after the program")
	}
	const program = 20 * time.Second // as the manifest's comment says
	_, others := settingsOf(t, p.InitContainers[0])
	grace := parse(t, strings.Join(others["grace"], ""))
	if patience := time.Duration(p.Patience) * time.Second; patience < program+grace+moment {
		t.Errorf("terminationGracePeriodSeconds is %v, for %v and %v", patience, program, grace)
	}
}

// systemd waits for longer than elect keeps the lease, asks nobody but elect to
// stop, and waits to be told that it has started; the settings beside the unit
// are read.
func TestUnit(t *testing.T) {
	unit := map[string]string{}
	file, err := os.Open("elect.service")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok && !strings.HasPrefix(name, "#") {
			unit[name] = value
		}
	}
	for name, want := range map[string]string{"Type": "notify", "KillMode": "mixed", "NotifyAccess": "main"} {
		if unit[name] != want {
			t.Errorf("%s is %q, want %q", name, unit[name], want)
		}
	}
	s, err := settings.Load(settings.Sources{File: "elect.yaml", Environ: []string{"REDIS_PASSWORD=p@ss"}})
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	if patience := parse(t, unit["TimeoutStopSec"]); patience < s.DrainTimeout+s.Config().RequestTimeout+moment {
		t.Errorf("TimeoutStopSec is %v and drain_timeout is %v", patience, s.DrainTimeout)
	}
}

// Compose waits for longer than the preset keeps the lease.
func TestCompose(t *testing.T) {
	content, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services struct {
			Candidate struct {
				Command  []string
				Patience string `yaml:"stop_grace_period"`
			}
		}
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	s, _ := settingsOf(t, container{Command: file.Services.Candidate.Command})
	if patience := parse(t, file.Services.Candidate.Patience); patience < s.DrainTimeout+s.Config().RequestTimeout+moment {
		t.Errorf("stop_grace_period is %v and drain-timeout is %v", patience, s.DrainTimeout)
	}
}

// The image has nothing but the binary in it, so the binary must need nothing:
// without cgo it is linked statically.
func TestDockerfile(t *testing.T) {
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RUN CGO_ENABLED=0 go build ", " ./cmd/elect\n", "\nFROM scratch\n", "\nUSER 65534:65534\n", "/etc/ssl/certs/ca-certificates.crt", "ENTRYPOINT [\"/elect\"]"} {
		if !strings.Contains(string(dockerfile), want) {
			t.Errorf("no %q in it", want)
		}
	}
}
