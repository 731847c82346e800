package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/trial"
	"github.com/recount-io/recount/sim"
)

// subjects are those that the trial is about: the named ones, or all that this
// program has and all of --exec-dir.
func (f *trialFlags) subjects(m Main, names []string) ([]trial.Subject, error) {
	commands, err := f.commands()
	if err != nil {
		return nil, err
	}
	all := m.trialSubjects(f.redis)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if slices.ContainsFunc(all, func(s trial.Subject) bool { return s.Name == name }) {
			return nil, fmt.Errorf("--exec-dir: there is a subject called %q already: give the file another name", name)
		}
		all = append(all, trial.Subject{
			Name: name, Summary: "the command " + filepath.Base(commands[name]) + " of " + f.execDir, Applies: command, Foreign: true, FixedClocks: true,
			Absent: map[string]string{virtualWorld: "a command cannot run in virtual time"},
		})
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []trial.Subject
	for _, name := range names {
		i := slices.IndexFunc(all, func(s trial.Subject) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("no subject is called %q%s: give some of %s, or a folder of commands with --exec-dir", name, spelling.Hint(name, known), strings.Join(known, ", "))
		}
		if !slices.ContainsFunc(chosen, func(s trial.Subject) bool { return s.Name == name }) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}

// command leaves out the scenarios whose store is several servers, for electors
// that know the address of one, and those that set the clocks of candidates, which
// nobody says that the command can be told.
func command(s scenarios.Scenario) (applies bool, why string) {
	switch {
	case s.Topology != sim.OneServer:
		return false, "the subject knows one Redis, and the scenario's store is several"
	case s.NeedsClocks():
		return false, "the scenario sets candidates' clocks, which the subject is not told"
	case s.NeedsPasswordFile():
		return false, "the scenario changes the store's password, which the subject is not known to read from a file"
	case transfers(s):
		return false, "the scenario has a leader hand its lease over, which the subject is not told to"
	default:
		return true, ""
	}
}

// trialSubjects are all electors that this program has, with what is known of
// them.
func (m Main) trialSubjects(redis string) []trial.Subject {
	var all []trial.Subject
	known := documentation()
	for _, s := range subjects() {
		all = append(all, s.onTrial(known[s.name], redis))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Subjects)) {
		all = append(all, trial.Subject{Name: name, Summary: "an elector of the virtual world", Absent: map[string]string{liveWorld: "the elector exists in the virtual world only"}})
	}
	return all
}

// commandOf is the command of a subject of --exec-dir.
func (f *trialFlags) commandOf(name string) (command string, other bool) {
	commands, err := f.commands()
	if err != nil {
		return "", false // it was read without an error before
	}
	path, other := commands[name]
	if !other {
		return "", false
	}
	return quoted(path), true
}

// candidateFile is the executable in a folder that is a subject.
const candidateFile = "candidate"

// commands are the executables of --exec-dir, by the names of their subjects: a
// file's own without its extension, or that of the folder that a file
// "candidate" lies in.
func (f *trialFlags) commands() (map[string]string, error) {
	if f.execDir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(f.execDir)
	if err != nil {
		return nil, fmt.Errorf("--exec-dir: %w", err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(f.execDir, entry.Name())
		if inside := filepath.Join(path, candidateFile); executable(inside) {
			path = inside
		} else if !executable(path) {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("--exec-dir: %w", err)
		}
		name := strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name()))
		if other, taken := found[name]; taken {
			return nil, fmt.Errorf("--exec-dir: %s and %s would both be called %q: rename one", other, path, name)
		}
		found[name] = path
	}
	if len(found) == 0 {
		return nil, errors.New("--exec-dir: " + f.execDir + " holds no executable file, nor a folder with an executable \"candidate\"")
	}
	return found, nil
}

// executable reports whether path is a file that somebody may run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&fs.FileMode(0o111) != 0
}

// quoted is a word of a shell's command.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
