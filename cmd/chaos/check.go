package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports"
)

func (m Main) checkCommand() *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Check recorded histories again, wherever they come from",
		Long: `Check reads histories (history.jsonl, or - for standard input), decides every
promise from them alone, and prints what it found. With --out it writes a
report of each.`,
		Example: "  chaos check recount-runs/*/crash-leader/history.jsonl\n  my-harness | chaos check -",
		Args:    someArguments("at least one history"),
		RunE: func(_ *cobra.Command, paths []string) error {
			out := &output{dir: dir}
			for _, path := range paths {
				if err := m.checkOne(out, path); err != nil {
					return err
				}
			}
			return m.concludeChecks(out, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object and nothing else on standard output")
	cmd.Flags().StringVar(&dir, "out", "", "folder for reports (default: none are written)")
	return cmd
}

// checkOne checks one history and keeps its report.
func (m Main) checkOne(out *output, path string) error {
	h, err := m.load(path)
	if err != nil {
		return err
	}
	result := checker.Check(h, checker.Options{})
	if out.dir == "" {
		rep := reports.New(h, result)
		rep.Files = nil // none are written
		out.reports = append(out.reports, rep)
		return nil
	}
	_, err = out.add(fmt.Sprintf("%d-%s", len(out.reports)+1, strings.ReplaceAll(h.Header.Scenario, string(filepath.Separator), "_")), h, result)
	return err
}

// load reads a history from a file, or from standard input.
func (m Main) load(path string) (*history.History, error) {
	var r io.Reader = m.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usage.Of(fmt.Errorf("no history can be read: %w", err))
		}
		defer func() { _ = file.Close() }() // it was only read
		r = file
	}
	h, err := history.Load(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

func (m Main) concludeChecks(out *output, asJSON bool) error {
	if out.dir != "" {
		if err := out.finish(); err != nil {
			return err
		}
	}
	s := newScreen(m, asJSON)
	if asJSON {
		if err := printRuns(s.out, out.reports); err != nil {
			return err
		}
	} else if err := summarise(s.out, out, "", s.width, s.color); err != nil {
		return err
	}
	return judged(reports.Overall(out.reports))
}
