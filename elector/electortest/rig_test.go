package electortest_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test whose failures are noted, and fail nothing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

// ends runs f to its end, or to its Fatal.
func (r *recorder) ends(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// has demands one failure, with that text in it.
func (r *recorder) has(t testing.TB, text string) {
	t.Helper()
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], text) {
		t.Errorf("the failures are %q, want one with %q", r.failures, text)
	}
}

// The test of the example fails for a service that goes on after its term has ended.
func TestBugIsFound(t *testing.T) {
	for linger, want := range map[string]string{"0s": "ok", "1m": "the service works: true, want false"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestServiceWorksOnlyWhileItLeads$", "-test.v")
		cmd.Env = append(os.Environ(), "ELECTORTEST_LINGER="+linger)
		out, err := cmd.CombinedOutput()
		if found := err != nil; found != (linger != "0s") || found && !strings.Contains(string(out), want) {
			t.Errorf("a service that lingers for %s: error %v, want %q:\n%s", linger, err, want, out)
		}
	}
}

// The test in the package's documentation is that of the example.
func TestDocumentationIsCompiled(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for line := range strings.Lines(string(doc)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			code.WriteString(text)
		} else if line == "//\n" && code.Len() > 0 && !strings.HasSuffix(code.String(), "\n}\n") {
			code.WriteString("\n")
		}
	}
	if got := code.String(); got == "" || !strings.Contains(string(example), got) {
		t.Errorf("this code of doc.go is not in example_test.go, word by word:\n%s", got)
	}
}
