package faults

import (
	"fmt"
	"slices"
	"strings"
)

// parametric is a fault that has parameters, or whose name implies some. with
// returns it with those of p, and must undo Params exactly.
type parametric interface {
	Fault
	with(p *params) Fault
}

// Parse returns the fault of the Catalogue that has the given name, with the
// given parameters: it undoes Name and Params. The parameters may also come
// from a decoder of JSON, which knows but one kind of number. One that the name
// implies may be left out (cut, keep_data); every other one must be there.
//
// An error says in one line what is wrong, and what to give instead.
func Parse(name string, parameters map[string]any) (Fault, error) {
	catalogue := Catalogue()
	i := slices.IndexFunc(catalogue, func(f Fault) bool { return f.Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("faults: no fault is called %q: %s", name, suggest(name, catalogue))
	}
	f, p := catalogue[i], &params{values: parameters}
	if has, ok := f.(parametric); ok {
		f = has.with(p)
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("faults: %s: %w", name, err)
	}
	return f, nil
}

// suggest names the faults whose names are close to one that does not exist, or
// all of them.
func suggest(name string, catalogue []Fault) string {
	var all, near []string
	for _, f := range catalogue {
		all = append(all, f.Name())
		if resembles(strings.ToLower(name), f.Name()) {
			near = append(near, f.Name())
		}
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "give one of " + strings.Join(all, ", ")
}

// resembles tells whether one name may have been meant by the other: a slip of
// some letters, or a part of it.
func resembles(given, name string) bool {
	const slips, part = 2, 4
	if len(given) > 2*len(name) {
		return false
	}
	return len(given) >= part && (strings.Contains(name, given) || strings.Contains(given, name)) || distance(given, name) <= slips
}

// distance is how many letters must be put in, taken out or replaced to make
// one word the other (Levenshtein 1965).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
