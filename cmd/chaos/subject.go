package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/documented"
	"github.com/recount-io/recount/sim/virtual"
)

// subject is an elector that this program contains.
type subject struct {
	name    string
	summary string
	run     candidate.Subject
	virtual *virtual.Subject // nil: every virtual world has it
}

func subjects() []subject {
	all := []subject{
		{name: "recount", summary: "the production elector of this project, on Redis", run: candidate.Recount},
		{name: "recount-unprotected", summary: "the same without its protection against lost data, which shows what that is for", run: candidate.Unprotected},
	}
	for _, e := range documented.Electors() {
		all = append(all, subject{
			name: e.Name, summary: e.Summary, run: candidate.Blocking(e.Run), virtual: &virtual.Subject{Blocking: e.Run, Tapped: true},
		})
	}
	return all
}

// virtualSubjects are the electors of the virtual world, beside its own.
func (m Main) virtualSubjects() map[string]virtual.Subject {
	all := maps.Clone(m.Subjects)
	if all == nil {
		all = map[string]virtual.Subject{}
	}
	for _, s := range subjects() {
		if s.virtual != nil {
			all[s.name] = *s.virtual
		}
	}
	return all
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
