package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/written"
)

// isFile reports whether a scenario is asked for by its file.
func isFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// find returns the scenarios of these names and files, and takes the lease of the files.
func (f *runFlags) find(given func(flag string) bool, names []string) ([]scenarios.Scenario, error) {
	var list []scenarios.Scenario
	from := map[string]string{}
	lease := time.Duration(0)
	for _, name := range names {
		if !isFile(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usage.Of(fmt.Errorf("no scenario can be read: %w: give a file that \"chaos list --yaml crash-leader\" printed", err))
		}
		file, err := written.Parse(name, text)
		if err != nil {
			return nil, usage.Of(err)
		}
		if lease != 0 && lease != file.Lease || given("lease") && f.settings.Lease != file.Lease {
			return nil, usage.Of(fmt.Errorf("%s is for a lease of %v, and others or --lease ask for another: change lease and times in the file, or run it alone", name, file.Lease))
		}
		lease = file.Lease
		file.Scenario.File = quoted(name)
		list = append(list, file.Scenario)
		from[file.Scenario.Name] = name
	}
	if len(list) == 0 {
		list, err := scenarios.Find(names...)
		return list, usage.Of(err)
	}
	if len(list) != len(names) || len(from) != len(names) {
		return nil, usage.Of(errors.New("files and names of scenarios, or two files of one name, cannot run together: run them one after the other"))
	}
	f.settings.Lease = lease
	return list, nil
}

// printYAML prints a scenario as a file.
func printYAML(w io.Writer, name string) error {
	found, err := scenarios.Find(name)
	if err != nil {
		return usage.Of(err)
	}
	if len(found) != 1 {
		return usage.Of(fmt.Errorf("--yaml %s: give the name of one scenario", name))
	}
	text, err := written.Marshal(found[0])
	if err != nil {
		return usage.Of(err)
	}
	_, err = w.Write(text)
	return err
}
