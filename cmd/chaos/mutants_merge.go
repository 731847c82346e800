package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/mutants"
)

// mutants shows what the shards of a hunt for mutants came to.
func (r *mergeRun) mutants() error {
	var all []mutants.Result
	for i := range r.file.Shards {
		var found []mutants.Kept
		if err := r.read(r.file.Shards[i].Result, &found); err != nil {
			return err
		}
		var measured map[string]mutants.Measured
		if err := r.read(r.file.Shards[i].Measured, &measured); err != nil {
			return err
		}
		if !r.file.First(i) {
			continue
		}
		for _, k := range found {
			m := measured[k.Name]
			m.Promise = string(checker.Named(m.Promise))
			all = append(all, k.Result(m))
		}
	}
	rewrite := func(page string) (string, error) { return mutants.Rewrite(page, nil, all) }
	if err := rewritePages(r.flags.update, rewrite); err != nil {
		return usage.Of(err)
	}
	for i := range all {
		r.screen.say("%s", all[i].Line())
	}
	err := reportMutants(r.screen, r.flags.asJSON, all)
	r.screen.say("%s", strings.TrimSpace(r.sentences()))
	if verdict := r.undecided(checker.Pass, checker.Unknown); err == nil && verdict != checker.Pass {
		return judged(verdict)
	}
	return err
}

// rewritePages changes pages, each with the same function.
func rewritePages(paths []string, with func(page string) (string, error)) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("the table cannot be written: %w", err)
		}
		page, err := with(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			return fmt.Errorf("the table cannot be written: %w", err)
		}
	}
	return nil
}
