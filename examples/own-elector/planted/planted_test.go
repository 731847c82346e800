// Package planted_test uses the template as somebody does who has just copied it, and
// plants bugs in the copy. It is no part of what is to be copied.
package planted_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plants are changes of elector.go, and what the test must say of each, in all three worlds.
var plants = []struct {
	name    string
	changes []string // old and new
	says    string   // a pattern; "": the test passes
}{
	{"as-it-is", nil, ""},
	{
		// And without a look at the time: who wakes up late would not renew else.
		"renews-without-asking-whose-lease-it-is", []string{
			compares + `  return redis.call("PEXPIRE", KEYS[1], ARGV[2])` + otherwise, `return redis.call("PEXPIRE", KEYS[1], ARGV[2])`,
			"min(pause, time.Until(until))", "pause",
			"ctx.Err() != nil || !time.Now().Before(until)", "ctx.Err() != nil",
			"earlier(time.Now().Add(e.Lease/6), until)", "earlier(time.Now().Add(e.Lease/6), until.Add(time.Hour))",
		},
		`(LeaseLinearizable|AtMostOneLeader) is broken: .+`,
	},
	{
		"believes-until-told-otherwise", []string{"sent.Add(e.Lease * 99 / 100)", "sent.Add(time.Hour)"},
		`AtMostOneLeader is broken: n\d \(token \d+\) and n\d \(token \d+\) both believed they led`,
	},
	{
		"releases-whosever-lease-it-is", []string{
			compares + `  return redis.call("DEL", KEYS[1])` + otherwise, `return redis.call("DEL", KEYS[1])`,
		},
		`(LeaseLinearizable|AtMostOneLeader) is broken: .+`,
	},
}

// What stands around what a script does to a lease that is the caller's.
const (
	compares  = "if redis.call(\"GET\", KEYS[1]) == ARGV[1] then\n"
	otherwise = "\nend\nreturn 0"
)

// The test that comes with the template passes; and with a bug planted in the elector it
// fails, in virtual time, in fake time and live, with the sentence that the report says, the events that
// decide it, and where the report lies.
func TestPlanted(t *testing.T) {
	template, root := absolute(t, ".."), absolute(t, "../../..")
	for _, plant := range plants {
		folder := filepath.Join(t.TempDir(), "mine")
		copyTemplate(t, template, root, folder)
		file := filepath.Join(folder, "elector.go")
		source := read(t, file)
		for i := 0; i < len(plant.changes); i += 2 {
			if !strings.Contains(source, plant.changes[i]) {
				t.Fatalf("elector.go does not contain %q", plant.changes[i])
			}
			source = strings.Replace(source, plant.changes[i], plant.changes[i+1], 1)
		}
		write(t, file, source)
		test := filepath.Join(folder, "mine.test")
		if out, err := command(folder, "go", "test", "-c", "-o", test, ".").CombinedOutput(); err != nil {
			t.Fatalf("%s does not compile: %v\n%s", plant.name, err, out)
		}
		for _, world := range []string{"virtual", "bubble", "live"} {
			t.Run(plant.name+"/"+world, func(t *testing.T) {
				t.Parallel() // they wait more than they work
				check(t, folder, test, world, plant.says)
			})
		}
	}
}

// check runs the test in one world.
func check(t *testing.T, folder, test, world, says string) {
	t.Helper()
	cmd := command(folder, test, "-test.v", "-test.timeout=5m")
	out := t.TempDir()
	cmd.Env = append(cmd.Env, "RECOUNT_WORLDS="+world, "RECOUNT_OUT="+out)
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	switch {
	case says == "" && err != nil:
		t.Fatalf("it fails:\n%s", text)
	case says == "":
		if !bytes.Contains(text, []byte("--- PASS: TestElector/"+world+"/pause-leader")) {
			t.Fatalf("it passes, but the scenarios did not run:\n%s", text)
		}
		return
	case err == nil:
		t.Fatalf("it passes:\n%s", text)
	case !regexp.MustCompile(says).Match(text):
		t.Fatalf("it does not say %s:\n%s", says, text)
	case !regexp.MustCompile(`(?m)^ +#\d+  [\d.]+ s  n\d  \w+`).Match(text):
		t.Errorf("it names no events:\n%s", text)
	}
	t.Logf("%s", regexp.MustCompile(says).Find(text))
	report := regexp.MustCompile(`(?m)^ *report: (.*)$`).FindSubmatch(text)
	if report == nil {
		t.Fatalf("it does not say where the report is:\n%s", text)
	}
	for _, name := range []string{"report.html", "history.jsonl"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(string(report[1])), name)); err != nil {
			t.Error(err)
		}
	}
}

// copyTemplate copies the template, with the place of the checkout in its go.mod.
func copyTemplate(t *testing.T, template, root, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"elector.go", "elector_test.go", "go.mod", "go.sum"} {
		text := read(t, filepath.Join(template, name))
		if name == "go.mod" {
			text = strings.ReplaceAll(text, "=> ../..", "=> "+root)
		}
		write(t, filepath.Join(folder, name), text)
	}
}

// command runs in a module that is in no workspace.
func command(folder, name string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(name, arguments...)
	cmd.Dir = folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RECOUNT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "GOWORK=off", "CGO_ENABLED=0")
	return cmd
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
