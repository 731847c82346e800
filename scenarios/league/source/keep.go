package source

import (
	"fmt"
	"slices"
	"time"
)

// Kept is what the hunt for a bug came to, as it stands in a file of a campaign.
type Kept struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
}

// Measured is what depends on the machine about it: hunts end with a time.
type Measured struct {
	World   string   `json:"world,omitempty"` // that found it
	Promise string   `json:"promise,omitempty"`
	Words   string   `json:"words,omitempty"`
	Cases   int      `json:"cases"`
	Seconds float64  `json:"seconds"` // of a processor
	Units   []string `json:"units,omitempty"`
}

// Keep is the result as it can be kept.
func (r *Result) Keep() (Kept, Measured) {
	s, found := r.Found()
	m := Measured{World: s.World, Promise: s.Promise, Words: s.Words, Cases: s.Cases, Units: r.Units}
	for _, one := range r.Sightings {
		if !found || one.Found {
			m.Seconds += one.Busy.Seconds()
		}
	}
	return Kept{r.Name, found}, m
}

// Result is what was kept; ok is false if there is no such bug.
func (k Kept) Result(m Measured) (r Result, ok bool) {
	all := Bugs()
	i := slices.IndexFunc(all, func(b Bug) bool { return b.Name == k.Name })
	if i < 0 {
		return Result{}, false
	}
	busy := time.Duration(m.Seconds * float64(time.Second))
	s := Sighting{World: m.World, Found: k.Found, Promise: m.Promise, Words: m.Words, Cases: m.Cases, Busy: busy}
	return Result{Bug: all[i], Sightings: []Sighting{s}, Units: m.Units}, true
}

// Line is the result in a line for a terminal.
func (r *Result) Line() string {
	s, found := r.Found()
	switch {
	case found:
		return fmt.Sprintf("%-26s found by %s, %s", r.Name, s.World, s.text())
	case r.Unseen != "":
		return fmt.Sprintf("%-26s not found: %s", r.Name, r.Unseen)
	default:
		return fmt.Sprintf("%-26s NOT FOUND", r.Name)
	}
}
