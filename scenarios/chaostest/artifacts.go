package chaostest

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
)

// artifacts is the folder that gets the reports of a test.
type artifacts struct {
	test *testing.T
	mu   sync.Mutex
	dir  string // "" until something is to be kept
}

func openArtifacts(t *testing.T) *artifacts { return &artifacts{test: t} }

// folder is the folder for a run. It is there when folder returns.
func (a *artifacts) folder(out string, parts ...string) (string, error) {
	root, err := a.root(out)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(append([]string{root}, parts...)...)
	return dir, os.MkdirAll(dir, 0o755)
}

// root is the folder for all runs. A temporary one goes with the test if that passes.
func (a *artifacts) root(out string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir != "" {
		return a.dir, nil
	}
	name := fileName(a.test.Name())
	kept := flag.Lookup("test.artifacts")
	switch {
	case out != "":
		dir, err := filepath.Abs(filepath.Join(out, name))
		a.dir = dir
		return dir, err
	case kept != nil && kept.Value.String() == "true":
		a.dir = a.test.ArtifactDir()
		return a.dir, nil
	}
	dir, err := os.MkdirTemp("", "chaostest-"+name+"-")
	if err != nil {
		return "", fmt.Errorf("a folder for the reports: %w", err)
	}
	a.dir = dir
	a.test.Cleanup(func() {
		if !a.test.Failed() {
			_ = os.RemoveAll(dir) // what is left of it is in the way of nobody
		}
	})
	return dir, nil
}

// write writes the report of a run into its folder, and returns the page's path.
func write(dir string, o scenarios.Outcome) (*reports.Report, string, error) {
	rep := reports.New(o.History, o.Result)
	logs, unread := filesIn(filepath.Join(dir, "logs"), ".log")
	for _, name := range logs {
		rep.Files = append(rep.Files, "logs/"+name)
	}
	files, err := reports.Files(rep, o.History, o.Result)
	if err != nil {
		return rep, "", err
	}
	errs := []error{unread}
	for name, content := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return rep, filepath.Join(dir, "report.html"), errors.Join(errs...)
}

// fileName is a test's name as that of a file, on every system.
func fileName(test string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, test)
}

// filesIn are the names of the files in a folder that end so; none if there is no such
// folder.
func filesIn(folder, end string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), end) {
			names = append(names, e.Name())
		}
	}
	return names, err
}
