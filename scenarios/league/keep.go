package league

import (
	"cmp"
	"slices"
)

// Kept is what part of a league came to, as it stands in a file of a campaign.
type Kept struct {
	Bugs  []KeptBug `json:"bugs"`
	Clean Clean     `json:"clean"`
}

// KeptBug is what the hunts for one bug came to.
type KeptBug struct {
	Name      string     `json:"name"`
	Sightings []Sighting `json:"sightings"`
}

// Seconds are what depends on the machine: of each hunt for each bug, and of the
// schedules without a bug.
type Seconds struct {
	Bugs  map[string][]float64 `json:"bugs"`
	Clean float64              `json:"clean"`
}

// Keep is the table as it can be kept, and its times apart from it.
func (t *Table) Keep() (Kept, Seconds) {
	k, s := Kept{Bugs: []KeptBug{}, Clean: t.Clean}, Seconds{Bugs: map[string][]float64{}, Clean: t.Clean.Seconds}
	k.Clean.Seconds = 0
	for i := range t.Entries {
		e := &t.Entries[i]
		bug := KeptBug{Name: e.Name, Sightings: slices.Clone(e.Sightings)}
		for j := range bug.Sightings {
			s.Bugs[e.Name] = append(s.Bugs[e.Name], bug.Sightings[j].Seconds)
			bug.Sightings[j].Seconds = 0
		}
		k.Bugs = append(k.Bugs, bug)
	}
	return k, s
}

// Join takes in one more part of the same league. Bugs that this program does not
// plant are left out.
func (t *Table) Join(k *Kept, s *Seconds) {
	all := Mutants()
	place := map[string]int{}
	for i := range all {
		place[all[i].Name] = i + 1
	}
	for _, bug := range k.Bugs {
		at := place[bug.Name]
		if at == 0 {
			continue
		}
		for i, seconds := range s.Bugs[bug.Name] {
			if i < len(bug.Sightings) {
				bug.Sightings[i].Seconds = seconds
			}
		}
		t.Entries = append(t.Entries, Entry{Mutant: all[at-1], Sightings: bug.Sightings})
	}
	slices.SortStableFunc(t.Entries, func(a, b Entry) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	c := &t.Clean
	c.Schedules += k.Clean.Schedules
	c.Faults += k.Clean.Faults
	c.Runs += k.Clean.Runs
	c.Seconds += s.Clean
	c.Alarms = append(c.Alarms, k.Clean.Alarms...)
}
