package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/scenarios/league/source"
)

// planted shows what the shards of hunts for bugs in the source came to.
func (r *mergeRun) planted() error {
	var all []source.Result
	verdict := checker.Pass
	for i := range r.file.Shards {
		var found []source.Kept
		if err := r.read(r.file.Shards[i].Result, &found); err != nil {
			return err
		}
		var measured map[string]source.Measured
		if err := r.read(r.file.Shards[i].Measured, &measured); err != nil {
			return err
		}
		for _, k := range found {
			result, ok := k.Result(measured[k.Name])
			if !ok {
				return r.wrong(fmt.Errorf("there is no bug %q", k.Name))
			}
			if k.Found == (result.Unseen != "") {
				verdict = checker.Fail
			}
			if r.file.First(i) {
				all = append(all, result)
			}
		}
	}
	err := updatable(r.flags.update, func(text []byte) error {
		_, err := source.Rewrite(string(text), nil)
		return err
	})
	if err != nil {
		return misuse.Of(err)
	}
	for _, path := range r.flags.update {
		if err := rewritePlanted(path, all); err != nil {
			return err
		}
	}
	verdict = r.undecided(verdict, checker.Unknown)
	if r.flags.asJSON {
		err := json.NewEncoder(r.screen.out).Encode(struct {
			mergeObject
			Verdict string `json:"verdict"`
			Bugs    int    `json:"bugs"`
		}{r.object(), verdict.String(), len(all)})
		if err != nil {
			return err
		}
		return judged(verdict)
	}
	for i := range all {
		r.screen.say("%s", all[i].Line())
	}
	r.screen.say("%s", strings.TrimSpace(r.sentences()))
	return judged(verdict)
}

// rewritePlanted writes the table of a document anew.
func rewritePlanted(path string, all []source.Result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the table cannot be written: %w", err)
	}
	document, err := source.Rewrite(string(text), all)
	if err != nil {
		return misuse.Of(fmt.Errorf("%s: %w", path, err))
	}
	if err := os.WriteFile(path, []byte(document), 0o644); err != nil {
		return fmt.Errorf("the table cannot be written: %w", err)
	}
	return nil
}
