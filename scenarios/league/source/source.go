// Package source plants bugs in the text of the source that ships: in the scripts,
// the shell of the elector, the Redis client and its listener, the stores and the
// fence, where the league's variants do not reach. A bug is a few words of one file
// and others in their place. Nothing of it is ever in the product: the go command
// compiles the changed file in place of the real one (go build -overlay), and the
// binaries so made are hunted through every world.
//
// docs/planted.md has the table of what was found.
package source

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bug is a change of the shipped source that makes it wrong.
type Bug struct {
	Name string
	Kind Kind
	What string // in one sentence: what the source does then
	File string // from the root of the module
	Old  string // a text that is in the file exactly once
	New  string // what stands in its place

	// Breaks is what the bug is about: a promise of the checkers, or an obligation
	// that a world has of its own. Whatever the sound source does not break counts
	// as a find, too.
	Breaks []string

	// Unseen says why nothing that is checked shows it yet; "": it is found.
	Unseen string
}

// Kind says what a bug is in.
type Kind string

// The kinds.
const (
	Script   Kind = "script"   // the Lua text of the shipped scripts
	Shell    Kind = "shell"    // package elector: what stands around the state machine
	Client   Kind = "client"   // the Redis client's settings
	Listener Kind = "listener" // the announcements: who hears them, and what is made of them
	Replicas Kind = "replicas" // the waiting for confirmations (WAIT)
	Quorum   Kind = "quorum"   // the majority of several stores
	Postgres Kind = "postgres" // the store on PostgreSQL
	Fence    Kind = "fence"    // the guards of the protected resource
	Durable  Kind = "durable"  // those of them that outlive their process: files and databases
	Jobs     Kind = "jobs"     // the lock for jobs
)

// What a bug may break beside the promises of the checkers.
const (
	handOver = "hand-over" // whoever is handed over to leads next, within some round trips
	calls    = "calls"     // the calls and callbacks of the elector do what they say
	promoted = "promoted"  // a server that may have forgotten a lease grants none before it is over
	words    = "words"     // the ports to Go in virtual time do what the scripts' text does
)

// Bugs are all of them, in the order of the table.
func Bugs() []Bug {
	return slices.Concat(scriptBugs(), bidBugs(), witnessBugs(), shellBugs(), answerBugs(), hearsayBugs(), turnBugs(), valueBugs(), clientBugs(), listenerBugs(), replicaBugs(), quorumBugs(), postgresBugs(), fenceBugs(), durableBugs(), jobBugs())
}

// Apply is the content of the bug's file with the bug in it. The root is the
// module's folder.
func (b *Bug) Apply(root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.File)))
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", b.Name, err)
	}
	if n := strings.Count(string(content), b.Old); n != 1 {
		return nil, fmt.Errorf("source: %s: %q is %d times in %s, and must be there once", b.Name, b.Old, n, b.File)
	}
	return []byte(strings.Replace(string(content), b.Old, b.New, 1)), nil
}

// Overlay writes what the go command's flag -overlay wants into a folder, and
// returns its path.
func (b *Bug) Overlay(root, folder string) (string, error) {
	content, err := b.Apply(root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, filepath.Base(b.File))
	if err := os.WriteFile(changed, content, 0o600); err != nil {
		return "", fmt.Errorf("source: %s: %w", b.Name, err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, filepath.FromSlash(b.File)): changed}})
	if err != nil {
		panic("source: an overlay does not marshal: " + err.Error())
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", fmt.Errorf("source: %s: %w", b.Name, err)
	}
	return overlay, nil
}

// folder is the package that the bug is in.
func (b *Bug) folder() string {
	folder := path.Dir(b.File)
	if base := path.Base(folder); base == "scripts" || base == "sql" { // these have no tests of their own
		return path.Dir(folder)
	}
	return folder
}
