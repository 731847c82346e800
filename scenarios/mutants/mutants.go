package mutants

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is a change of the shipped source that makes it wrong.
type Mutant struct {
	Name string
	Kind Kind
	What string // in one sentence: what the source does then

	// Breaks is what the mutant is about: promises of the checkers, or obligations
	// that a world has of its own. Whatever the sound source does not break counts
	// as a find, too.
	Breaks []string

	// First are the arguments of chaos that are tried before the worlds of the
	// mutant's kind, where one scenario is known to show it; "": none.
	First string

	// Unseen says why nothing that is checked shows it yet; "": it is found.
	Unseen string

	Edits []Edit
}

// Edit is a text that a file of the source has exactly once, and what stands in its
// place.
type Edit struct {
	File     string // from the root of the module
	Old, New string
}

// Kind says what a mutant is in: the folder of its file.
type Kind string

// The kinds.
const (
	Machine  Kind = "machine"  // the elector's decisions: its state machine
	Shell    Kind = "shell"    // package elector: what stands around the state machine
	Script   Kind = "script"   // the Lua text of the shipped scripts
	Client   Kind = "client"   // the Redis client's settings, and what is made of its answers
	Listener Kind = "listener" // the announcements: who hears them, and what is made of them
	Replicas Kind = "replicas" // the waiting for confirmations (WAIT)
	Quorum   Kind = "quorum"   // the majority of several stores
	Postgres Kind = "postgres" // the store on PostgreSQL
	Fence    Kind = "fence"    // the guards of the protected resource
	Durable  Kind = "durable"  // those of them that outlive their process: files and databases
	Jobs     Kind = "jobs"     // the lock for jobs
)

// Kinds are all of them, in the order of the table.
func Kinds() []Kind {
	return []Kind{Machine, Shell, Script, Client, Listener, Replicas, Quorum, Postgres, Fence, Durable, Jobs}
}

// What a mutant may break beside the promises of the checkers.
const (
	calls = "calls" // the calls and callbacks of the elector do what they say
	words = "words" // the ports to Go in virtual time do what the scripts' text does
)

const (
	catalogue = "scenarios/mutants/catalogue" // from the root of the module
	becomes   = "becomes"                     // the name of the section with the new text
)

// ErrNoSource is returned where there is no source of this project.
var ErrNoSource = errors.New("no clone of Recount is here, and mutants change its source")

// Root is the module's folder that the folder is in. It returns ErrNoSource if there
// is none.
func Root(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("mutants: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(catalogue))); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", fmt.Errorf("mutants: %w", ErrNoSource)
		}
		folder = parent
	}
}

// Catalogue reads all mutants, by kind and name. The root is the module's folder.
func Catalogue(root string) ([]Mutant, error) {
	var all []Mutant
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(catalogue), "*", "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("mutants: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("mutants: %w", err)
		}
		m, err := parse(string(text))
		m.Name, m.Kind = strings.TrimSuffix(filepath.Base(file), ".txt"), Kind(filepath.Base(filepath.Dir(file)))
		if err == nil && !slices.Contains(Kinds(), m.Kind) {
			err = fmt.Errorf("no kind of mutants is called %q", m.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("mutants: %s: %w", file, err)
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b Mutant) int {
		return cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind))
	})
	return all, nil
}

// parse reads what a mutant's file says, but for its name and kind.
func parse(text string) (m Mutant, err error) {
	head, sections := cutSections(text)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "What":
			m.What = value
		case "Breaks":
			m.Breaks = strings.Split(value, ", ")
		case "First":
			m.First = value
		case "Unseen":
			m.Unseen = value
		case "":
		default:
			return m, fmt.Errorf("no header is called %q", key)
		}
	}
	if m.What == "" || len(m.Breaks) == 0 || len(sections) == 0 {
		return m, errors.New("it has to say What it is, what it Breaks, and what is changed")
	}
	for pair := range slices.Chunk(sections, 2) {
		if len(pair) < 2 || pair[1].name != becomes {
			return m, fmt.Errorf("after the text of %s there is no section %q", pair[0].name, becomes)
		}
		m.Edits = append(m.Edits, Edit{pair[0].name, pair[0].text, pair[1].text})
	}
	return m, nil
}

// section is a part of a mutant's file under a line "-- NAME --". Its text is without
// the end of its last line.
type section struct{ name, text string }

// cutSections cuts a mutant's file into its headers and its sections.
func cutSections(text string) (head string, sections []section) {
	var of []string // the text of what was begun
	end := func() string { return strings.TrimSuffix(strings.Join(of, ""), "\n") }
	conclude := func() {
		if len(sections) == 0 {
			head = end()
		} else {
			sections[len(sections)-1].text = end()
		}
		of = nil
	}
	for line := range strings.Lines(text) {
		name, begins := strings.CutPrefix(line, "-- ")
		if name, ends := strings.CutSuffix(name, " --\n"); begins && ends {
			conclude()
			sections = append(sections, section{name: name})
			continue
		}
		of = append(of, line)
	}
	conclude()
	return head, sections
}

// Apply is the content of the mutant's files with the changes in them, by their paths
// from the root, which is the module's folder.
func (m *Mutant) Apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits {
		if _, read := changed[e.File]; !read {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return nil, fmt.Errorf("mutants: %s: %w", m.Name, err)
			}
			changed[e.File] = string(content)
		}
		if n := strings.Count(changed[e.File], e.Old); n != 1 {
			return nil, fmt.Errorf("mutants: %s: %q is %d times in %s, and must be there once", m.Name, e.Old, n, e.File)
		}
		changed[e.File] = strings.Replace(changed[e.File], e.Old, e.New, 1)
	}
	return changed, nil
}

// Overlay writes what the go command's flag -overlay wants into a folder, and
// returns its path.
func (m *Mutant) Overlay(root, folder string) (string, error) {
	changed, err := m.Apply(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, content := range changed {
		in := filepath.Join(folder, strings.ReplaceAll(file, "/", "-"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = in
		if err := os.WriteFile(in, []byte(content), 0o600); err != nil {
			return "", fmt.Errorf("mutants: %s: %w", m.Name, err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		panic("mutants: an overlay does not marshal: " + err.Error())
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", fmt.Errorf("mutants: %s: %w", m.Name, err)
	}
	return overlay, nil
}

// Text shows the mutant's changes, as they would stand in a diff.
func (m *Mutant) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\nbreaks %s\n", m.Name, m.Kind, m.What, strings.Join(m.Breaks, ", "))
	if m.Unseen != "" {
		fmt.Fprintf(&b, "no world sees it: %s\n", m.Unseen)
	}
	for _, e := range m.Edits {
		fmt.Fprintf(&b, "  %s\n", e.File)
		for _, part := range []struct{ sign, text string }{{"-", e.Old}, {"+", e.New}} {
			for line := range strings.Lines(part.text) {
				fmt.Fprintf(&b, "%s %s\n", part.sign, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return b.String()
}

// folder is the package that the mutant is in.
func (m *Mutant) folder() string {
	folder := path.Dir(m.Edits[0].File)
	if base := path.Base(folder); base == "scripts" || base == "sql" { // these have no tests of their own
		return path.Dir(folder)
	}
	return folder
}
