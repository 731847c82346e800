package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recount-io/recount/sim/candidate"
)

// subject is an elector that this program contains.
type subject struct {
	name    string
	summary string
	run     candidate.Subject
}

func subjects() []subject {
	return []subject{
		{"recount", "the production elector of this project, on Redis", candidate.Recount},
		{"recount-unprotected", "the same without its protection against lost data, which shows what that is for", candidate.Unprotected},
	}
}

func implementations() map[string]candidate.Subject {
	all := map[string]candidate.Subject{}
	for _, s := range subjects() {
		all[s.name] = s.run
	}
	return all
}

// checkSubject refuses the name of an elector that is not here.
func checkSubject(name string) error {
	all := implementations()
	if all[name] != nil {
		return nil
	}
	return usage(fmt.Errorf("no subject is called %q: give one of %s, or any command with --exec",
		name, strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
}
