package deploy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/topology"
)

// systemd finds nothing wrong with the unit.
func TestUnitIsVerified(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze on PATH: the unit is only read here")
	}
	unit, err := os.ReadFile("elect.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // stands for the programs, which are not installed here
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "elect.service")
	text := strings.NewReplacer("/usr/bin/elect", self, "/usr/bin/billing", self).Replace(string(unit))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), "elect.service") { // what it only warns of is no error to it
		t.Errorf("%v: %s", err, out)
	}
}

// docker runs a command of Docker's and returns what it prints.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// buildImage builds the image as the Dockerfile says, but for its first stage:
// that needs another image, and does nothing that is not done here.
func buildImage(t *testing.T, dockerfile, program string) (name string) {
	t.Helper()
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	_, scratch, _ := strings.Cut(string(text), "\nFROM scratch")
	_, scratch, ok := strings.Cut(scratch, "\n")
	if !ok {
		t.Fatal("the Dockerfile has no stage from scratch")
	}
	dir := t.TempDir()
	certificates := filepath.Join(dir, "image/etc/ssl/certs/ca-certificates.crt")
	if err := os.MkdirAll(filepath.Dir(certificates), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		certificates:                     "none\n",
		filepath.Join(dir, "Dockerfile"): "FROM scratch\n" + strings.ReplaceAll(scratch, "COPY --from=build /", "COPY image/"),
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "image", program), "../cmd/"+program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in .ci/run, where all of it has been compiled before
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	name = fmt.Sprintf("recount-%s:test-%d", program, os.Getpid())
	docker(t, "build", "--quiet", "--tag", name, dir)
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", name).Run() }) // nothing is left behind
	return name
}

// The image runs elect as nobody and as the container's first process. A
// container that is stopped hands over: its job ends, it gives the lease back,
// and the other container's job begins.
func TestImage(t *testing.T) {
	if os.Getenv("RECOUNT_REDIS") != "docker" || runtime.GOOS != "linux" {
		t.Skip("RECOUNT_REDIS is not docker: no image is built here")
	}
	store, image := "redis://"+topology.Single(t).Addr, buildImage(t, "Dockerfile", "elect")
	elect := func(args ...string) string {
		return docker(t, append([]string{"run", "--rm", "--network", "host", image}, args...)...)
	}
	if got := elect("--version"); !strings.HasPrefix(got, "elect version ") {
		t.Errorf("it says %q", got)
	}
	question := []string{"--store", store, "--name", "billing"}
	elect(append([]string{"create"}, question...)...)
	start := func(id string) (container string) {
		args := append([]string{"run", "--detach", "--network", "host", "--name", fmt.Sprintf("recount-elect-%d-%s", os.Getpid(), id), image, "run", "--id", id}, question...)
		container = docker(t, append(append(args, "--", "/elect", "watch"), question...)...)
		t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", container).Run() }) // as above
		return container
	}
	a := start("a")
	said(t, a, "a/", "leads") // by the job, which is there for as long as a leads
	b := start("b")
	said(t, b, "competing")
	docker(t, "stop", "--time", "40", a)
	if got := docker(t, "inspect", "--format", "{{.State.ExitCode}} {{.Config.User}}", a); got != "0 65534:65534" {
		t.Errorf("the stopped container's status and user are %s:\n%s", got, docker(t, "logs", a))
	}
	said(t, b, "b/", "leads")
	var terms []struct {
		ID    string
		Ended *time.Time
	}
	answer := elect(append([]string{"history", "--json"}, question...)...)
	if err := json.Unmarshal([]byte(answer), &terms); err != nil || len(terms) != 2 || terms[1].Ended == nil || !strings.HasPrefix(terms[1].ID, "a/") {
		t.Errorf("%v: the lease was not given back: %s", err, answer)
	}
}

// The image of chaos, from nothing, runs scenarios.
func TestImageOfChaos(t *testing.T) {
	if os.Getenv("RECOUNT_REDIS") != "docker" || runtime.GOOS != "linux" {
		t.Skip("RECOUNT_REDIS is not docker: no image is built here")
	}
	image := buildImage(t, filepath.Join("action", "Dockerfile"), "chaos")
	got := docker(t, "run", "--rm", "--tmpfs", "/report:mode=1777", image, "run", "steady", "--world", "virtual", "--out", "/report")
	if !strings.Contains(got, "PASS  1 run: 1 pass") {
		t.Errorf("it says %s", got)
	}
}

// said waits for a line of a container that has all these words.
func said(t *testing.T, container string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	logs := exec.CommandContext(ctx, "docker", "logs", "--follow", container)
	out, err := logs.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	logs.Stderr = logs.Stdout
	if err := logs.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = logs.Wait() // it was ended
	}()
	var all []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		all = append(all, lines.Text())
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(lines.Text(), word) }) {
			return
		}
	}
	t.Fatalf("it never said %q:\n%s", words, strings.Join(all, "\n"))
}
