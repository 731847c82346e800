package search

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Kept is what a shard of a search came to, as it stands in a file of a campaign.
type Kept struct {
	Cases int `json:"cases"`

	// Features are those that were drawn. Drawn and Effective have a number for each
	// feature with itself and with each later one, in this order.
	Features  []string      `json:"features"`
	Drawn     []int         `json:"drawn"`
	Effective []int         `json:"effective"`
	Failures  []KeptFailure `json:"failures"`
}

// KeptFailure is a failure in a file of a campaign.
type KeptFailure struct {
	Cases int             `json:"cases"` // of the shard, that it took to find it
	Again int             `json:"again"`
	Case  json.RawMessage `json:"case"` // what Failure.Marshal writes
}

// Keep is the result as it can be kept. Histories and logs are left out: a replay of the
// case records new ones.
func (r *Result) Keep() (Kept, error) {
	k := Kept{Cases: r.Cases, Features: r.Coverage.names(), Drawn: []int{}, Effective: []int{}, Failures: []KeptFailure{}}
	for _, p := range pairsOf(k.Features) {
		k.Drawn, k.Effective = append(k.Drawn, r.Coverage.drawn[p]), append(k.Effective, r.Coverage.bitten[p])
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		text, err := f.Marshal()
		if err != nil {
			return k, err
		}
		k.Failures = append(k.Failures, KeptFailure{Cases: f.Cases, Again: f.Again, Case: text})
	}
	return k, nil
}

// Join takes in what one more shard of the same campaign came to. Of each obligation the
// first failure is kept. counted says that the shard's cases count, and not only what it
// found.
func (r *Result) Join(k *Kept, counted bool) error {
	all := pairsOf(k.Features)
	if len(k.Drawn) != len(all) || len(k.Effective) != len(all) {
		return fmt.Errorf("its map has %d and %d numbers, and %d features ask for %d", len(k.Drawn), len(k.Effective), len(k.Features), len(all))
	}
	if counted {
		r.Cases += k.Cases
		r.Shards++
		for i, p := range all {
			if k.Drawn[i] > 0 { // what was never drawn is no pair of the map
				r.Coverage.drawn[p] += k.Drawn[i]
				r.Coverage.bitten[p] += k.Effective[i]
			}
		}
	}
	for _, kept := range k.Failures {
		f, err := Parse(kept.Case)
		if err != nil {
			return err
		}
		f.Cases, f.Again = kept.Cases, kept.Again
		if !slices.ContainsFunc(r.Failures, func(known Failure) bool { return known.Finding.Obligation == f.Finding.Obligation }) {
			r.Failures = append(r.Failures, f)
		}
	}
	return nil
}

// names are the features that were drawn, in alphabetical order.
func (v *Coverage) names() []string {
	names := []string{}
	for p := range maps.Keys(v.drawn) {
		if p.one == p.two {
			names = append(names, p.one)
		}
	}
	slices.Sort(names)
	return names
}

// pairsOf are the pairs of some features, each with itself and with each later one.
func pairsOf(features []string) (all []pair) {
	for i, one := range features {
		for _, two := range features[i:] {
			all = append(all, pair{one, two})
		}
	}
	return all
}
