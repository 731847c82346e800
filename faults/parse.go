package faults

import (
	"fmt"
	"slices"

	"github.com/recount-io/recount/internal/spelling"
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
		var names []string
		for _, f := range catalogue {
			names = append(names, f.Name())
		}
		return nil, fmt.Errorf("faults: no fault is called %q: %s", name, spelling.Suggest(name, names))
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
