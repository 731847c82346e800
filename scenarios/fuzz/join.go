package fuzz

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Kept is what came of a run as it stands in a file of a campaign.
type Kept struct {
	Schedules int `json:"schedules"`
	Faults    int `json:"faults"`
	Missed    int `json:"without_effect"` // of the faults

	// Coverage is how often each cell of the map was met, by fault; of each the
	// cells are in the order of Coverage.Each. Faults that met nothing are left out.
	Coverage map[string][]int `json:"coverage"`
	Failures []KeptFailure    `json:"failures"`
}

// KeptFailure is a failure in a file. Its cases are what Case.Marshal writes.
type KeptFailure struct {
	Schedule int             `json:"schedule"` // its place in the campaign, counted from 1
	Seed     uint64          `json:"seed"`     // which alone draws it again
	Case     json.RawMessage `json:"case"`
	Drawn    json.RawMessage `json:"drawn"`
}

// Keep is the result as it can be kept. What depends on the machine is left out.
func (r *Result) Keep() (Kept, error) {
	k := Kept{Schedules: r.Schedules, Faults: r.Injected, Missed: r.Missed, Coverage: map[string][]int{}, Failures: []KeptFailure{}}
	for i, name := range faultNames {
		row := r.Coverage.row(i)
		if slices.Max(row) > 0 {
			k.Coverage[name] = row
		}
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		kept := KeptFailure{Schedule: f.Schedules, Seed: f.Seed}
		var err error
		if kept.Case, err = f.Case.Marshal(); err != nil {
			return k, err
		}
		if kept.Drawn, err = f.Drawn.Marshal(); err != nil {
			return k, err
		}
		k.Failures = append(k.Failures, kept)
	}
	return k, nil
}

// row are the cells of a fault.
func (c *Coverage) row(fault int) []int {
	size := len(c.counts) / len(faultNames)
	return c.counts[fault*size : (fault+1)*size]
}

// Empty is the result of no run at all, of cases with the given pins.
func Empty(p Pins) Result { return Result{Coverage: newCoverage(p)} }

// Join takes in what one more shard of the same campaign came to. counted says
// that its schedules count, and not only what it found: those of a shard that has
// come back twice, and not alike, count once.
func (r *Result) Join(k *Kept, counted bool) error {
	if counted {
		for name, row := range k.Coverage {
			i := slices.Index(faultNames, name)
			if i < 0 || len(row) != len(r.Coverage.row(i)) {
				return fmt.Errorf("its map has a row for %q with %d cells: this program does not know it, use the one that wrote the file", name, len(row))
			}
			for at, n := range row {
				r.Coverage.row(i)[at] += n
			}
		}
		r.Schedules += k.Schedules
		r.Injected += k.Faults
		r.Missed += k.Missed
		r.Shards++
	}
	for _, kept := range k.Failures {
		f := Failure{Schedules: kept.Schedule, Seed: kept.Seed}
		var err error
		if f.Case, err = Parse(kept.Case); err != nil {
			return err
		}
		if f.Drawn, err = Parse(kept.Drawn); err != nil {
			return err
		}
		r.Failures = append(r.Failures, f)
	}
	r.Failures = distinct(r.Failures)
	return nil
}

// distinct are the failures in the order of their cases, without those that were
// shrunk to the same case as an earlier one. The list is changed.
func distinct(all []Failure) []Failure {
	slices.SortStableFunc(all, func(a, b Failure) int { return cmp.Compare(a.Schedules, b.Schedules) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(f Failure) bool {
		text, err := f.Case.Marshal() // the promise and how it breaks are in it
		known := err == nil && seen[string(text)]
		seen[string(text)] = true
		return known
	})
}
