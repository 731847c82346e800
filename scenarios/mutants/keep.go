package mutants

import (
	"fmt"
	"time"
)

// Kept is what the hunt for a mutant came to, as it stands in a file of a campaign.
type Kept struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`
	Unseen string `json:"unseen,omitempty"` // why it is not to be found
	Found  bool   `json:"found"`
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
	return Kept{r.Name, r.Kind, r.What, r.Unseen, found}, m
}

// Result is what was kept.
func (k Kept) Result(m Measured) Result {
	busy := time.Duration(m.Seconds * float64(time.Second))
	s := Sighting{World: m.World, Found: k.Found, Promise: m.Promise, Words: m.Words, Cases: m.Cases, Busy: busy}
	return Result{Mutant: Mutant{Name: k.Name, Kind: k.Kind, What: k.What, Unseen: k.Unseen}, Sightings: []Sighting{s}, Units: m.Units}
}

// Expected reports whether the mutant was found, or was not and it is said why.
func (r *Result) Expected() bool {
	_, found := r.Found()
	return found == (r.Unseen == "")
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
