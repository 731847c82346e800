package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
)

// output is the folder that receives reports: one folder a run, and an index.
type output struct {
	dir     string
	reports []*reports.Report
	text    bool // there are no pages: nothing is kept that they could draw
}

// openOutput makes the folder for the reports and proves that it can be
// written to, before anything is started.
func openOutput(dir string) (*output, error) {
	_, err := os.Stat(dir)
	made := dir == "" || err != nil
	if dir == "" {
		dir, err = defaultOutput()
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = tryWriting(dir)
	}
	if err != nil {
		if made {
			_ = os.Remove(dir) // empty; what is not there, or is in use, stays
		}
		return nil, usage.Of(fmt.Errorf("the reports cannot be written: %w; choose another folder with --out", err))
	}
	return &output{dir: dir}, nil
}

// leastSpace is less than the report of any run takes, in bytes.
const leastSpace = 64 << 10

// tryWriting proves that files can be made in a folder, and that there is room for one.
func tryWriting(dir string) error {
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, leastSpace))
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// defaultOutput makes a new folder below the current one: two runs that begin
// in one second get one each.
func defaultOutput() (string, error) {
	const parent = "recount-runs"
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	name := filepath.Join(parent, time.Now().Format("2006-01-02T15-04-05"))
	for n := 2; ; n++ {
		dir := name
		if n > 2 {
			dir = fmt.Sprintf("%s-%d", name, n-1)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// logs makes the folder for a scenario's logs.
func (o *output) logs(scenario string) (string, error) {
	dir := filepath.Join(o.dir, scenario, "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("folder for the logs of %s: %w", scenario, err)
	}
	return dir, nil
}

// write writes the reports of one run into a folder, if there is anything to report.
func (o *output) write(folder string, done scenarios.Outcome) (*reports.Report, error) {
	if done.Result == nil {
		return nil, nil
	}
	return o.add(folder, done.History, done.Result)
}

// add writes the reports of one run into the folder name, for the index of all.
func (o *output) add(name string, h *history.History, r *checker.Result) (*reports.Report, error) {
	rep, err := o.save(name, h, r)
	if err == nil {
		o.reports = append(o.reports, rep)
	}
	return rep, err
}

// save writes the reports of one run into the folder name.
func (o *output) save(name string, h *history.History, r *checker.Result) (*reports.Report, error) {
	rep := reports.New(h, r)
	rep.Folder = name
	rep.Files = append(rep.Files, logFiles(filepath.Join(o.dir, name))...)
	files, err := reports.Files(rep, h, r)
	if err == nil {
		err = writeFiles(filepath.Join(o.dir, name), files)
	}
	return rep, err
}

// logFiles are the logs in a run's folder, as its report names them.
func logFiles(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log")) // fails only for a bad pattern
	for i, path := range paths {
		paths[i] = "logs/" + filepath.Base(path)
	}
	slices.Sort(paths)
	return paths
}

// order puts the reports into the order of the list, whichever was done first.
func (o *output) order(list []scenarios.Planned) {
	place := map[string]int{}
	for i := range list {
		place[list[i].Name] = i
	}
	slices.SortStableFunc(o.reports, func(a, b *reports.Report) int { return place[a.Scenario] - place[b.Scenario] })
}

// finish writes what concerns all runs together.
func (o *output) finish() error {
	if len(o.reports) == 0 {
		return nil
	}
	junit, err := reports.JUnit(o.reports)
	if err != nil {
		return err
	}
	suite := reports.SuiteDocument(o.reports, "")
	files := map[string][]byte{"junit.xml": junit, "report.md": suite.Markdown()}
	if !o.text {
		if files["index.html"], err = suite.HTML(); err != nil {
			return err
		}
	}
	return writeFiles(o.dir, files)
}

// writeFiles writes all of the files, or leaves none of them: half a report would pass
// for one.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder for a report: %w", err)
	}
	var errs []error
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			errs = append(errs, fmt.Errorf("write a report: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		for name := range files {
			_ = os.Remove(filepath.Join(dir, name)) // it may not be there
		}
		_ = os.Remove(dir) // logs keep it
		return err
	}
	return nil
}

// fold is the verdict on several things together.
func fold[T any](all []T, verdict func(*T) checker.Verdict) checker.Verdict {
	return checker.Fold(func(yield func(checker.Verdict) bool) {
		for i := range all {
			if !yield(verdict(&all[i])) {
				return
			}
		}
	})
}

// judged turns a verdict into the error that carries it to the exit status.
func judged(v checker.Verdict) error {
	if v == checker.Pass {
		return nil
	}
	return &verdictError{v}
}
