package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
)

func (m Main) reportCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report RUN…",
		Short: "Render reports again, or compare runs",
		Long: `Report reads what is in the folders that chaos run wrote (a suite's, or a single
run's), checks the histories again, and renders their reports anew in place.
Given several, it also compares them scenario by scenario. Of folders that chaos
failover wrote, the first is the baseline of the others.`,
		Example: "  chaos report recount-runs/2026-11-20T10-00-00\n  chaos report before after",
		Args:    someArguments("at least one folder that chaos run wrote"),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if slices.ContainsFunc(dirs, measuredIn) {
				return m.compareFailovers(dirs, asJSON)
			}
			var suites []reports.Suite
			all := &output{}
			for _, dir := range dirs {
				out, err := m.render(dir)
				if err != nil {
					return err
				}
				suites = append(suites, reports.Suite{Name: dir, Runs: out.reports})
				all.dir, all.reports = dir, append(all.reports, out.reports...)
			}
			s := newScreen(m, asJSON)
			switch {
			case asJSON:
				if err := printRuns(s.out, all.reports); err != nil {
					return err
				}
			case len(suites) > 1:
				if err := reports.Compare(suites).Print(s.out, reports.Screen{Width: s.width, Color: s.color}); err != nil {
					return err
				}
			default:
				if err := summarise(s.out, all, "", s.width, s.color); err != nil {
					return err
				}
			}
			return judged(reports.Overall(all.reports))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// measuredIn reports whether a folder is one that chaos failover wrote.
func measuredIn(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, failoversFile))
	return err == nil
}

// compareFailovers writes the reports of measurements anew. The first measurement is the
// baseline of the others.
func (m Main) compareFailovers(dirs []string, asJSON bool) error {
	s := newScreen(m, asJSON)
	verdict := checker.Pass
	var first *reports.Failovers
	for _, dir := range dirs {
		r, err := readFailovers(dir)
		if err != nil {
			return usage.Of(err)
		}
		if first == nil {
			first = r
		} else {
			if unlike := r.Unlike(first); unlike != "" {
				return usage.Of(fmt.Errorf("%s beside %s: %s: the comparison would show that, and not the change", dir, dirs[0], unlike))
			}
			r.Baseline = first
		}
		if len(dirs) > 1 {
			s.say("%s:", dir)
		}
		if err := writeFailovers(dir, r, s); err != nil {
			return err
		}
		verdict = checker.Fold(func(yield func(checker.Verdict) bool) { _ = yield(verdict) && yield(r.Verdict) })
	}
	return judged(verdict)
}

// render renders the reports of all runs in a folder anew.
func (m Main) render(dir string) (*output, error) {
	runs, err := runFolders(dir)
	if err != nil {
		return nil, err
	}
	out := &output{dir: dir}
	for _, run := range runs {
		h, err := m.load(filepath.Join(dir, run, "history.jsonl"))
		if err != nil {
			return nil, err
		}
		if _, err := out.add(run, h, checker.Check(h, checker.Options{})); err != nil {
			return nil, err
		}
	}
	if len(runs) == 1 && runs[0] == "." {
		return out, nil // a single run has no index
	}
	return out, out.finish()
}

// runFolders are the folders below dir that hold a run: "." if dir itself is
// one.
func runFolders(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "history.jsonl")); err == nil {
		return []string{"."}, nil
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, usage.Of(fmt.Errorf("%s is a file: give the folder that chaos run wrote", dir))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, usage.Of(fmt.Errorf("no run can be read: %w", err))
	}
	var runs []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		_, err := os.Stat(filepath.Join(dir, e.Name(), "history.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, usage.Of(fmt.Errorf("no run can be read: %w", err))
		}
		if err == nil {
			runs = append(runs, e.Name())
		}
	}
	if len(runs) == 0 {
		return nil, usage.Of(fmt.Errorf("%s holds no history.jsonl: give a folder that chaos run wrote", dir))
	}
	slices.Sort(runs)
	return runs, nil
}
